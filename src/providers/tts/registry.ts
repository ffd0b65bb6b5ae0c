import { ParleyError } from '../../errors.js';
import { EspeakTts } from './espeak.js';
import { FliteTts } from './flite.js';
import type { TtsProvider } from './tts.js';

const PROVIDERS: Readonly<Record<string, () => TtsProvider>> = {
  flite: () => new FliteTts(),
  'espeak-ng': () => new EspeakTts(),
};

/** The names that `ttsProvider` takes. */
export const TTS_PROVIDERS: readonly string[] = Object.keys(PROVIDERS);

/**
 * A new provider with its defaults; the caller closes it.
 * @throws ParleyError PROVIDER_UNKNOWN
 */
export function ttsProvider(name: string): TtsProvider {
  const make = Object.hasOwn(PROVIDERS, name) ? PROVIDERS[name] : undefined;
  if (make !== undefined) return make();
  throw new ParleyError('PROVIDER_UNKNOWN', { kind: 'text-to-speech', name, known: TTS_PROVIDERS.join(', ') });
}
