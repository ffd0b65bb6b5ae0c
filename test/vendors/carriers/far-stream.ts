import type { MediaSocket } from '../../../src/telephony/carriers/media-socket/media-socket.js';
import type { Person } from './people.js';
import { PlayQueue } from './play-queue.js';

/**
 * A carrier's end of a bidirectional media stream: what it is sent is played in its order, 20 ms a tick, and somebody
 * hears it. How messages are worded is each carrier's own.
 */
export abstract class FarStream {
  /** Messages of ours that the carrier would not take. */
  readonly violations: string[] = [];
  clears = 0;
  /** Marks do not come back, as where the carrier is broken. */
  keepsMarks = false;
  protected readonly socket: MediaSocket;
  protected readonly queue = new PlayQueue();
  readonly #person: Person;
  readonly #onClosed: () => void;
  #isOver = false;
  #isMute = false;

  constructor(socket: MediaSocket, person: Person, onClosed: () => void) {
    this.socket = socket;
    this.#person = person;
    this.#onClosed = onClosed;
  }

  /** How much of what was sent has not been played, in milliseconds. */
  get bufferedMs(): number {
    return this.queue.ms;
  }

  tick(): void {
    if (this.#isOver || this.#isMute) return;
    this.speak(this.#person.speak());
    this.#person.hear(this.queue.tick((name) => this.played(name)));
  }

  /** The far end presses keys. */
  abstract digits(keys: string): void;

  /** As a message, whatever it is. */
  raw(text: string): void {
    this.socket.send(text);
  }

  /** The carrier ends the stream. */
  stop(): void {
    if (this.#isOver) return;
    this.tellStop();
    this.#isOver = true;
    this.socket.close();
  }

  /** The carrier says that the stream is over, and leaves the socket open. */
  stopWithoutClosing(): void {
    this.#isMute = true;
    this.tellStop();
  }

  /** Nothing comes or goes any more, and our end does not learn of it. */
  lose(): void {
    this.#isOver = true;
  }

  /** The socket breaks, without a word. */
  break(): void {
    this.#isOver = true;
    this.socket.close();
  }

  /** Takes messages from now on. To be called where all of the stream is made. */
  protected listen(): void {
    this.socket.listen({
      onText: (text) => this.take(parsed(text), text),
      onClosed: () => {
        if (this.#isOver) return;
        this.#isOver = true;
        this.#onClosed();
      },
    });
  }

  /** Nothing waits any more, and marks that did come back at once. */
  protected clear(): void {
    this.clears++;
    for (const mark of this.queue.clear()) this.played(mark);
  }

  /** A message of ours, as JSON (null = it is none) and as it came. */
  protected abstract take(message: unknown, text: string): void;
  /** 20 ms of the far end, mulaw at 8 kHz. */
  protected abstract speak(sound: Uint8Array): void;
  protected abstract tellMark(name: string): void;
  protected abstract tellStop(): void;

  protected played(mark: string): void {
    if (!this.keepsMarks) this.tellMark(mark);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
