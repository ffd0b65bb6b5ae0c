/**
 * What the embedded recogniser understands, and what it costs: word error rate and confidence gate for sentences that
 * the agent's hints cover, for new sentences of known words and for speech outside the vocabulary; the recordings in
 * fixtures/; real recordings where PARLEY_AUDIO_DIR names a folder of them; milliseconds to open and to the final
 * transcript; processor time per second of speech; memory per session.
 *
 *   npm run build && node bench/run.mjs stt [--list]
 *
 * Speech is made by the flite voices that the gate was not fitted to (rms, awb). --list prints every utterance.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { decodeWav } from '../dist/audio/files/wav.js';
import { resample } from '../dist/audio/dsp/resample.js';
import { delay } from '../dist/base/clock.js';
import { RealClock } from '../dist/base/real-clock.js';
import { EmbeddedStt } from '../dist/providers/stt/embedded/provider.js';
import type { VocabularyReport } from '../dist/providers/stt/embedded/protocol.js';
import type { SpeechHints, SttStream, SttTranscript } from '../dist/providers/stt/stt.js';
import { FliteTts } from '../dist/providers/tts/flite/flite.js';
import { readFixtureLabels } from '../dist/testing/labels/labels.js';
import { wordErrors } from '../dist/testing/labels/wer.js';
import { HINTS } from './lib/restaurant-hints.js';

const RATE_HZ = 16_000;
const FRAME = 320;
const VOICES = ['rms', 'awb'];

const SENTENCES = {
  covered: [
    "I'd like to book a table for six.",
    'A table for three on Sunday at eight thirty p m.',
    'Saturday at nine.',
    'Yes, please.',
    'No, thank you.',
    'The name is Michael Brown.',
    "What's on the menu?",
    'Do you have a table tomorrow?',
    'Four people, please.',
    'We would like to sit outside.',
    'Cancel my reservation please.',
    'Tonight at half past seven.',
    'Is there parking nearby?',
    'I am allergic to nuts.',
    "That's all, thank you, goodbye.",
  ],
  'known words': [
    'Can you bring us some grilled fish and pasta?',
    'Is the kitchen still open at ten on Sunday?',
    'We have a birthday and want a cake.',
    'I would like a quiet table near the window for my wife.',
    'Could you tell the manager that I called yesterday?',
    'Is the pizza good here?',
    'We need parking for two cars.',
    'How late can we come on Thursday evening?',
  ],
  foreign: [
    'The glacier retreated beyond the granite moraine.',
    'Parliament ratified the maritime treaty unanimously.',
    'Neutrinos oscillate between several flavours.',
    'A blacksmith hammered the glowing horseshoe.',
    'Volcanic eruptions devastated the archipelago.',
    'Shakespeare borrowed plots from Italian novellas.',
    'The surgeon sutured a ruptured artery.',
    'Migrating geese navigate by magnetic fields.',
    'Inflation eroded household savings dramatically.',
    'The cellist tuned her instrument backstage.',
    'Archaeologists unearthed a bronze chariot.',
    'Compilers optimise nested loops aggressively.',
  ],
} as const;

interface Utterance {
  readonly group: string;
  readonly said: string;
  readonly samples: Int16Array;
}
interface Result extends Utterance {
  readonly final: SttTranscript;
  readonly finalMs: number;
}

const clock = new RealClock();
const signal = new AbortController().signal;
const list = process.argv.includes('--list');
const tts = new FliteTts();
let report: VocabularyReport | undefined;
const stt = new EmbeddedStt({ onVocabulary: (given) => (report = given) });

const coldMs = await timed(() => stt.warmUp());
const warmBytes = process.memoryUsage().rss;
const openMs: number[] = [];
for (let i = 0; i < 3; i++) openMs.push(await timed(async () => (await open(HINTS, () => undefined)).close()));
console.log(
  `warm-up ${coldMs.toFixed(0)} ms, ${mb(warmBytes)} MB resident; open a new agent ${openMs[0]?.toFixed(0) ?? ''} ms, the same again ${openMs[2]?.toFixed(1) ?? ''} ms`,
);
console.log(`vocabulary: ${JSON.stringify(report)}`);

const utterances: Utterance[] = [];
for (const [group, sentences] of Object.entries(SENTENCES)) {
  for (const voice of VOICES) {
    for (const said of sentences) utterances.push({ group, said, samples: await speak(said, voice) });
  }
}
utterances.push(...fixtures(), ...realRecordings());

const cpu = process.cpuUsage();
const results: Result[] = [];
for (const utterance of utterances) results.push(await recognise(utterance));
const used = process.cpuUsage(cpu);

const groups = [...new Set(results.map(({ group }) => group))];
const rows = groups.map((group) => {
  const mine = results.filter((result) => result.group === group);
  const errors = mine.map(({ said, final }) => wordErrors(said, final.text));
  const sum = (of: 'errors' | 'words'): number => errors.reduce((total, one) => total + one[of], 0);
  const right = mine.filter((_, i) => isRight(errors[i] ?? { errors: 1, words: 1 }));
  const wrong = mine.filter((result) => !right.includes(result));
  const refused = right.filter(({ final }) => !final.understood).length;
  const accepted = wrong.filter(({ final }) => final.understood).length;
  return [
    group,
    String(mine.length),
    percent(sum('errors') / sum('words')),
    String(errors.filter((one) => one.errors === 0).length),
    `${String(refused)} of ${String(right.length)}`,
    `${String(accepted)} of ${String(wrong.length)}`,
  ];
});
const header = ['speech', 'utterances', 'WER', 'exact', 'right, refused', 'wrong, accepted'];
for (const row of [header, header.map(() => '---'), ...rows]) console.log(`| ${row.join(' | ')} |`);
if (list) {
  for (const { group, said, final } of results) {
    console.log(
      `${group} | ${said} | ${final.text} | ${final.understood ? '' : 'not understood'} ${String(final.confidence?.toFixed(2))}`,
    );
  }
}

const seconds = results.reduce((total, { samples }) => total + samples.length / RATE_HZ, 0);
console.log(`processor ${((used.user + used.system) / 1000 / seconds).toFixed(0)} ms per second of audio`);
const paced: number[] = [];
for (const utterance of utterances.slice(0, 12)) paced.push((await recognise(utterance, true)).finalMs);
console.log(`final transcript ${quantiles(paced)} ms after the end of speech is reported`);
for (const speakers of [2, 4]) {
  const finals: number[] = [];
  for (let at = 0; at < 12; at += speakers) {
    const together = utterances.slice(at, at + speakers).map((utterance) => recognise(utterance, true));
    finals.push(...(await Promise.all(together)).map(({ finalMs }) => finalMs));
  }
  console.log(`with ${String(speakers)} speakers at once: ${quantiles(finals)} ms`);
}

const before = process.memoryUsage().rss;
const many: SttStream[] = [];
for (let i = 0; i < 20; i++) many.push(await open(HINTS, () => undefined));
console.log(
  `resident with all decoders made: ${mb(before)} MB; per session more: ${((process.memoryUsage().rss - before) / 20e6).toFixed(1)} MB`,
);
for (const stream of many) await stream.close();
await stt.close();
await tts.close();

function open(hints: SpeechHints, onTranscript: (transcript: SttTranscript) => void): Promise<SttStream> {
  const onError = (error: Error): void => {
    throw error;
  };
  return stt.open({ language: 'en-US', hints, clock, signal }, { onTranscript, onError });
}

/** Feeds an utterance with its true start and end as VAD: at once, or at the pace of speech. */
async function recognise(utterance: Utterance, paced = false): Promise<Result> {
  let settle: (transcript: SttTranscript) => void = () => undefined;
  const stream = await open(HINTS, (transcript) => {
    if (transcript.isFinal) settle(transcript);
  });
  const lead = RATE_HZ / 4;
  const quiet = RATE_HZ / 5;
  const audio = new Int16Array(lead + utterance.samples.length + quiet);
  audio.set(utterance.samples, lead);
  stream.speechStarted(0);
  for (let at = 0; at < audio.length; at += FRAME) {
    stream.push(audio.slice(at, at + FRAME), at);
    if (paced) await delay(clock, 20);
  }
  const start = performance.now();
  const final = await new Promise<SttTranscript>((resolve) => {
    settle = resolve;
    stream.speechStopped(audio.length - quiet);
  });
  const finalMs = performance.now() - start;
  await stream.close();
  return { ...utterance, final, finalMs };
}

async function speak(text: string, voiceId: string): Promise<Int16Array> {
  const parts: number[] = [];
  const request = { text, language: 'en-US', voiceId, model: null, settings: {}, clock, signal };
  for await (const { samples, sampleRateHz } of tts.synthesize(request)) {
    for (const sample of sampleRateHz === RATE_HZ ? samples : resample(samples, sampleRateHz, RATE_HZ))
      parts.push(sample);
  }
  return Int16Array.from(parts);
}

/** The English recordings of fixtures/ that hold one turn. */
function fixtures(): Utterance[] {
  const folder = fileURLToPath(new URL('../fixtures/audio', import.meta.url));
  const groups = ['clean', 'booking', 'digits', 'telephone', 'noise', 'pauses', 'interruptions', 'acknowledgements'];
  return groups.flatMap((group) =>
    readdirSync(`${folder}/${group}`, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.json'))
      .toSorted()
      .map((name) => readFixtureLabels(`${folder}/${group}/${name}`))
      .filter(({ text, voice, turns }) => text !== '' && turns === undefined && /flite|en-/.test(voice ?? ''))
      .map(({ file, text }) => ({ group: `fixtures/${group}`, said: text, samples: recording(`${folder}/${file}`) })),
  );
}

/** Transcribed recordings of a folder laid out like the ones docs/stt.md names; none without PARLEY_AUDIO_DIR. */
function realRecordings(): Utterance[] {
  const folder = process.env['PARLEY_AUDIO_DIR'];
  if (folder === undefined || !existsSync(`${folder}/speech/transcription`)) return [];
  const text = (file: string): string => readFileSync(`${folder}/${file}`, 'utf8');
  const said: [group: string, file: string, said: string][] = [];
  for (const [, words = '', name = ''] of text('speech/transcription').matchAll(/<s> (.*?) <\/s> \((.*)\)/g)) {
    said.push(['real, read prose', `speech/${name}`, words]);
  }
  for (const line of text('speech/metadata.csv').split('\n')) {
    const [name = '', words = ''] = line.split('|');
    said.push(['real, read prose', `speech/${name}`, words]);
  }
  for (const [, name = '', words = ''] of text('speech/ASR_train.json').matchAll(
    /"(\w+)": \{\s*"wav"[^]*?"wrd": "(.*?)"/g,
  )) {
    said.push(['real, read prose', `speech/${name}`, words]);
  }
  const short: Readonly<Record<string, string>> = {
    'telephony/230pm': 'two thirty p m',
    'telephony/book_a_room': 'book a room',
    'telephony/half_an_hour': 'half an hour',
    'telephony/today': 'today',
    'telephony/two_people': 'two people',
    'telephony/speak-to-customer-support': 'speak to customer support',
    'telephony/test': 'one zero zero zero one nine oh two one oh zero one eight zero three',
    'turn-taking/nope': 'nope',
    'turn-taking/not_so_sure': 'not so sure',
    'turn-taking/yes': 'yes',
  };
  for (const [file, words] of Object.entries(short)) said.push(['real, short answers', file, words]);
  const digits = 'zero one two three four five six seven eight nine'.split(' ');
  for (const [digit, word] of digits.entries()) {
    for (const speaker of ['george', 'jackson', 'nicolas']) {
      said.push(['real, one digit, 8 kHz', `digits/${String(digit)}_${speaker}_0`, word]);
    }
  }
  return said
    .map(([group, file, words]) => ({ group, path: `${folder}/${file}.wav`, said: words }))
    .filter(({ path }) => existsSync(path))
    .map(({ group, path, said: words }) => ({ group, said: words, samples: recording(path) }));
}

function recording(path: string): Int16Array {
  const { samples, sampleRateHz } = decodeWav(readFileSync(path));
  return sampleRateHz === RATE_HZ ? samples : resample(samples, sampleRateHz, RATE_HZ);
}

/** Near enough to act upon: at most a quarter of the words wrong. */
function isRight({ errors, words }: { errors: number; words: number }): boolean {
  return errors <= words / 4;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

function quantiles(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part: number): string => (sorted[Math.floor((sorted.length - 1) * part)] ?? 0).toFixed(1);
  return `median ${at(0.5)}, p95 ${at(0.95)}`;
}

function percent(part: number): string {
  return `${(100 * part).toFixed(1)} %`;
}

function mb(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
