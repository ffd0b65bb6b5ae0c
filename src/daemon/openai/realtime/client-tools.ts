import type { Cancel, Clock } from '../../../base/clock.js';
import type { DefinedTool, FunctionContext } from '../../../tools/define-tool.js';
import type { SessionTool } from './session-config.js';

/** A call of a client's function. */
export interface ClientCall {
  callId: string;
  name: string;
  args: string;
}

interface Waiting {
  resolve: (output: string) => void;
  /** The client's output, until the client asks for an answer to it. */
  output: string | null;
}

/** How long the model waits for a client's output. */
const OUTPUT_MS = 120_000;
/** How long an output waits for the `response.create` that usually follows it. */
const RELEASE_MS = 5_000;

/**
 * The functions of a client, as functions of the session: a call waits for the client's output. The model goes on with
 * the outputs when the client asks for a response.
 */
export class ClientTools {
  readonly #clock: Clock;
  readonly #onCall: (call: ClientCall) => void;
  readonly #waiting = new Map<string, Waiting>();
  #cancelRelease: Cancel = () => undefined;
  #count = 0;

  constructor(clock: Clock, onCall: (call: ClientCall) => void) {
    this.#clock = clock;
    this.#onCall = onCall;
  }

  of(tools: readonly SessionTool[]): DefinedTool[] {
    return tools.map(({ name, description, parameters }) => ({
      name,
      description: description ?? '',
      parameters: Object.assign({ type: 'object', properties: {} }, parameters),
      timeoutMs: OUTPUT_MS,
      execute: (args: Readonly<Record<string, unknown>>, context: FunctionContext) => this.#call(name, args, context),
    }));
  }

  /** The client's output of a call. Returns false if no such call waits for one. */
  answer(callId: string, output: string): boolean {
    const waiting = this.#waiting.get(callId);
    if (waiting === undefined || waiting.output !== null) return false;
    waiting.output = output;
    this.#cancelRelease();
    this.#cancelRelease = this.#clock.schedule(this.#clock.nowMs() + RELEASE_MS, () => void this.release());
    return true;
  }

  /** Gives the model the outputs that have come. Returns false if there are none. */
  release(): boolean {
    this.#cancelRelease();
    const answered = [...this.#waiting].filter(([, { output }]) => output !== null);
    for (const [callId, { resolve, output }] of answered) {
      this.#waiting.delete(callId);
      resolve(output ?? '');
    }
    return answered.length > 0;
  }

  /** May be called twice. */
  close(): void {
    this.#cancelRelease();
    this.#waiting.clear();
  }

  #call(name: string, args: Readonly<Record<string, unknown>>, { callId, signal }: FunctionContext): Promise<string> {
    return new Promise((resolve, reject) => {
      const id = callId === null || this.#waiting.has(callId) ? `call_${String(++this.#count)}` : callId;
      this.#waiting.set(id, { resolve, output: null });
      signal.addEventListener(
        'abort',
        () => {
          this.#waiting.delete(id);
          reject(signal.reason as Error);
        },
        { once: true },
      );
      this.#onCall({ callId: id, name, args: JSON.stringify(args) });
    });
  }
}
