import { ParleyError } from '../../../base/errors.js';
import type { LlmPiece } from '../llm.js';
import type { SocketTranscriptLine } from './protocol.js';

/** Longest reply that is accepted. */
const MAX_CHARS = 1_048_576;

/** One reply of the server, buffered for its reader. */
export class ReplyStream {
  /** Changes when the reply is requested again. */
  id: number;
  /** Null = the greeting, which `start_call` requests. */
  readonly transcript: readonly SocketTranscriptLine[] | null;
  /** Part of it has arrived. */
  begun = false;
  ended = false;
  /** The server knows that the reply was interrupted. */
  interrupted = false;
  /** Its utterances that have not finished playing. */
  readonly playing = new Set<number>();
  /** Part of it has been played. */
  spoken = false;
  readonly #name: string;
  readonly #pieces: LlmPiece[] = [];
  #error: Error | null = null;
  #chars = 0;
  #wake: () => void = () => undefined;

  constructor(id: number, transcript: readonly SocketTranscriptLine[] | null, name: string) {
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

  /** All pieces of the reply. Throws the signal's reason when it is aborted. */
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
