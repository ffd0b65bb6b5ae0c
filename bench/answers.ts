/**
 * Whether the embedded recogniser understands short answers to an agent's questions, and short things that are said
 * whatever was asked ("hello", "yes please", "what?"): simulated callers' words (lib/newcomer-phrases.ts), clean, over the
 * telephone (G.711 at 8 kHz) and in pink noise 15 dB below their speech; alone, with the second recogniser behind it
 * where that is installed, and without knowing what was asked.
 *
 *   npm run build && node bench/run.mjs answers [--group=held-out|tuning] [--n=2] [--seed=1]
 *     [--only=anything,number,name] [--lines=clean,telephone,noise] [--arms=unknown,embedded,second] [--list]
 *
 * `--n` is the number of answers by question and voice. Right: the words of the value are heard, and trusted. Wrong:
 * another transcript is trusted.
 */
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import type { ExpectedAnswer } from '../dist/agent/expected-answer.js';
import { loadAgentFile } from '../dist/agent/agent-file.js';
import { resolveAgent } from '../dist/agent/resolve.js';
import { decodeG711, encodeG711 } from '../dist/audio/codecs/g711.js';
import { resample } from '../dist/audio/dsp/resample.js';
import { Random, seedOf } from '../dist/base/random.js';
import { RealClock } from '../dist/base/real-clock.js';
import { VirtualClock } from '../dist/base/virtual-clock.js';
import { Engine } from '../dist/engine/engine.js';
import { speechHints } from '../dist/engine/session-factory.js';
import { CallerVoices } from '../dist/eval/call/caller-voices.js';
import { pinkNoise } from '../dist/eval/call/caller-end.js';
import { wilson } from '../dist/eval/statistics.js';
import { parseScript, speechHints as scriptHints } from '../dist/providers/llm/scripted/index.js';
import { findPocketSphinx } from '../dist/providers/stt/embedded/pocketsphinx.js';
import { EmbeddedStt } from '../dist/providers/stt/embedded/provider.js';
import type { SttTranscript } from '../dist/providers/stt/stt.js';
import { machine } from './lib/machine.js';
import { ANSWERS, EVERYDAY, type Group, NOTHING_ELSE, phrased, spelled, wishOf, YES } from './lib/newcomer-phrases.js';
import { heard, SPEAKERS } from './lib/newcomer-voices.js';
import { markdownTable } from './lib/numbers.js';
import { processorS } from './lib/processor-time.js';

const RATE_HZ = 16_000;
const FRAME = 320;
const LEAD = 2 * RATE_HZ;
const TAIL = RATE_HZ / 2;
/** Callers speak at -20 dBFS, see voice-line.ts. */
const NOISE_RMS = 32_768 * 10 ** (-35 / 20);
type Asked = ExpectedAnswer | 'anything';
const ASKED: readonly Asked[] = ['anything', 'number', 'date', 'time', 'yes-no', 'name', 'letters'];

const { values } = parseArgs({
  options: {
    group: { type: 'string', default: 'held-out' },
    n: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: ASKED.join(',') },
    lines: { type: 'string', default: 'clean,telephone,noise' },
    arms: { type: 'string', default: 'unknown,embedded,second' },
    list: { type: 'boolean', default: false },
  },
});

interface Answer {
  asked: Asked;
  said: string;
  speaker: string;
  samples: Int16Array;
}

const group: Group = values.group === 'tuning' ? 'tuning' : 'held-out';
const { signal } = new AbortController();
const engine = new Engine({ clock: new RealClock() });
const voices = new CallerVoices(engine, signal);
const embedded = new EmbeddedStt();
const files = findPocketSphinx();
const second = files === null ? null : new EmbeddedStt({ pocketSphinx: files });
const path = fileURLToPath(new URL('../examples/restaurant/agent.json', import.meta.url));
const { config, script } = await loadAgentFile(path);
const hints = speechHints(resolveAgent(config), script === undefined ? null : scriptHints(parseScript(script)));

console.log(`${machine()}\n`);
if (second === null)
  console.log('The second recogniser is not installed: apt-get install pocketsphinx pocketsphinx-en-us\n');
const arms = values.arms.split(',').filter((arm) => arm !== 'second' || second !== null);
const rows: string[][] = [];
for (const asked of ASKED.filter((one) => values.only.split(',').includes(one))) {
  const answers = await answersTo(asked);
  for (const line of values.lines.split(',')) {
    for (const arm of arms)
      if (asked !== 'anything' || arm !== 'unknown') rows.push(await row(answers, asked, line, arm));
  }
}
console.log(`group ${group}, seed ${values.seed}\n`);
const header = [
  'asked for',
  'line',
  'recogniser',
  'answers',
  'right',
  'wrong',
  'not understood',
  'ms a second of speech',
];
console.log(markdownTable([header, ...rows]));
console.log(`\n${machine()}`);
await embedded.close();
await second?.close();
await engine.close();

async function row(answers: readonly Answer[], asked: Asked, line: string, arm: string): Promise<string[]> {
  let [right, wrong] = [0, 0];
  const from = processorS();
  for (const answer of answers) {
    const stt = arm === 'second' && second !== null ? second : embedded;
    const question = asked === 'anything' || arm === 'unknown' ? null : asked;
    const final = await recognise(stt, onLine(answer.samples, line), question);
    const isRight = final.understood && plain(final.text) === plain(answer.said);
    if (isRight) right++;
    else if (final.understood) wrong++;
    if (values.list && !isRight) {
      const trust = `${final.understood ? 'trusted' : 'refused'} ${(final.confidence ?? 0).toFixed(2)}`;
      console.log(`${asked} ${line} ${arm} ${answer.speaker}: ${answer.said} [${final.text}] ${trust}`);
    }
  }
  const used = processorS() - from;
  const seconds = answers.reduce((sum, { samples }) => sum + samples.length / RATE_HZ, 0);
  const { low, high } = wilson(right, answers.length);
  const share = `${String(right)} (${(100 * low).toFixed(0)} to ${(100 * high).toFixed(0)} %)`;
  const counts = [String(answers.length), share, String(wrong), String(answers.length - right - wrong)];
  return [asked, line, arm, ...counts, ((1000 * used) / seconds).toFixed(0)];
}

async function answersTo(asked: Asked): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const [index, speaker] of SPEAKERS[group].entries()) {
    const n = Number(values.n);
    for (let i = 0; i < n; i++) {
      const random = new Random(seedOf(Number(values.seed), 100 * index + i));
      const said =
        asked === 'anything' ? (EVERYDAY[(index * n + i) % EVERYDAY.length] ?? '') : answerTo(asked, random, i + index);
      const name = `${speaker.voice.voice_id ?? ''} ${String(speaker.scale)}`;
      answers.push({ asked, said, speaker: name, samples: await heard(voices, speaker, said) });
    }
  }
  return answers;
}

function answerTo(asked: ExpectedAnswer, random: Random, caller: number): string {
  const wish = wishOf(random, group, caller);
  if (asked === 'yes-no') return phrased(random, random.pick([YES, NOTHING_ELSE]), wish, group);
  if (asked === 'letters') return spelled(wish.name.words[0] ?? '');
  const slot = asked === 'number' ? 'party' : asked === 'date' ? 'day' : asked === 'time' ? 'time' : 'name';
  return phrased(random, ANSWERS[slot], wish, group);
}

/** With silence around it. */
function onLine(samples: Int16Array, line: string): Int16Array {
  const audio = new Int16Array(LEAD + samples.length + TAIL);
  const telephone = (): Int16Array => {
    const narrow = resample(samples, RATE_HZ, 8_000);
    return resample(decodeG711('mulaw', encodeG711('mulaw', narrow)), 8_000, RATE_HZ);
  };
  audio.set((line === 'telephone' ? telephone() : samples).subarray(0, samples.length), LEAD);
  if (line === 'noise') addNoise(audio);
  return audio;
}

async function recognise(stt: EmbeddedStt, audio: Int16Array, asked: ExpectedAnswer | null): Promise<SttTranscript> {
  const clock = new VirtualClock();
  const finals: SttTranscript[] = [];
  const opening = stt.open(
    { language: 'en-US', hints, clock, signal },
    {
      onTranscript: (transcript) => {
        if (transcript.isFinal) finals.push(transcript);
      },
      onError: (error) => {
        throw error;
      },
    },
  );
  let isOpen = false;
  void opening.then(() => (isOpen = true));
  await clock.runUntil(() => isOpen);
  const stream = await opening;
  stream.expect?.(asked);
  for (let at = 0; at < LEAD; at += FRAME) stream.push(audio.slice(at, at + FRAME), at);
  stream.speechStarted(LEAD);
  for (let at = LEAD; at < audio.length; at += FRAME) stream.push(audio.slice(at, at + FRAME), at);
  stream.speechStopped(audio.length - TAIL);
  await clock.runUntil(() => finals.length > 0);
  await stream.close();
  const [final] = finals;
  if (final === undefined) throw new Error('no final transcript');
  return final;
}

function addNoise(audio: Int16Array): void {
  const noise = pinkNoise(new Random(audio.length));
  for (const [index, sample] of audio.entries()) {
    audio[index] = Math.max(-32_768, Math.min(32_767, Math.round(sample + noise() * NOISE_RMS)));
  }
}

function plain(text: string): string {
  return (text.toLowerCase().match(/[a-z']+/g) ?? []).join(' ').replaceAll(/\bfor (?=on)/g, '');
}
