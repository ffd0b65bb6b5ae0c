import { levelOf } from '../../../../src/audio/dsp/level.js';
import {
  SimulatedNetwork,
  type SimulatedNetworkOptions,
} from '../../../../src/telephony/carriers/simulated/network.js';
import type { SimulatedCall } from '../../../../src/telephony/carriers/simulated/call.js';
import { networkSchema, type SimulatedNumber } from '../../../../src/telephony/carriers/simulated/script.js';
import { SoundLibrary } from '../../../../src/telephony/carriers/simulated/sounds.js';
import { Ticker } from '../../../../src/base/ticker.js';
import { VirtualClock } from '../../../../src/base/virtual-clock.js';

/** The parsed form of numbers as a file has them. */
export function numbersOf(...numbers: readonly Record<string, unknown>[]): readonly SimulatedNumber[] {
  return networkSchema.parse({
    numbers: numbers.map((number) => ({ name: 'somebody', does: 'something', ...number })),
  }).numbers;
}

/** A voice without words: 60 ms of a tone for each character. */
export function toneVoice(text: string) {
  const samples = new Int16Array(text.length * 480);
  return Promise.resolve({ samples: samples.map((_, i) => 8000 * Math.sin(i / 4)), sampleRateHz: 8000 });
}

/** A network in virtual time that keeps what both ends heard. */
export class NetworkRig {
  readonly clock = new VirtualClock();
  readonly ticker = new Ticker(this.clock);
  readonly errors: unknown[] = [];
  readonly heard = new Map<SimulatedCall, { agent: Int16Array[]; far: Int16Array[] }>();
  readonly network: SimulatedNetwork;

  constructor(numbers: readonly SimulatedNumber[], options: Partial<SimulatedNetworkOptions> = {}) {
    this.network = new SimulatedNetwork({
      clock: this.clock,
      ticker: this.ticker,
      numbers,
      sounds: new SoundLibrary(toneVoice, new URL('../../../../fixtures/audio/', import.meta.url)),
      owned: ['+12025550199'],
      tap: (call, { agent, far }) => {
        const both = this.heard.get(call) ?? { agent: [], far: [] };
        this.heard.set(call, both);
        both.agent.push(agent ?? SILENT);
        both.far.push(far ?? SILENT);
      },
      onError: (error) => this.errors.push(error),
      ...options,
    });
  }

  async until(condition: () => boolean, withinMs = 120_000): Promise<void> {
    await this.clock.runUntil(condition, withinMs);
    if (!condition()) throw new Error('it never came');
  }

  /** The loudest 20 ms that the far end of a call has heard, as an amplitude. */
  loudnessAt(call: SimulatedCall | undefined): number {
    const frames = (call === undefined ? undefined : this.heard.get(call)?.far) ?? [];
    return Math.max(0, ...frames.map((frame) => 32_767 * 10 ** (levelOf(frame).rmsDbfs / 20)));
  }
}

const SILENT = new Int16Array(160);
