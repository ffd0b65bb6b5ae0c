/** The voice activity detectors by name. */
import { ParleyError } from '../../base/errors.js';
import { GatedVad } from './gated.js';
import { SileroVad } from './silero/silero.js';
import type { VadProvider } from './vad.js';
import { WebRtcVad } from './webrtc/webrtc.js';

/** The one that is used when none is named. */
export const DEFAULT_VAD = 'silero';

const MAKERS: ReadonlyMap<string, () => VadProvider> = new Map<string, () => VadProvider>([
  ['silero', () => new SileroVad()],
  ['silero-gated', () => new GatedVad('silero-gated', vadProvider('silero'))],
  ['webrtc', () => new WebRtcVad()],
]);

const made = new Map<string, VadProvider>();

/**
 * The provider of that name, one for each thread: `silero` (default), `silero-gated` or `webrtc`.
 * @throws ParleyError `PROVIDER_UNKNOWN`
 */
export function vadProvider(name: string = DEFAULT_VAD): VadProvider {
  let provider = made.get(name);
  if (provider !== undefined) return provider;
  const make = MAKERS.get(name);
  if (make === undefined) {
    throw new ParleyError('PROVIDER_UNKNOWN', { kind: 'vad', name, known: [...MAKERS.keys()].join(', ') });
  }
  provider = make();
  made.set(name, provider);
  return provider;
}
