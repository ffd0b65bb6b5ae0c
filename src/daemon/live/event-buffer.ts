/** One thing that happened, as it goes to those who watch. */
export interface LiveEvent {
  /** Grows by one with each. */
  readonly id: number;
  /** Of whose session it is. */
  readonly sessionId: string;
  readonly name: string;
  /** JSON. */
  readonly data: string;
}

/** The latest events, as many as fit: who has missed some reads them here. */
export class EventBuffer {
  readonly #maxChars: number;
  readonly #events: LiveEvent[] = [];
  #chars = 0;
  #nextId: number;

  /**
   * @param firstId should be beyond the ids of every process before
   * @param maxChars of all their data together
   */
  constructor(firstId: number, maxChars: number) {
    this.#nextId = firstId;
    this.#maxChars = maxChars;
  }

  /** The id of the newest event, or of none before the first. */
  get newestId(): number {
    return this.#nextId - 1;
  }

  /** The id of the oldest event that is still here; of the next one where there is none. */
  get oldestId(): number {
    return this.#events[0]?.id ?? this.#nextId;
  }

  add(sessionId: string, name: string, data: string): LiveEvent {
    const event = { id: this.#nextId++, sessionId, name, data };
    this.#events.push(event);
    this.#chars += data.length;
    while (this.#chars > this.#maxChars && this.#events.length > 1)
      this.#chars -= this.#events.shift()?.data.length ?? 0;
    return event;
  }

  /** The first event after an id, of one session or of any; null where there is none. */
  after(id: number, sessionId: string | null): LiveEvent | null {
    for (let at = Math.max(0, id + 1 - this.oldestId); at < this.#events.length; at++) {
      const event = this.#events[at];
      if (event !== undefined && (sessionId === null || event.sessionId === sessionId)) return event;
    }
    return null;
  }
}
