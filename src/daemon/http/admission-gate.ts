import { type Clock, delay } from '../../base/clock.js';
import { ParleyError } from '../../base/errors.js';

export interface AdmissionGateOptions {
  clock: Clock;
  /** Sessions and calls that go on. */
  busy: () => number;
}

/** How often is looked whether everybody has gone. */
const LOOK_MS = 50;

/** Whether new calls are let in. Whatever starts one asks; once they are shut, they stay so. */
export class AdmissionGate {
  readonly #options: AdmissionGateOptions;
  #isOpen = true;

  constructor(options: AdmissionGateOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** @throws ParleyError DAEMON_DRAINING */
  enter(): void {
    if (!this.#isOpen) throw new ParleyError('DAEMON_DRAINING');
  }

  shut(): void {
    this.#isOpen = false;
  }

  /** Shuts, and waits until everybody has gone, for `ms` at most or until `hurry` is aborted. Returns who is left. */
  async empty(ms: number, hurry?: AbortSignal): Promise<number> {
    this.shut();
    const { clock, busy } = this.#options;
    const untilMs = clock.nowMs() + ms;
    const isOver = (): boolean => busy() === 0 || clock.nowMs() >= untilMs || hurry?.aborted === true;
    while (!isOver()) {
      await delay(clock, Math.min(LOOK_MS, untilMs - clock.nowMs()), hurry).catch(() => undefined);
    }
    return busy();
  }
}
