import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import type { CommandIo } from './command.js';

/** Asks questions on the terminal, or reads the answers from piped lines. */
export class Questions {
  readonly #io: CommandIo;
  readonly #lines: AsyncIterator<string>;
  readonly #reader: Interface;
  #hidden = false;

  constructor(io: CommandIo) {
    this.#io = io;
    const terminal = io.stdin.isTTY === true;
    const echo = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        if (!this.#hidden) io.stderr.write(chunk);
        done();
      },
    });
    this.#reader = createInterface({ input: io.stdin, output: echo, terminal });
    this.#lines = this.#reader[Symbol.asyncIterator]();
    io.signal.addEventListener('abort', this.#onAbort, { once: true });
    // In a terminal's raw mode Ctrl-C is a character.
    this.#reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  }

  /** The answer without spaces around it; '' if there is none. The signal's reason when aborted. */
  async ask(question: string, { hidden = false } = {}): Promise<string> {
    this.#io.stderr.write(question);
    this.#hidden = hidden;
    try {
      return (await this.#line()) ?? '';
    } finally {
      this.#hidden = false;
      if (hidden || this.#io.stdin.isTTY !== true) this.#io.stderr.write('\n');
    }
  }

  /** An empty answer takes the default; the end of the input is a no. */
  async confirm(question: string, byDefault: boolean): Promise<boolean> {
    this.#io.stderr.write(`${question} [${byDefault ? 'Y/n' : 'y/N'}] `);
    const answer = await this.#line();
    if (this.#io.stdin.isTTY !== true) this.#io.stderr.write('\n');
    if (answer === null) return false;
    return answer === '' ? byDefault : /^y(?:es)?$/i.test(answer);
  }

  /** Null at the end of the input. */
  async #line(): Promise<string | null> {
    const next: IteratorResult<string, unknown> = await this.#lines.next();
    this.#io.signal.throwIfAborted();
    return next.done === true ? null : next.value.trim();
  }

  /** May be called twice. */
  close(): void {
    this.#io.signal.removeEventListener('abort', this.#onAbort);
    this.#reader.close();
  }

  readonly #onAbort = (): void => this.#reader.close();
}
