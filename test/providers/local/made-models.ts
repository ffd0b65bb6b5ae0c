import { execFileSync } from 'node:child_process';
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

/** espeak-ng's data, which Kokoro speaks through; null = it is not installed. */
export const ESPEAK_DATA = espeakData();

function espeakData(): string | null {
  try {
    return /Data at: (\S+)/u.exec(execFileSync('espeak-ng', ['--version'], { encoding: 'utf8' }))?.[1] ?? null;
  } catch {
    return null;
  }
}

/** All of them in one folder, which whoever asks removes; Kokoro among them where there is espeak-ng's data. */
export async function allModels(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-families-'));
  for (const from of [MADE_MODELS, MADE_FAMILIES]) await cp(from, folder, { recursive: true });
  if (ESPEAK_DATA === null) await rm(join(folder, 'made-kokoro'), { recursive: true });
  else await symlink(ESPEAK_DATA, join(folder, 'made-kokoro/espeak-ng-data'));
  return folder;
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
