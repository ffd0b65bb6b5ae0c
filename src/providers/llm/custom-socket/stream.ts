import { ParleyError } from '../../../base/errors.js';
import type { LlmPiece } from '../llm.js';
import type { TranscriptLine } from './protocol.js';

/** A longer reply is none that anybody would listen to. */
const MAX_CHARS = 1_048_576;

/** One reply of the server's: what has come of it, for whoever reads it. */
export class ReplyStream {
  /** It gets another number where it has to be asked for again. */
  id: number;
  /** Null = the greeting, which `start_call` asks for. */
  readonly transcript: readonly TranscriptLine[] | null;
  /** Something of it has come. */
  begun = false;
  ended = false;
  /** The server knows that it is not wanted any more. */
  interrupted = false;
  /** Utterances made of it that have not been played to their end. */
  readonly playing = new Set<number>();
  /** Some of it was spoken. */
  spoken = false;
  readonly #name: string;
  readonly #pieces: LlmPiece[] = [];
  #error: Error | null = null;
  #chars = 0;
  #wake: () => void = () => undefined;

  constructor(id: number, transcript: readonly TranscriptLine[] | null, name: string) {
    this.id = id;
    this.transcript = transcript;
    this.#name = name;
  }

  push(piece: Extract<LlmPiece, { type: 'text' }>): void {
    this.begun = true;
    this.#chars += piece.text.length;
    if (this.#chars > MAX_CHARS) this.fail('the reply is too long');
    else this.#pieces.push(piece);
    this.#wake();
  }

  end(): void {
    this.ended = true;
    this.#wake();
  }

  fail(reason: string): void {
    if (this.ended) return;
    this.ended = true;
    this.#error = new ParleyError('PROVIDER_FAILED', { provider: this.#name, reason });
    this.#wake();
  }

  /** What comes, to the end. Throws the signal's reason when it is aborted. */
  async *pieces(signal: AbortSignal): AsyncGenerator<LlmPiece, void, undefined> {
    const onAbort = (): void => this.#wake();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      for (;;) {
        signal.throwIfAborted();
        const piece = this.#pieces.shift();
        if (piece !== undefined) yield piece;
        else if (this.ended) break;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
      if (this.#error !== null) throw this.#error;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }
}
