import type { Cancel } from '../../base/clock.js';
import type { DialStore } from '../../store/dials.js';
import type { Changes } from '../../store/sql/changes.js';

export interface KillSwitchOptions {
  dials: Pick<DialStore, 'stopped'>;
  changes: Changes;
  /** Ends the outbound calls of this node. */
  endCalls: () => void;
}

/** Ends the calls of this node when another one is told to end all. No node places new ones: reservations are refused. */
export class KillSwitch {
  readonly #options: KillSwitchOptions;
  readonly #cancel: Cancel;
  /** The request that this node has heeded. */
  #heeded: string | null = null;

  constructor(options: KillSwitchOptions) {
    this.#options = options;
    this.#cancel = options.changes.on('calls_stopped', () => this.#heed());
  }

  /** May be called twice. */
  close(): void {
    this.#cancel();
  }

  async #heed(): Promise<void> {
    const { dials, endCalls } = this.#options;
    const ending = (await dials.stopped())?.ending ?? null;
    if (ending !== null && ending !== this.#heeded) endCalls();
    this.#heeded = ending;
  }
}
