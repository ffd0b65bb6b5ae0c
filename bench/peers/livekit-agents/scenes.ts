import { frameSamples, HEARING_RATE_HZ, msToSamples, samplesToMs } from '../../../dist/audio/frame.js';
import { fileURLToPath } from 'node:url';
import { packageFile } from '../../../dist/package-files.js';
import { readRecordings, type LabelledRecording } from '../../../dist/benchmark/recording.js';
import { eachTick, type Line, type Side, sleep, until } from './line.js';

const FRAME = frameSamples(HEARING_RATE_HZ);
/** Lines that are spoken to at the same time. More of them wait for each other, which is not what is asked here. */
const LINES = 2;
const LINES_SPOKEN_OVER = 8;
const SHORT_ANSWER = 'Yes of course there is a table for two by the window';
/** Some 9 s in a voice that takes 60 ms for a character. */
const STORY =
  'The first train leaves at six in the morning and goes along the river as far as the old mill where it waits for the ' +
  'bus from the harbour';
/** The agent has been speaking for so long when somebody speaks. */
const BEFORE_MS = 600;
/** An interim transcript comes so long after each word, as in the interruption benchmark. */
const INTERIM_MS = 150;
/** The final transcript comes so long after the end of speech. */
const FINAL_MS = 250;
/** Speech of which nothing is understood. */
const FALSE_ALARM_MS = 800;

/**
 * From the decision that the user's turn is over to the first audio of the answer, in ms, a number for each turn.
 * `late`: the words come 400 ms after the speech, when silence has lasted longer than the turn needs, and are what
 * decides. `early`: they come 100 ms before the end of speech, and that end, or the silence after it, is what decides.
 */
export async function decisions(side: Side, words: 'late' | 'early', quick: boolean, turns: number): Promise<number[]> {
  const all = await Promise.all(
    Array.from({ length: LINES }, async (_, index) => {
      await sleep(index * 137);
      return talk(side, words, quick, turns);
    }),
  );
  // A line's first turn is not compiled yet.
  return all.flatMap((line) => line.slice(1));
}

async function talk(side: Side, words: 'late' | 'early', quick: boolean, turns: number): Promise<number[]> {
  let soundMs: number | null = null;
  let isQuiet = true;
  const line = await side.open({
    answer: SHORT_ANSWER,
    charMs: 6,
    ears: 'scripted',
    quick,
    onSound: (atMs) => {
      soundMs ??= atMs;
      isQuiet = false;
    },
    onQuiet: () => (isQuiet = true),
  });
  const silence = new Int16Array(FRAME);
  const stop = side.ticker.subscribe(() => line.hear(silence));
  const found: number[] = [];
  for (let turn = 0; turn <= turns; turn++) {
    soundMs = null;
    const text = `A table for two please number ${String(turn)}`;
    await sleep(250 + ((turn * 7) % 20)); // at every phase of the ticker
    line.detect(true);
    await sleep(220);
    if (words === 'early') line.transcribe(text, true);
    await sleep(100); // whatever is begun early is begun
    line.detect(false);
    let startMs: number | null = null;
    if (words === 'late') {
      await sleep(400);
      startMs = side.clock.nowMs();
      line.transcribe(text, true);
    }
    await until(() => soundMs !== null, `turn ${String(turn)} is answered`);
    found.push((soundMs ?? Number.NaN) - (startMs ?? line.decidedMs()));
    await until(() => isQuiet, 'the answer is over');
  }
  stop();
  await line.close();
  return found;
}

/** What became of an agent that was spoken to. */
export interface Overheard {
  /** From the first sample of speech to the agent's silence, ms; null = it spoke on. */
  stopMs: number | null;
  /** From the last sample of speech until it was heard again, ms; null = it was not. */
  resumedMs: number | null;
}

/** Recorded interruptions whose words are known as soon as services know them. */
export async function interruptions(side: Side, quick: boolean): Promise<Overheard[]> {
  return inTurns(await recordings(), (recording) => speakOver(side, quick, recording));
}

/** The same voices, 0.8 s of each, and a recogniser that understands nothing. */
export async function falseAlarms(side: Side): Promise<Overheard[]> {
  const cut = (await recordings()).map((recording) => {
    const startMs = recording.turns[0]?.startMs ?? 0;
    const endMs = startMs + FALSE_ALARM_MS;
    const samples = recording.samples.slice(0, msToSamples(endMs, HEARING_RATE_HZ));
    return { ...recording, samples, words: [], turns: [{ startMs, endMs, text: '' }] };
  });
  const long = cut.filter(({ samples, turns: [turn] }) => {
    return samplesToMs(samples.length, HEARING_RATE_HZ) >= (turn?.endMs ?? 0) - 1;
  });
  return inTurns(long, (recording) => speakOver(side, false, recording));
}

function recordings(): Promise<LabelledRecording[]> {
  const folder = fileURLToPath(packageFile('fixtures/audio'));
  return readRecordings(folder, (name) => name.startsWith('interruptions/'));
}

/** So many at a time as there are lines. */
async function inTurns<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += LINES_SPOKEN_OVER) {
    results.push(...(await Promise.all(items.slice(at, at + LINES_SPOKEN_OVER).map(work))));
  }
  return results;
}

async function speakOver(side: Side, quick: boolean, recording: LabelledRecording): Promise<Overheard> {
  const [turn] = recording.turns;
  if (turn === undefined) throw new Error(`nobody speaks in ${recording.name}`);
  const sounds: number[] = [];
  const quiets: number[] = [];
  const line = await side.open({
    answer: STORY,
    charMs: 60,
    ears: 'silero',
    quick,
    onSound: (atMs) => sounds.push(atMs),
    onQuiet: (atMs) => quiets.push(atMs),
  });
  let at: number | null = null;
  const spoken = { startMs: Number.NaN, endMs: Number.NaN };
  const stop = eachTick(side.ticker, () => {
    const frame = new Int16Array(FRAME);
    const from = at;
    if (from !== null) {
      frame.set(recording.samples.subarray(from, from + FRAME));
      at = from + FRAME;
      // The frame's last sample is spoken now.
      const zeroMs = side.clock.nowMs() - samplesToMs(at, HEARING_RATE_HZ);
      const passes = (ms: number): boolean =>
        ms > samplesToMs(from, HEARING_RATE_HZ) && ms <= samplesToMs(from + FRAME, HEARING_RATE_HZ);
      if (passes(turn.startMs)) spoken.startMs = zeroMs + turn.startMs;
      if (passes(turn.endMs)) spoken.endMs = zeroMs + turn.endMs;
      tellWords(line, recording, turn.endMs, passes);
    }
    line.hear(frame);
    return true;
  });
  await sleep(200); // heard to be silent
  line.ask('Tell me about the trains.');
  await until(() => sounds.length > 0, 'the story begins');
  await sleep(BEFORE_MS);
  at = 0;
  await until(() => !Number.isNaN(spoken.endMs), 'the recording is over');
  const isUnderstood = (recording.words?.length ?? 0) > 0;
  await sleep(isUnderstood ? 400 : 3000);
  stop();
  await line.close();
  const quietMs = quiets.find((ms) => ms > spoken.startMs) ?? null;
  const soundMs = sounds.find((ms) => quietMs !== null && ms > quietMs) ?? null;
  return {
    stopMs: quietMs === null ? null : quietMs - spoken.startMs,
    resumedMs: isUnderstood || soundMs === null ? null : soundMs - spoken.endMs,
  };
}

/** @param passes whether a moment of the recording is in the frame that is being spoken */
function tellWords(line: Line, recording: LabelledRecording, endMs: number, passes: (ms: number) => boolean): void {
  const words = recording.words ?? [];
  const text = (count: number): string =>
    words
      .slice(0, count)
      .map(({ word }) => word)
      .join(' ');
  const finalMs = endMs + FINAL_MS;
  for (const [index, word] of words.entries()) {
    const interimMs = word.endMs + INTERIM_MS;
    if (interimMs < finalMs && passes(interimMs)) line.transcribe(text(index + 1), false);
  }
  if (passes(finalMs)) line.transcribe(text(words.length), true);
}
