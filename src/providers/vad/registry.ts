import { defineRegistry } from '../registry.js';
import { GatedVad } from './gated.js';
import { SileroVad } from './silero/silero.js';
import type { VadProvider } from './vad.js';
import { WebRtcVad } from './webrtc.js';

/** The default. */
export const DEFAULT_VAD = 'silero';

const REGISTRY = defineRegistry<() => VadProvider>('vad', {
  silero: () => new SileroVad(),
  'silero-gated': () => new GatedVad('silero-gated', vadProvider('silero')),
  webrtc: () => new WebRtcVad(),
});

/** Valid names for `vadProvider`. */
export const VAD_PROVIDERS = REGISTRY.names;

const made = new Map<string, VadProvider>();

/**
 * The provider of that name, one for each thread: `silero` (default), `silero-gated` or `webrtc`.
 * @throws ParleyError `PROVIDER_UNKNOWN`
 */
export function vadProvider(name: string = DEFAULT_VAD): VadProvider {
  const provider = made.get(name) ?? REGISTRY.entry(name)();
  made.set(name, provider);
  return provider;
}
