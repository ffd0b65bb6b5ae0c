import { readdirSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { decodeWav } from '../../src/audio/files/wav.js';
import { packageFile } from '../../src/package-files.js';
import { readFixtureLabels, type FixtureLabels } from '../../src/testing/labels/labels.js';

const folder = fileURLToPath(packageFile('fixtures/audio/'));
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('.'));
const recordings = files.filter((name) => name.endsWith('.wav'));
const manifest = JSON.parse(readFileSync(`${folder}manifest.json`, 'utf8')) as {
  recordings: { file: string; seconds: number; bytes: number }[];
};

/** Root mean square of a stretch, in dB of full scale. */
function levelDb(samples: Int16Array, sampleRateHz: number, startMs: number, endMs: number): number {
  const part = samples.subarray(Math.round((startMs * sampleRateHz) / 1000), Math.round((endMs * sampleRateHz) / 1000));
  const sum = part.reduce((total, value) => total + value * value, 0);
  return 20 * Math.log10(Math.max(1e-9, Math.sqrt(sum / Math.max(1, part.length)) / 32768));
}

/** The stretches between `spans`, from 20 ms behind one to 20 ms before the next: filters ring that long. */
function between(spans: { startMs: number; endMs: number }[], durationMs: number): [number, number][] {
  const edges = [...spans].sort((a, b) => a.startMs - b.startMs);
  const starts = [0, ...edges.map((it) => it.endMs + 20)];
  const ends = [...edges.map((it) => it.startMs - 20), durationMs];
  return starts
    .map((start, index): [number, number] => [start, ends[index] ?? 0])
    .filter(([from, to]) => to - from > 30);
}

describe('the recordings', () => {
  it('are all in the manifest with their sizes, each with its labels, and small enough for git', () => {
    const listed = manifest.recordings.map(({ file, bytes }) => [file, bytes]);
    expect(listed).toEqual(recordings.sort().map((file) => [file, statSync(folder + file).size]));
    const labels = files.filter((name) => name.endsWith('.json') && name !== 'manifest.json');
    expect(labels.sort()).toEqual(recordings.map((file) => file.replace(/wav$/, 'json')).sort());
    expect(manifest.recordings.reduce((sum, it) => sum + it.bytes, 0)).toBeLessThan(12e6);
  });

  it.each(recordings)('%s decodes, and its labels are true', (file) => {
    const labels = readFixtureLabels(folder + file.replace(/wav$/, 'json'));
    const wav = decodeWav(readFileSync(folder + file));
    expect(wav.warnings).toEqual([]);
    expect(wav.channels).toHaveLength(1);
    expect({ file: labels.file, rate: labels.sampleRateHz }).toEqual({ file, rate: wav.sampleRateHz });
    expect(Math.abs((wav.samples.length * 1000) / wav.sampleRateHz - labels.durationMs)).toBeLessThan(0.1);
    checkSpans(labels);
    checkSound(labels, wav.samples);
  });
});

function checkSpans(labels: FixtureLabels): void {
  const { speech, words = [], pauses = [], digits = [], events = [], turns = [], durationMs } = labels;
  for (const span of [...speech, ...words, ...pauses, ...digits, ...events, ...turns]) {
    expect(span.endMs).toBeGreaterThan(span.startMs);
    expect(span.endMs).toBeLessThanOrEqual(durationMs + 0.1);
  }
  // A word is where speech is, but for a plosive's closure and a fading "v".
  for (const word of words) {
    expect(speech.some((it) => word.startMs > it.startMs - 120 && word.endMs < it.endMs + 120)).toBe(true);
  }
  const said = labels.text.toLowerCase().replace(/[^\p{L}\p{M}\p{N}' -]/gu, '');
  if (words.length > 0) expect(words.map((it) => it.word).join(' ')).toBe(said);
  expect(pauses).toHaveLength(speech.length);
  if (speech.length > 0) {
    expect(pauses.at(-1)?.kind).toBe('end-of-turn');
    expect(pauses.filter((it) => it.kind === 'end-of-turn')).toHaveLength(Math.max(1, turns.length));
  }
}

/** What is labelled holds sound; without noise, what lies between is 30 dB softer. */
function checkSound(labels: FixtureLabels, samples: Int16Array): void {
  const { speech, digits = [], events = [], sampleRateHz, durationMs } = labels;
  const sounds = [...speech, ...events, ...digits.filter((it) => it.how === 'keyed')];
  const levels = sounds.map((it) => levelDb(samples, sampleRateHz, it.startMs, it.endMs));
  for (const level of levels) expect(level).toBeGreaterThan(-52);
  if (labels.noise !== undefined) return;
  for (const [from, to] of between(sounds, durationMs)) {
    expect(levelDb(samples, sampleRateHz, from, to)).toBeLessThan(Math.max(...levels) - 30);
  }
}
