/**
 * How long the user waits for an answer, and how much of that is the engine's own doing.
 *
 *   npm run build && node bench/run.mjs response [--rounds=1] [--turns=200]
 *
 * 1. The engine's own share: with a model and a voice that answer at once, from the decision that the user's turn is
 *    over to the answer's first audio, ready to be played and in a frame at the transport; alone, and beside ten idle
 *    sessions with Silero.
 * 2. The embedded default (Silero, embedded recogniser, the restaurant's scripted model, flite) over the recorded
 *    bookings in `fixtures/audio/booking`, in real time: from the end of the user's speech, as labelled, to the first
 *    frame of the answer at the transport, by stage.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { frameSamples, HEARING_RATE_HZ, samplesToMs } from '../dist/audio/frame.js';
import { resample } from '../dist/audio/resample.js';
import { decodeWav } from '../dist/audio/wav.js';
import { atDesk, type DemoDesk, openDemoDesk } from '../dist/cli/demo-desk.js';
import { RealClock } from '../dist/clock/real.js';
import { loadAgentFile } from '../dist/config/agent-file.js';
import { Engine } from '../dist/engine/engine.js';
import type { TurnMetrics } from '../dist/session/turn-metrics.js';
import { readFixtureLabels } from '../dist/testing/labels.js';
import { promptedStt } from '../dist/testing/prompted-stt.js';
import { MemoryTransport } from '../dist/transports/memory.js';
import { Callers } from './lib/callers.js';
import { instantLlm, instantTts } from './lib/instant.js';
import { machine } from './lib/machine.js';
import { markdownTable, quantile } from './lib/numbers.js';

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '1' }, turns: { type: 'string', default: '200' } },
});
const BOOKINGS = new URL('../fixtures/audio/booking/', import.meta.url);
/** The recordings of a whole booking, with silence for the agent. */
const TRACKS = readdirSync(BOOKINGS, { recursive: true, encoding: 'utf8' })
  .filter((path) => /(?:track|lively)\.wav$/.test(path))
  .map((path) => path.slice(0, -'.wav'.length));
/** Of the agent's pause after a sentence, in which the next answer would have to wait. */
const SENTENCE_PAUSE_MS = 180;

console.log(`${machine()}\n`);
await ownShare(0);
await ownShare(10);
await embeddedDefault();
console.log(`\n${machine()}`);
process.exit(0);

/** One turn of the first part, in milliseconds from the decision. */
interface OwnShare {
  readyMs: number;
  frameMs: number;
}

async function ownShare(idleSessions: number): Promise<void> {
  const clock = new RealClock();
  const engine = new Engine({ clock });
  const callers = new Callers(engine, 'idle', 'doubles');
  for (let caller = 0; caller < idleSessions; caller++) await callers.add(caller / idleSessions);
  if (idleSessions > 0) await sleep(8000);

  const turns: OwnShare[] = [];
  let answered: TurnMetrics | null = null;
  let over: () => void = () => undefined;
  const transport = new MemoryTransport({
    onFrame: (frame) => {
      if (frame === null || answered === null) return;
      const decidedMs = (answered.audioStartMs ?? 0) - (answered.responseMs ?? 0);
      const readyMs = (answered.firstSentenceMs ?? 0) + (answered.ttsFirstMs ?? 0);
      turns.push({ readyMs, frameMs: clock.nowMs() - startMs - decidedMs });
      answered = null;
    },
  });
  const session = await engine.createSession({
    agent: { prompt: 'You take bookings.', first_message: 'Good evening.' },
    transport,
    stt: promptedStt({ lines: [] }),
    llm: instantLlm('Yes, of course, a table by the sea for you, and a chair. Is it for two, or for four, or more?'),
    tts: instantTts(2),
    observe: (event) => {
      if (event.type === 'answered' && event.metrics.heard !== null) answered = event.metrics;
      if (event.type === 'agent') over();
    },
  });
  const greeted = new Promise<void>((resolve) => (over = resolve));
  const startMs = clock.nowMs();
  void session.run();
  await greeted;
  await sleep(2 * SENTENCE_PAUSE_MS);
  for (let turn = 0; turn < Number(values.turns); turn++) {
    const spoken = new Promise<void>((resolve) => (over = resolve));
    session.sendText('A table for two, please.'); // a turn that is over as it comes
    await spoken;
    await sleep(SENTENCE_PAUSE_MS + 40 + ((turn * 7) % 20)); // at every phase of the ticker, whose tick it does not wait for
  }
  await session.close();
  await callers.leave();
  await engine.close();

  const [first, ...rest] = turns;
  const row = (name: string, of: (turn: OwnShare) => number): (string | number)[] => {
    const all = rest.map(of);
    return [name, quantile(all, 0.5), quantile(all, 0.95), quantile(all, 0.99), first === undefined ? '–' : of(first)];
  };
  console.log(
    `${String(turns.length)} turns, ${String(idleSessions)} idle sessions beside, ms:\n${markdownTable([
      ['from the decision', 'p50', 'p95', 'p99', "the process's first"],
      row('to the first audio, ready to be played', ({ readyMs }) => readyMs),
      row('to the first frame at the transport', ({ frameMs }) => frameMs),
    ])}\n`,
  );
}

/** One turn of the second part: a stage's milliseconds by its name. */
type Stages = Record<string, number>;

async function embeddedDefault(): Promise<void> {
  const desk = await openDemoDesk();
  const clock = new RealClock();
  const engine = new Engine({ clock, allowUrls: [desk.url] });
  await engine.warmUp();
  const turns: Stages[] = [];
  let missed = 0;
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const track of TRACKS) {
      const { found, expected } = await playTrack(engine, clock, desk, track);
      turns.push(...found);
      missed += expected - found.length;
    }
  }
  await engine.close();
  await desk.close();
  const names = Object.keys(turns[0] ?? {});
  const rows = names.map((name) => {
    const all = turns.map((turn) => turn[name] ?? Number.NaN).filter((ms) => !Number.isNaN(ms));
    return [name, quantile(all, 0.5), quantile(all, 0.95)];
  });
  console.log(
    `${String(turns.length)} turns of ${TRACKS.join(', ')} (${String(missed)} labelled turns left out: spoken over the agent, or not answered by themselves), ms:\n` +
      markdownTable([['stage', 'p50', 'p95'], ...rows]),
  );
}

async function playTrack(
  engine: Engine,
  clock: RealClock,
  desk: DemoDesk,
  track: string,
): Promise<{ found: Stages[]; expected: number }> {
  const base = new URL(track, BOOKINGS);
  const wav = decodeWav(readFileSync(new URL(`${base.href}.wav`)));
  const samples = resample(wav.samples, wav.sampleRateHz, HEARING_RATE_HZ);
  const labels = readFixtureLabels(fileURLToPath(`${base.href}.json`)).turns ?? [];
  const file = await loadAgentFile(fileURLToPath(new URL('../examples/restaurant/agent.json', import.meta.url)));

  const frame = frameSamples(HEARING_RATE_HZ);
  let at = 0;
  /** When each frame of the recording was given to the session; its last sample was spoken then. */
  const sentMs: number[] = [];
  const finalsMs: number[] = [];
  const audibleMs: number[] = [];
  let quiet = true;
  const transport = new MemoryTransport({
    onFrame: (out) => {
      if (out !== null && quiet) audibleMs.push(clock.nowMs());
      quiet = out === null;
    },
  });
  const stop = engine.ticker.subscribe(() => {
    if (at >= samples.length) return;
    sentMs.push(clock.nowMs());
    transport.pushAudio(samples.slice(at, at + frame));
    at += frame;
  });
  const session = await engine.createSession({
    agent: atDesk(file.config, desk),
    script: file.script,
    transport,
    observe: (event) => {
      if (event.type === 'transcript' && event.isFinal) finalsMs.push(clock.nowMs());
    },
  });
  at = 0;
  sentMs.length = 0;
  const startMs = clock.nowMs();
  const finished = session.run();
  const { turns } = await Promise.race([
    finished,
    sleep(samplesToMs(samples.length, HEARING_RATE_HZ) + 3000).then(() => session.close()),
  ]);
  stop();

  const spokenAt = (labelMs: number): number => {
    const index = Math.ceil(labelMs / 20) - 1;
    return (sentMs[index] ?? Number.NaN) - ((index + 1) * 20 - labelMs);
  };
  const found: Stages[] = [];
  for (const [index, label] of labels.entries()) {
    const endMs = spokenAt(label.endMs);
    const nextMs = spokenAt(labels[index + 1]?.startMs ?? Number.NaN);
    const until = Number.isNaN(nextMs) ? Number.POSITIVE_INFINITY : nextMs;
    const answer = turns.find(({ heard, audioStartMs }) => {
      const audioMs = startMs + (audioStartMs ?? Number.NaN);
      return heard !== null && audioMs > endMs && audioMs < until;
    });
    const frameMs = audibleMs.find((ms) => ms > endMs && ms < until);
    if (answer === undefined || frameMs === undefined || answer.endOfTurnMs === null) continue;
    found.push(
      stages(
        answer,
        endMs - startMs,
        frameMs - startMs,
        finalsMs.map((ms) => ms - startMs),
      ),
    );
  }
  return { found, expected: labels.length };
}

/** @param endMs the end of speech by its label, like all times on the session's clock */
function stages(answer: TurnMetrics, endMs: number, frameMs: number, finalsMs: readonly number[]): Stages {
  const vadEndMs = answer.speechEndMs ?? Number.NaN;
  const decidedMs = vadEndMs + (answer.endOfTurnMs ?? Number.NaN);
  const readyMs = decidedMs + (answer.firstSentenceMs ?? Number.NaN) + (answer.ttsFirstMs ?? Number.NaN);
  const finalMs = finalsMs.find((ms) => ms > endMs && ms <= decidedMs + 1);
  return {
    'end of speech (label) to first frame at the transport': frameMs - endMs,
    'end of speech to the final transcript (within the next)': (finalMs ?? Number.NaN) - endMs,
    'end of speech to the decision that the turn is over': decidedMs - endMs,
    "decision to the model's first piece": answer.llmFirstMs ?? Number.NaN,
    'decision to the first sentence': answer.firstSentenceMs ?? Number.NaN,
    'first sentence to its first audio': answer.ttsFirstMs ?? Number.NaN,
    'first audio, or the decision if that is later, to the frame (the tick)': frameMs - readyMs,
  };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
