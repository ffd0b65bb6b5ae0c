import { fileURLToPath } from 'node:url';
import { LocalModels } from '../../../src/providers/local/local-models.js';
import { packageFile } from '../../../src/package-files.js';

/** The tiny models of `fixtures/models`: words are tones, see fixtures/lib/tone-models.mjs. */
export const MADE_MODELS = fileURLToPath(packageFile('fixtures/models'));

/** Those of further families. */
export const MADE_FAMILIES = fileURLToPath(packageFile('fixtures/model-families'));

export function madeModels(options: { stt?: string; folder?: string } = {}): LocalModels {
  return new LocalModels({ folder: MADE_MODELS, ...options });
}

const TONES_HZ: Readonly<Record<string, number>> = { one: 500, two: 900, three: 1500, four: 2500 };
export const TONE_MS = 200;
export const BETWEEN_MS = 80;

/** The words as those models hear them: 16 kHz, a tone each with silence between. */
export function tones(text: string): Int16Array {
  const words = text.split(' ');
  const [tone, gap] = [16 * TONE_MS, 16 * BETWEEN_MS];
  const out = new Int16Array(words.length * (tone + gap) - gap);
  for (const [index, word] of words.entries()) {
    const hz = TONES_HZ[word];
    if (hz === undefined) throw new Error(`no tone is "${word}"`);
    for (let at = 0; at < tone; at++) {
      out[index * (tone + gap) + at] = 10_000 * Math.sin((2 * Math.PI * hz * at) / 16_000);
    }
  }
  return out;
}
