/**
 * Full-Duplex-Bench's measures (lib/full-duplex/rules.ts) over the recordings of `fixtures/audio`, in virtual time with
 * vendors' published latencies:
 *
 *   npm run build && node bench/run.mjs full-duplex [--data=FOLDER] [--n=COUNT]
 *
 * - pause handling: turns with pauses; in how many the agent takes the turn before its end (lower is better).
 * - backchannel: how often the agent itself says something short in these turns, a second, and takes the turn.
 * - smooth turn-taking: turns without pauses; how many are answered, and how long after their end.
 * - user interruption, user backchannel: somebody speaks over the agent; how often it gives up what it was saying.
 *
 * `--data` is a folder of Full-Duplex-Bench's form: a folder for each sample, with `input.wav` and `pause.json`,
 * `turn_taking.json` or `interrupt.json` (`[{"timestamp": [seconds, seconds]}]`). There the embedded recogniser listens,
 * because such samples have no words. `--n` takes the first samples of each kind only.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { HEARING_RATE_HZ, samplesToMs } from '../dist/audio/frame.js';
import { resample } from '../dist/audio/dsp/resample.js';
import { decodeWav } from '../dist/audio/files/wav.js';
import { type LabelledRecording, readRecordings } from '../dist/benchmark/recording.js';
import { agentSound } from './lib/full-duplex/agent-sound.js';
import { answerTo, backchannelRate, takesOver } from './lib/full-duplex/rules.js';
import { markdownTable, quantile } from './lib/numbers.js';
import { talkOver } from './lib/talked-over.js';
import { labelledRecordings, turnsIn } from './lib/turns.js';

const { values } = parseArgs({ options: { data: { type: 'string' }, n: { type: 'string' } } });
const most = values.n === undefined ? Infinity : Number(values.n);
const timesSchema = z.array(z.object({ timestamp: z.array(z.number()).min(1) })).min(1);
/** An answer may begin so long before the labelled end: voices fade. */
const EARLY_MS = 50;

const rows: (string | number)[][] = [];
if (values.data === undefined) await fixtures();
else await folder(values.data);
console.log(
  markdownTable([['', 'samples', 'takeover rate', 'latency, ms mean', 'p50', 'p90', 'backchannels a second'], ...rows]),
);
process.exit(0);

async function fixtures(): Promise<void> {
  const root = fileURLToPath(new URL('../fixtures/audio', import.meta.url));
  const turns = new Map(turnsIn(labelledRecordings(root, 'fixtures')).map((turn) => [turn.name, turn]));
  const all = await readRecordings(root, (name) => turns.has(name));
  const single = all.filter(({ turns: { length }, words }) => length === 1 && words !== null);
  const hasPauses = ({ name }: LabelledRecording): boolean => (turns.get(name)?.pauses?.length ?? 0) > 0;
  await pauses(single.filter(hasPauses), false);
  await turnTaking(
    single.filter((recording) => !hasPauses(recording) && isTurn(recording)),
    false,
  );
  await over('user interruption', await readRecordings(root, (name) => name.startsWith('interruptions/')));
  await over('user backchannel', await readRecordings(root, (name) => name.startsWith('acknowledgements/')));
}

/** Recordings of callers who want an answer. */
function isTurn({ name }: LabelledRecording): boolean {
  return !/^(?:acknowledgements|voicemail|dtmf)\//u.test(name);
}

async function folder(path: string): Promise<void> {
  const samples = readdirSync(path)
    .map((name) => join(path, name))
    .filter((sample) => existsSync(join(sample, 'input.wav')));
  const withFile = (file: string): LabelledRecording[] =>
    samples.filter((sample) => existsSync(join(sample, file))).map((sample) => sampleOf(sample, file));
  await pauses(withFile('pause.json'), true);
  await turnTaking(withFile('turn_taking.json'), true);
  await turnTaking(withFile('interrupt.json'), true, 'user interruption');
}

/** The turn ends with the last labelled time; for pauses, with the sound. */
function sampleOf(path: string, file: string): LabelledRecording {
  const wav = decodeWav(readFileSync(join(path, 'input.wav')));
  const samples = resample(wav.samples, wav.sampleRateHz, HEARING_RATE_HZ);
  const [first] = timesSchema.parse(JSON.parse(readFileSync(join(path, file), 'utf8')));
  const lengthMs = samplesToMs(samples.length, HEARING_RATE_HZ);
  const times = first?.timestamp ?? [];
  // turn_taking.json begins with the end of the user's turn, interrupt.json ends with it.
  const ends = { 'turn_taking.json': times[0], 'interrupt.json': times.at(-1) }[file];
  const endMs = ends === undefined ? lengthMs : ends * 1000;
  return { name: path, samples, turns: [{ startMs: 0, endMs, text: null }], words: null, labels: 'file' };
}

async function pauses(recordings: readonly LabelledRecording[], embedded: boolean): Promise<void> {
  const some = recordings.slice(0, most);
  if (some.length === 0) return;
  let [taken, rate] = [0, 0];
  for (const recording of some) {
    const agent = await agentSound(recording, embedded);
    const { startMs = 0, endMs = 0 } = recording.turns[0] ?? {};
    if (takesOver(agent, startMs, endMs - EARLY_MS)) taken++;
    rate += backchannelRate(agent, { startMs, endMs }) / some.length;
  }
  rows.push(['pause handling', some.length, share(taken, some.length), '–', '–', '–', rate.toFixed(3)]);
}

async function turnTaking(
  recordings: readonly LabelledRecording[],
  embedded: boolean,
  name = 'smooth turn-taking',
): Promise<void> {
  const some = recordings.slice(0, most);
  if (some.length === 0) return;
  const latencies: number[] = [];
  for (const recording of some) {
    const { endMs = 0 } = recording.turns[0] ?? {};
    const { latencyMs } = answerTo(await agentSound(recording, embedded), endMs, endMs - EARLY_MS);
    if (latencyMs !== null) latencies.push(latencyMs);
  }
  const mean = latencies.reduce((sum, latency) => sum + latency, 0) / latencies.length;
  const figures = latencies.length === 0 ? ['–', '–', '–'] : [mean, quantile(latencies, 0.5), quantile(latencies, 0.9)];
  rows.push([name, some.length, share(latencies.length, some.length), ...figures, '–']);
}

/** Three seconds into what the agent says. */
async function over(name: string, recordings: readonly LabelledRecording[]): Promise<void> {
  const some = recordings.slice(0, most);
  const stops: number[] = [];
  let taken = 0;
  for (const recording of some) {
    const outcome = await talkOver(recording, false);
    if (outcome.taken) taken++;
    if (outcome.answerMs !== null) stops.push(outcome.answerMs);
  }
  const mean = stops.reduce((sum, stop) => sum + stop, 0) / stops.length;
  const figures = stops.length === 0 ? ['–', '–', '–'] : [mean, quantile(stops, 0.5), quantile(stops, 0.9)];
  rows.push([name, some.length, share(taken, some.length), ...figures, '–']);
}

function share(count: number, of: number): string {
  return `${((100 * count) / of).toFixed(1)} %`;
}
