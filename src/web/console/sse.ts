/** A server-sent event. */
export interface ServerEvent {
  event: string;
  id: string;
  data: string;
}

/** Parses a stream of server-sent events (HTML, section 9.2.6, without `retry`); chunks may be cut anywhere. */
export class EventReader {
  #rest = '';
  #event = '';
  #id = '';
  #data: string[] = [];

  /** The last received id, to resume from. */
  get lastId(): string {
    return this.#id;
  }

  /** The events that a chunk completes. */
  push(piece: string): ServerEvent[] {
    const lines = (this.#rest + piece).split(/\r\n|\n|\r(?=.)/);
    this.#rest = lines.pop() ?? '';
    return lines.flatMap((line) => this.#line(line));
  }

  #line(line: string): ServerEvent[] {
    if (line === '') {
      const { length } = this.#data;
      const event = { event: this.#event || 'message', id: this.#id, data: this.#data.join('\n') };
      this.#event = '';
      this.#data = [];
      return length === 0 ? [] : [event];
    }
    const colon = line.indexOf(':');
    if (colon === 0) return [];
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'event') this.#event = value;
    else if (name === 'id') this.#id = value;
    else if (name === 'data') this.#data.push(value);
    return [];
  }
}
