/**
 * What the embedded voices cost: milliseconds to the first audio and to the whole sentence, processor time per second
 * of speech, and memory. With espeak-ng where it is installed.
 *
 *   npm run build && node bench/run.mjs tts
 *
 * All voices are measured in turns, so that a busy machine slows them alike. Medians. `src/providers/tts/latency.ts` is
 * fitted to the last table.
 */
import { RealClock } from '../dist/base/real-clock.js';
import { EspeakTts } from '../dist/providers/tts/espeak.js';
import { FliteTts } from '../dist/providers/tts/flite/flite.js';
import type { TtsProvider } from '../dist/providers/tts/tts.js';

const ROUNDS = 15;
const TEXTS = {
  word: 'Sure.',
  clause: 'How many people will there be?',
  sentence: 'The quick brown fox jumps over the lazy sleeping dog today.',
  long: 'If you would like to book a table for tonight, please tell me when you come and how many of you there are.',
};
type TextName = keyof typeof TEXTS;
const TEXT_NAMES = Object.keys(TEXTS) as TextName[];

interface Run {
  firstMs: number;
  totalMs: number;
  cpuMs: number;
  audioMs: number;
}
interface Contender {
  readonly provider: TtsProvider;
  readonly voiceId: string;
  readonly runs: Record<TextName, Run[]>;
}

const clock = new RealClock();
const flite = new FliteTts();
const espeak = new EspeakTts();
const before = process.memoryUsage().rss;
const coldMs = await timed(() => flite.warmUp());
const flitePages = process.memoryUsage().rss - before;
const contenders: Contender[] = flite.voices().map((voice) => enter(flite, voice.id));
if (espeak.available) {
  await espeak.warmUp();
  contenders.push(enter(espeak, 'en-us'));
} else {
  console.log('espeak-ng left out: it is not installed');
}

for (let round = 0; round < ROUNDS; round++) {
  for (const { provider, voiceId, runs } of contenders) {
    for (const name of TEXT_NAMES) runs[name].push(await speak(provider, voiceId, TEXTS[name]));
  }
}

console.log(
  `flite: warmUp ${coldMs.toFixed(0)} ms, then ${mb(flitePages)} MB more resident; ${mb(flite.stats.memoryBytes)} MB of it its heap`,
);
const header = ['voice', ...TEXT_NAMES.flatMap((name) => [`${name} first`, 'all']), 'CPU ms/s', 'times real time'];
const rows = contenders.map(({ provider, voiceId, runs }) => {
  const { sentence } = runs;
  const audioMs = median(sentence.map((run) => run.audioMs));
  return [
    `${provider.name} ${voiceId}`,
    ...TEXT_NAMES.flatMap((name) => [ms(runs[name].map((r) => r.firstMs)), ms(runs[name].map((r) => r.totalMs))]),
    // The processor time of a child process is not this process's.
    provider === flite ? ms(sentence.map((run) => (run.cpuMs * 1000) / run.audioMs)) : '',
    (audioMs / median(sentence.map((run) => run.totalMs))).toFixed(0),
  ];
});
for (const row of [header, ...rows]) console.log(`| ${row.map((cell) => cell.padStart(12)).join(' | ')} |`);

console.log('first audio = a + b per character; ms between blocks');
for (const { provider, voiceId, runs } of contenders) {
  const first = (name: TextName): number => median(runs[name].map((run) => run.firstMs));
  const perChar = (first('long') - first('word')) / (TEXTS.long.length - TEXTS.word.length);
  const blocks = median(runs.long.map((run) => run.audioMs)) / 80;
  const perBlock = median(runs.long.map((run) => run.totalMs - run.firstMs)) / blocks;
  const fixed = first('word') - perChar * TEXTS.word.length;
  console.log(`${provider.name} ${voiceId}: ${fixed.toFixed(1)} + ${perChar.toFixed(2)}; ${perBlock.toFixed(2)}`);
}

for (let i = 0; i < 200; i++) await speak(flite, i % 2 === 0 ? 'slt' : 'kal16', TEXTS.long);
console.log(`flite's heap after 200 more sentences: ${mb(flite.stats.memoryBytes)} MB`);
await flite.close();
await espeak.close();

function enter(provider: TtsProvider, voiceId: string): Contender {
  return { provider, voiceId, runs: { word: [], clause: [], sentence: [], long: [] } };
}

async function speak(provider: TtsProvider, voiceId: string, text: string): Promise<Run> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  let firstMs = 0;
  let audioMs = 0;
  const { signal } = new AbortController();
  const request = { text, language: 'en-US', voiceId, model: null, settings: {}, clock, signal };
  for await (const { samples, sampleRateHz } of provider.synthesize(request)) {
    firstMs ||= performance.now() - start;
    audioMs += (samples.length * 1000) / sampleRateHz;
  }
  const used = process.cpuUsage(cpu);
  return { firstMs, totalMs: performance.now() - start, cpuMs: (used.user + used.system) / 1000, audioMs };
}

async function timed(work: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;
}

function ms(values: readonly number[]): string {
  return median(values).toFixed(1);
}

function mb(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
