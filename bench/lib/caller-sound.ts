import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { HEARING_RATE_HZ, msToSamples } from '../../dist/audio/frame.js';
import { decodeWav } from '../../dist/audio/files/wav.js';
import { packageFile } from '../../dist/package-files.js';
import { readFixtureLabels } from '../../dist/testing/labels/labels.js';

/**
 * `idle`: a faint hiss comes in and nobody speaks. `listening`: the user speaks, but for 0.6 s of each 10. `talking`: 5 s
 * of the user's speech and 4 s of answer in each 10 s.
 */
export type Conduct = 'idle' | 'listening' | 'talking';

const CYCLE_MS = 10_000;
/** Long enough for a turn to end in it: nobody speaks for minutes on end. */
const PAUSE_MS = 600;
/** Two recordings spoken as one sentence, without a pause in which a turn could seem to end. */
const SPEECH = ['table-rms', 'address-slt'];
export const SAID = 'I would like to book a table for two on Friday evening, my address is twelve Station Road.';
/** 4 s in the hum's voice. */
export const ANSWER = 'Certainly, I can do that for you. And under which name shall I write it down, please?';

/** A caller's sound for one cycle, at 16 kHz. */
export function soundOf(conduct: Conduct): Int16Array {
  if (conduct === 'idle') return hiss();
  return conduct === 'talking' ? spoken(SPEECH, CYCLE_MS) : spoken([...SPEECH, ...SPEECH], CYCLE_MS - PAUSE_MS);
}

/** What a quiet line sounds like: 60 dB below full scale. The same in every run. */
function hiss(): Int16Array {
  let seed = 1;
  return Int16Array.from({ length: msToSamples(CYCLE_MS, HEARING_RATE_HZ) }, () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.round((seed / 2 ** 32 - 0.5) * 60);
  });
}

/** The recordings in a row, `forMs` of them at most. */
function spoken(names: readonly string[], forMs: number): Int16Array {
  const sound = hiss();
  const end = msToSamples(forMs, HEARING_RATE_HZ);
  let at = 0;
  for (const name of names) {
    const base = fileURLToPath(packageFile(`fixtures/audio/clean/${name}`));
    const { samples } = decodeWav(readFileSync(`${base}.wav`));
    const [speech] = readFixtureLabels(`${base}.json`).speech;
    if (speech === undefined) throw new Error(`nobody speaks in ${name}`);
    const [from, to] = [speech.startMs, speech.endMs].map((ms) => msToSamples(ms, HEARING_RATE_HZ)) as [number, number];
    const words = samples.subarray(from, Math.min(to, from + end - at));
    sound.set(words, at);
    at += words.length;
  }
  return sound;
}
