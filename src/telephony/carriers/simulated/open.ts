import type { SimulatedNetwork, SimulatedNetworkOptions } from './network.js';
import type { Engine } from '../../../engine/engine.js';

export interface SimulatedCarrierOptions extends Pick<
  SimulatedNetworkOptions,
  'owned' | 'onError' | 'seed' | 'tap' | 'idPrefix'
> {
  engine: Engine;
  /** Who is on the network, in place of the stock file; see docs/phone-network.md. */
  directory?: URL;
}

/** A sentence of somebody on the network takes no longer to make. */
const SPEECH_MS = 20_000;

/**
 * The simulated network on an engine's clock, its people speaking with flite.
 * @throws ParleyError FILE_NOT_READABLE, InvalidConfigError
 */
export async function simulatedCarrier(options: SimulatedCarrierOptions): Promise<SimulatedNetwork> {
  // Loaded late: whoever imports the library should not wait for what only this network needs.
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
