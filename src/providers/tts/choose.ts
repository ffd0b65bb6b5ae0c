import { ParleyError } from '../../base/errors.js';
import { EspeakTts, type EspeakOptions } from './espeak/espeak.js';
import { speaksEnglish } from './flite/voices.js';

/**
 * The embedded provider for a language if the agent names none: flite for English, else espeak-ng if it is installed
 * and has a voice.
 * @returns a name for `ttsProvider`
 * @throws ParleyError TTS_LANGUAGE_UNSUPPORTED with a remedy
 */
export async function chooseTts(language: string, options: EspeakOptions = {}): Promise<'flite' | 'espeak-ng'> {
  if (speaksEnglish(language)) return 'flite';
  const espeak = new EspeakTts(options);
  try {
    if (await espeak.speaks(language)) return 'espeak-ng';
  } finally {
    await espeak.close();
  }
  throw new ParleyError('TTS_LANGUAGE_UNSUPPORTED', {
    language,
    reason: espeak.available
      ? 'flite speaks English only and espeak-ng has no voice for it; name another voice provider'
      : 'flite speaks English only; install espeak-ng (Debian: apt-get install espeak-ng) or name another voice provider',
  });
}
