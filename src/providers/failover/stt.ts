import { raceAbort } from '../../base/deadlines.js';
import type { SttAbilities, SttEvents, SttOptions, SttProvider, SttStream } from '../stt/stt.js';
import type { Switch } from './health.js';
import type { SttEntry } from './stt-attempt.js';
import { FailoverStream } from './stt-stream.js';

export interface FailoverSttOptions {
  /** In order of preference. At least one. */
  entries: readonly SttEntry[];
  onSwitch: (what: Switch) => void;
}

/** STT with fallbacks, see FailoverStream. With a single entry it reopens failed streams and replays the turn. */
export class FailoverStt implements SttProvider {
  readonly name: string;
  readonly virtualTime: boolean;
  readonly tellsOutcomes = true;
  readonly abilities: SttAbilities;
  readonly #options: FailoverSttOptions;

  constructor(options: FailoverSttOptions) {
    this.#options = options;
    const [first] = options.entries;
    this.name = first?.provider.name ?? 'none';
    this.abilities = first?.provider.abilities ?? {};
    this.virtualTime = options.entries.every(({ provider }) => provider.virtualTime);
  }

  /** Warms up all entries; one success is enough. */
  async warmUp(): Promise<void> {
    await Promise.any(this.#options.entries.map(({ provider }) => provider.warmUp())).catch((error: unknown) => {
      throw error instanceof AggregateError ? error.errors[0] : error;
    });
  }

  async open(options: SttOptions, events: SttEvents): Promise<SttStream> {
    options.signal.throwIfAborted();
    const stream = new FailoverStream({ ...options, ...this.#options }, events);
    const onAbort = (): void => void stream.close().catch(() => undefined);
    options.signal.addEventListener('abort', onAbort, { once: true });
    await raceAbort(stream.opened, options.signal);
    return stream;
  }

  async close(): Promise<void> {
    await Promise.all(this.#options.entries.map(({ provider }) => provider.close()));
  }
}
