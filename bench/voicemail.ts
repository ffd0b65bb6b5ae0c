/**
 * Who has answered: persons, mailboxes, call screening, fax machines and phone menus, right and wrong, and how soon.
 *
 *   npm run build && node bench/run.mjs voicemail [--seeds=3] [--only=person] [--verbose]
 *
 * Calls the numbers of `lib/answerers.ts` in virtual time over the simulated network with the embedded engines, once a
 * seed, each on another line: G.711 as it is, with 40 ms of jitter and 2 % loss, with 60 ms, 5 % and noise.
 * 1. With `hangup`: what the conversation took the answerer for, and when, in seconds from the answer.
 * 2. With `message`: where the message begins in what a mailbox records, and whether all of it is there.
 * 3. Persons once more with `voicemail` off: how much later the agent's first words, and its answer to theirs, are heard
 *    when it is on.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { encodeWav } from '../dist/audio/files/wav.js';
import { type AnsweredCall, callAnswerer, closeCalls, MESSAGE, type Voicemail } from './lib/answered-calls.js';
import { type Answerer, answerers, type Kind } from './lib/answerers.js';
import { machine } from './lib/machine.js';
import { markdownTable, quantile } from './lib/numbers.js';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '3' },
    only: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
});
const SEEDS = Array.from({ length: Number(values.seeds) }, (_, index) => index);
const KINDS: readonly Kind[] = ['person', 'voicemail', 'full', 'screening', 'fax', 'menu'];
const LEAVES: Voicemail = { action: 'message', message: MESSAGE };

const made = new Map<string, AnsweredCall>();

const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
try {
  let sounds = 0;
  const all = await answerers((samples) => {
    const path = join(folder, `${String(sounds++)}.wav`);
    writeFileSync(path, encodeWav([samples], 8000));
    return Promise.resolve(pathToFileURL(path).href);
  });
  const chosen = all.filter(({ kind }) => values.only === undefined || kind === values.only);
  await verdicts(chosen);
  await messages(chosen.filter(({ kind }) => kind === 'voicemail'));
  await greetings(chosen.filter(({ kind }) => kind === 'person'));
  console.log(`\n${machine()}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
  await closeCalls();
}

async function verdicts(chosen: readonly Answerer[]): Promise<void> {
  const rows: (string | number)[][] = [['who answers', 'calls', 'right', 'wrong', 'seconds p50', 'p90']];
  for (const kind of KINDS) {
    const seconds: number[] = [];
    let [right, wrong] = [0, 0];
    for (const [answerer, seed] of callsTo(chosen.filter((one) => one.kind === kind))) {
      const call = await hungUpOn(answerer, seed);
      const atMs = verdictMs(kind, call);
      if (atMs === null) wrong++;
      else {
        right++;
        seconds.push(atMs / 1000);
      }
      if (atMs === null || values.verbose) tell(answerer, seed, call, atMs === null ? 'WRONG' : 'right');
    }
    if (right + wrong > 0) rows.push([kind, String(right + wrong), String(right), String(wrong), ...spread(seconds)]);
  }
  console.log(markdownTable(rows));
}

/** When the answerer was found to be what it is; null = it was not, or was taken for something else. */
function verdictMs(kind: Kind, call: AnsweredCall): number | null {
  const at = (name: string): number | null => call.traces.find((trace) => trace.name === name)?.atMs ?? null;
  const found = call.traces.find(({ name }) => name === 'voicemail.detected')?.data['class'] ?? null;
  const isHungUp = call.status === 'voicemail-hangup';
  switch (kind) {
    case 'person':
      if (isHungUp || at('voicemail.screening') !== null || !call.notes.has('answered')) return null;
      return at('voicemail.person') ?? call.durationMs;
    case 'menu':
      return isHungUp || at('voicemail.screening') !== null ? null : (at('voicemail.person') ?? call.durationMs);
    case 'voicemail':
    case 'full':
      return isHungUp && found === 'mailbox' ? call.durationMs : null;
    case 'fax':
      return isHungUp && found === 'fax' ? call.durationMs : null;
    case 'screening':
      return isHungUp || !call.notes.has('answered') ? null : at('voicemail.screening');
  }
}

async function messages(chosen: readonly Answerer[]): Promise<void> {
  const left: { answerer: Answerer; seed: number; call: AnsweredCall; lengthMs: number; lateMs: number }[] = [];
  for (const [answerer, seed] of callsTo(chosen)) {
    const call = await callAnswerer(answerer, LEAVES, seed);
    const recordsMs = (call.notes.get('recording') ?? 0) - answerer.recordedMs;
    const recorded = call.heard.filter(({ toMs }) => toMs > recordsMs);
    const fromMs = Math.max(recordsMs, recorded[0]?.fromMs ?? Infinity);
    left.push({ answerer, seed, call, lengthMs: (recorded.at(-1)?.toMs ?? 0) - fromMs, lateMs: fromMs - recordsMs });
  }
  if (left.length === 0) return;
  // The same words of the same voice: as long as nearly all of them are.
  const wholeMs = quantile(
    left.map(({ lengthMs }) => lengthMs),
    0.5,
  );
  const isWhole = (one: (typeof left)[number]): boolean =>
    one.call.status === 'voicemail-message' && Math.abs(one.lengthMs - wholeMs) < 200;
  for (const one of left) {
    const verdict = `${isWhole(one) ? 'whole' : 'NOT WHOLE'} ${String(one.lengthMs)} ms`;
    if (!isWhole(one) || values.verbose) tell(one.answerer, one.seed, one.call, verdict);
  }
  const behind = left.filter(({ answerer }) => answerer.beeps).map(({ lateMs }) => lateMs / 1000);
  console.log(`\n${String(left.filter(isWhole).length)} of ${String(left.length)} messages are recorded whole.`);
  console.log(`Behind a beep they begin after ${spread(behind).join(' s (p50), ')} s (p90).`);
}

async function greetings(chosen: readonly Answerer[]): Promise<void> {
  const added = { first: [] as number[], answer: [] as number[] };
  for (const [answerer, seed] of callsTo(chosen)) {
    const [off, on] = [await callAnswerer(answerer, null, seed), await hungUpOn(answerer, seed)];
    const difference = (of: (call: AnsweredCall) => number | null): number => (of(on) ?? Infinity) - (of(off) ?? 0);
    const first = difference(({ heard }) => heard[0]?.fromMs ?? null);
    const answer = difference(({ heard, notes }) => {
      const openedMs = notes.get('opened') ?? 0;
      return heard.find(({ toMs }) => toMs > openedMs)?.fromMs ?? null;
    });
    added.first.push(first / 1000);
    added.answer.push(answer / 1000);
    if (Math.abs(first) > 0 || Math.abs(answer) > 100) {
      tell(answerer, seed, on, `later by ${String(first)}, ${String(answer)} ms`);
    }
  }
  if (chosen.length === 0) return;
  const row = (what: string, seconds: readonly number[]): string[] => [
    what,
    ...[0.1, 0.5, 0.9].map((share) => quantile(seconds, share).toFixed(2)),
  ];
  console.log(
    `\n${markdownTable([
      ['seconds that `voicemail` adds', 'p10', 'p50', 'p90'],
      row("until the agent's first words", added.first),
      row("until its answer to the person's", added.answer),
    ])}`,
  );
}

/** The call where machines are hung up on; made once. */
async function hungUpOn(answerer: Answerer, seed: number): Promise<AnsweredCall> {
  const key = `${String(seed)} ${answerer.voice} ${answerer.name}`;
  const call = made.get(key) ?? (await callAnswerer(answerer, { action: 'hangup' }, seed));
  made.set(key, call);
  return call;
}

function* callsTo(chosen: readonly Answerer[]): Generator<[Answerer, number]> {
  for (const answerer of chosen) for (const seed of SEEDS) yield [answerer, seed];
}

function spread(seconds: readonly number[]): [string, string] {
  return [quantile(seconds, 0.5).toFixed(1), quantile(seconds, 0.9).toFixed(1)];
}

function tell({ kind, name, voice }: Answerer, seed: number, call: AnsweredCall, verdict: string): void {
  const traces = call.traces
    .filter((trace) => trace.name.startsWith('voicemail.'))
    .map((trace) => `${(trace.atMs / 1000).toFixed(1)} ${trace.name.slice(10)} ${JSON.stringify(trace.data)}`);
  console.error(`${verdict}: ${kind} "${name}" (${voice}, line ${String(seed)}): ${call.status} ${traces.join(', ')}`);
  console.error(`    ${call.heardText}`);
}
