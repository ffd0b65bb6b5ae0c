import { SimulatedNetwork, type SimulatedNetworkOptions } from '../carriers/simulated/network.js';
import { STOCK_NUMBERS, readNumbers } from '../carriers/simulated/numbers.js';
import { SoundLibrary } from '../carriers/simulated/sounds.js';
import type { Engine } from '../engine/engine.js';

export interface SimulatedCarrierOptions extends Pick<SimulatedNetworkOptions, 'owned' | 'onError' | 'seed' | 'tap'> {
  engine: Engine;
  /** A file of numbers in place of the stock ones, see docs/phone-network.md. */
  numbers?: URL;
}

/** A sentence of somebody on the network takes no longer to make. */
const SPEECH_MS = 20_000;

/**
 * The simulated network on an engine's clock, its people speaking with flite.
 * @throws ParleyError FILE_NOT_READABLE, InvalidConfigError
 */
export async function simulatedCarrier(options: SimulatedCarrierOptions): Promise<SimulatedNetwork> {
  const { engine, numbers = STOCK_NUMBERS, ...rest } = options;
  const speak = (text: string, voiceId: string) =>
    engine.speech({ text, provider: 'flite', voiceId, signal: AbortSignal.timeout(SPEECH_MS) });
  return new SimulatedNetwork({
    ...rest,
    clock: engine.clock,
    ticker: engine.ticker,
    numbers: await readNumbers(numbers),
    sounds: new SoundLibrary(speak, numbers),
  });
}
