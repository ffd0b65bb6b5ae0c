import type { ClientForm, Screen } from '../../tools/tool.js';
import type { TransportMessage } from '../../transports/transport.js';

interface Pending {
  resolve: (value: unknown) => void;
}

/** Sends requests to the user's client, as actions over the line's side channel, and receives the results. */
export class ClientForms implements Screen {
  readonly #tell: (message: TransportMessage) => void;
  readonly #pending = new Map<string, Pending>();
  #count = 0;

  constructor(tell: (message: TransportMessage) => void) {
    this.#tell = tell;
  }

  ask({ name, data }: ClientForm, signal: AbortSignal): Promise<unknown> {
    const id = `form-${String(++this.#count)}`;
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const onAbort = (): void => {
        this.#pending.delete(id);
        this.#tell({ type: 'action', id, name, data: { type: data['type'], withdrawn: true } });
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#pending.set(id, {
        resolve: (value) => {
          signal.removeEventListener('abort', onAbort);
          resolve(value);
        },
      });
      this.#tell({ type: 'action', id, name, data });
    });
  }

  /** A client's `form_result`. Unexpected and repeated ones are ignored. */
  result(id: string, value: unknown): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    pending?.resolve(value);
  }
}
