import type { MediaSocket } from '../media-socket/media-socket.js';
import { cutNumber } from '../media-socket/sound-text.js';

/** Sound that came early waits for so many later messages: 60 ms. */
const PATIENCE = 3;
/** A jump of more chunks than this is no disorder: the count has begun anew. */
const FAR = 100;
const CHUNK = '"chunk":';
const SPACED_CHUNK = /"chunk":\s*"?(\d{1,12})\b/;

/**
 * Puts sound into its order by the chunks' numbers: Telnyx does not promise to send it in order. What comes twice or
 * too late is left out; anything but sound passes at once.
 */
export class MediaOrder {
  readonly #held = new Map<number, string>();
  #next: number | null = null;

  /** Takes a message as it came; returns those whose turn it is. */
  push(text: string): readonly string[] {
    const chunk = chunkOf(text);
    if (chunk === null) return [text];
    if (chunk === this.#next && this.#held.size === 0) {
      this.#next++;
      return [text];
    }
    if (this.#next !== null && Math.abs(chunk - this.#next) > FAR) return [...this.flush(), text];
    if (this.#next !== null && chunk < this.#next) return [];
    this.#held.set(chunk, text);
    if (this.#held.size > PATIENCE) this.#next = Math.min(...this.#held.keys());
    return this.#due(this.#next ?? chunk);
  }

  /** What waits, in order; the count begins anew. */
  flush(): readonly string[] {
    const waiting = [...this.#held].sort(([one], [other]) => one - other).map(([, text]) => text);
    this.#held.clear();
    this.#next = null;
    return waiting;
  }

  #due(from: number): string[] {
    const due: string[] = [];
    let next = from;
    for (let text = this.#held.get(next); text !== undefined; text = this.#held.get(next)) {
      due.push(text);
      this.#held.delete(next++);
    }
    this.#next = next;
    return due;
  }
}

/** A media socket whose sound comes in order. */
export function inOrder(socket: MediaSocket): MediaSocket {
  return {
    send: (text) => socket.send(text),
    get bufferedBytes() {
      return socket.bufferedBytes;
    },
    listen: (events) => {
      const order = new MediaOrder();
      socket.listen({
        onText: (text) => {
          for (const one of order.push(text)) events.onText(one);
        },
        onClosed: () => {
          for (const one of order.flush()) events.onText(one);
          events.onClosed();
        },
      });
    },
    close: () => socket.close(),
  };
}

/** The number of a piece of sound; null = it is something else. */
function chunkOf(text: string): number | null {
  if (!text.includes('"media":')) return null;
  const number = cutNumber(text, CHUNK);
  if (number !== null) return number;
  const spaced = SPACED_CHUNK.exec(text)?.[1];
  return spaced === undefined ? null : Number(spaced);
}
