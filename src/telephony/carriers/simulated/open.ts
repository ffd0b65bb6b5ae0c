import type { SimulatedNetwork, SimulatedNetworkOptions } from './network.js';
import type { Engine } from '../../../engine/engine.js';

export interface SimulatedCarrierOptions extends Pick<
  SimulatedNetworkOptions,
  'owned' | 'onError' | 'seed' | 'tap' | 'idPrefix'
> {
  engine: Engine;
  /** The simulated numbers, in place of the default file; see docs/phone-network.md. */
  directory?: URL;
}

/** Deadline for synthesising a sentence. */
const SPEECH_MS = 20_000;

/**
 * The simulated network on an engine's clock, with flite voices.
 * @throws ParleyError FILE_NOT_READABLE, InvalidConfigError
 */
export async function simulatedCarrier(options: SimulatedCarrierOptions): Promise<SimulatedNetwork> {
  // Loaded late, so that importing the library stays fast.
  const [{ SimulatedNetwork }, { readDirectory, STOCK_DIRECTORY }, { SoundLibrary }] = await Promise.all([
    import('./network.js'),
    import('./directory.js'),
    import('./sounds.js'),
  ]);
  const { engine, directory = STOCK_DIRECTORY, ...rest } = options;
  const speak = (text: string, voiceId: string) =>
    engine.speech({ text, provider: 'flite', voiceId, signal: AbortSignal.timeout(SPEECH_MS) });
  return new SimulatedNetwork({
    ...rest,
    clock: engine.clock,
    ticker: engine.ticker,
    ...(await readDirectory(directory)),
    sounds: new SoundLibrary(speak, directory),
  });
}
