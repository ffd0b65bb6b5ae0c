export interface ServerSentEvent {
  event: string;
  data: string;
  /** Null = the event has none. */
  id: string | null;
}

/**
 * The events of a stream (WHATWG HTML, 9.2.6).
 * @param heard called whenever something arrives, comments included
 */
export async function* eventsOf(
  body: ReadableStream<Uint8Array>,
  heard: () => void = () => undefined,
): AsyncGenerator<ServerSentEvent, void> {
  const reader = body.getReader();
  // It drops a byte order mark by itself.
  const decoder = new TextDecoder();
  const parser = new Parser();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      rest += decoder.decode(value, { stream: true });
      // A line feed behind a carriage return at the end may still come.
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const event = parser.line(line);
        if (event !== null) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

class Parser {
  #event = '';
  #data: string[] = [];
  #id: string | null = null;

  /** Takes a line. An empty one completes the event. */
  line(line: string): ServerSentEvent | null {
    if (line === '') {
      const event = { event: this.#event || 'message', data: this.#data.join('\n'), id: this.#id };
      const isEmpty = this.#data.length === 0;
      this.#event = '';
      this.#data = [];
      this.#id = null;
      return isEmpty ? null : event;
    }
    const [, field = '', value = ''] = /^([^:]*)(?:: ?)?(.*)$/s.exec(line) ?? [];
    if (field === 'data') this.#data.push(value);
    else if (field === 'event') this.#event = value;
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    return null;
  }
}
