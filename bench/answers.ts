/**
 * Whether the embedded recogniser understands short answers to an agent's questions, with and without knowing what was
 * asked: simulated callers' answers (lib/newcomer-phrases.ts), clean and in pink noise 15 dB below their speech.
 *
 *   npm run build && node bench/run.mjs answers [--group=held-out|tuning] [--n=4] [--seed=1] [--only=number,name] [--list]
 *
 * `--n` is the number of answers by question and voice. Right: the words of the value are heard, and trusted. Wrong:
 * another transcript is trusted.
 */
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import type { ExpectedAnswer } from '../dist/agent/expected-answer.js';
import { loadAgentFile } from '../dist/agent/agent-file.js';
import { resolveAgent } from '../dist/agent/resolve.js';
import { resample } from '../dist/audio/dsp/resample.js';
import { Random, seedOf } from '../dist/base/random.js';
import { RealClock } from '../dist/base/real-clock.js';
import { Engine } from '../dist/engine/engine.js';
import { speechHints } from '../dist/engine/session-factory.js';
import { CallerVoices } from '../dist/eval/call/caller-voices.js';
import { pinkNoise } from '../dist/eval/call/caller-end.js';
import { parseScript, speechHints as scriptHints } from '../dist/providers/llm/scripted/index.js';
import { EmbeddedStt } from '../dist/providers/stt/embedded/provider.js';
import type { SttTranscript } from '../dist/providers/stt/stt.js';
import { machine } from './lib/machine.js';
import { ANSWERS, type Group, NOTHING_ELSE, phrased, spelled, wishOf, YES } from './lib/newcomer-phrases.js';
import { markdownTable } from './lib/numbers.js';

const RATE_HZ = 16_000;
const FRAME = 320;
const LEAD = 2 * RATE_HZ;
const TAIL = RATE_HZ / 2;
/** Callers speak at -20 dBFS, see voice-line.ts. */
const NOISE_RMS = 32_768 * 10 ** (-35 / 20);
const VOICES: Readonly<Record<Group, readonly string[]>> = { tuning: ['slt', 'kal16'], 'held-out': ['rms', 'awb'] };
const ASKED: readonly ExpectedAnswer[] = ['number', 'date', 'time', 'yes-no', 'name', 'letters'];

const { values } = parseArgs({
  options: {
    group: { type: 'string', default: 'held-out' },
    n: { type: 'string', default: '4' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: ASKED.join(',') },
    noise: { type: 'string', default: 'clean,noise' },
    list: { type: 'boolean', default: false },
  },
});

interface Answer {
  asked: ExpectedAnswer;
  said: string;
  voice: string;
  samples: Int16Array;
}

const group: Group = values.group === 'tuning' ? 'tuning' : 'held-out';
const clock = new RealClock();
const { signal } = new AbortController();
const engine = new Engine({ clock });
const voices = new CallerVoices(engine, signal);
const stt = new EmbeddedStt();
const path = fileURLToPath(new URL('../examples/restaurant/agent.json', import.meta.url));
const { config, script } = await loadAgentFile(path);
const hints = speechHints(resolveAgent(config), script === undefined ? null : scriptHints(parseScript(script)));

console.log(`${machine()}\n`);
const rows: string[][] = [];
for (const asked of ASKED.filter((one) => values.only.split(',').includes(one))) {
  const answers = await answersTo(asked);
  for (const line of values.noise.split(',')) {
    for (const knows of [false, true]) rows.push(await row(answers, asked, line, knows));
  }
}
console.log(
  markdownTable([
    [
      'asked for',
      'line',
      'the question is known',
      'answers',
      'right',
      'wrong',
      'not understood',
      'ms a second of speech',
    ],
    ...rows,
  ]),
);
console.log(`\n${machine()}`);
await stt.close();
await engine.close();

async function row(answers: readonly Answer[], asked: ExpectedAnswer, line: string, knows: boolean): Promise<string[]> {
  let [right, wrong] = [0, 0];
  const from = process.cpuUsage();
  for (const answer of answers) {
    const heard = await recognise(answer.samples, knows ? asked : null, line === 'noise');
    const isRight = heard.understood && plain(heard.text) === plain(answer.said);
    if (isRight) right++;
    else if (heard.understood) wrong++;
    if (values.list && !isRight) {
      const trust = `${heard.understood ? 'trusted' : 'refused'} ${(heard.confidence ?? 0).toFixed(2)}`;
      console.log(`${asked} ${line} ${knows ? 'known' : '-'} ${answer.voice}: ${answer.said} [${heard.text}] ${trust}`);
    }
  }
  const { user, system } = process.cpuUsage(from);
  const seconds = answers.reduce((sum, { samples }) => sum + samples.length / RATE_HZ, 0);
  const none = answers.length - right - wrong;
  const counts = [answers.length, right, wrong, none].map(String);
  return [asked, line, knows ? 'yes' : 'no', ...counts, ((user + system) / 1000 / seconds).toFixed(0)];
}

async function answersTo(asked: ExpectedAnswer): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (const [index, voice] of VOICES[group].entries()) {
    for (let n = 0; n < Number(values.n); n++) {
      const random = new Random(seedOf(Number(values.seed), 100 * index + n));
      const said = answerTo(asked, random, n + index);
      const audio = await voices.speak({ say: said }, { provider: 'flite', voice_id: voice }, 'en-US');
      answers.push({ asked, said, voice, samples: resample(audio.samples, audio.sampleRateHz, RATE_HZ) });
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

async function recognise(samples: Int16Array, asked: ExpectedAnswer | null, isNoisy: boolean): Promise<SttTranscript> {
  let settle: (transcript: SttTranscript) => void = () => undefined;
  const stream = await stt.open(
    { language: 'en-US', hints, clock, signal },
    {
      onTranscript: (transcript) => {
        if (transcript.isFinal) settle(transcript);
      },
      onError: (error) => {
        throw error;
      },
    },
  );
  const audio = new Int16Array(LEAD + samples.length + TAIL);
  audio.set(samples, LEAD);
  if (isNoisy) addNoise(audio);
  stream.expect?.(asked);
  for (let at = 0; at < LEAD; at += FRAME) stream.push(audio.slice(at, at + FRAME), at);
  stream.speechStarted(LEAD);
  for (let at = LEAD; at < audio.length; at += FRAME) stream.push(audio.slice(at, at + FRAME), at);
  const final = await new Promise<SttTranscript>((resolve) => {
    settle = resolve;
    stream.speechStopped(LEAD + samples.length);
  });
  await stream.close();
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
