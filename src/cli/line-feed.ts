/** Lines that a person types go at once; lines that are piped in wait until the last one was answered. */
export class LineFeed {
  readonly #waiting: string[] = [];
  readonly #patient: boolean;
  readonly #send: (line: string) => void;
  readonly #onDone: () => void;
  #answered = false;
  #ended = false;

  /**
   * @param patient whether lines wait for answers, the first one for the greeting
   * @param onDone all lines were sent and answered
   */
  constructor(patient: boolean, send: (line: string) => void, onDone: () => void) {
    this.#patient = patient;
    this.#send = send;
    this.#onDone = onDone;
  }

  line(text: string): void {
    this.#waiting.push(text);
    this.#next();
  }

  /** The agent has said something and finished. */
  answered(): void {
    this.#answered = true;
    this.#next();
  }

  /** No more lines will come. */
  end(): void {
    this.#ended = true;
    if (this.#patient) this.#next();
    else this.#onDone();
  }

  #next(): void {
    if (this.#patient && !this.#answered) return;
    const line = this.#waiting.shift();
    if (line !== undefined) {
      this.#answered = false;
      this.#send(line);
    } else if (this.#ended) this.#onDone();
  }
}
