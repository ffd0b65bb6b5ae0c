import { FRAME_MS, HEARING_RATE_HZ, samplesToMs } from '../audio/frame.js';
import { delay } from '../base/clock.js';
import { VirtualClock } from '../base/virtual-clock.js';
import type { Engine } from '../engine/engine.js';
import type { SessionRequest } from '../engine/options.js';
import type { SessionReport } from '../session/record/session-report.js';
import { openFileLine } from './lines/file-line.js';
import type { OpenLine } from './lines/line.js';
import { type SessionTimes, type MeasuredTurn, measureTurns } from './measured-turn.js';
import type { LabelledRecording } from './recording.js';

export interface PlayedRecording {
  turns: readonly MeasuredTurn[];
  report: SessionReport;
}

/** The agent may still be silent for so long after the last turn. */
const AFTER_MS = 6000;
/** What is left of the last answer is not waited for. */
const LAST_ANSWER_MS = 1000;
/** What is quieter in all of a frame is silence: -44 dB below full scale. */
const LOUD = 200;

/**
 * Plays a recording to an agent, frame by frame at its own pace, and measures each answer at the far end of the line: in
 * real time or, with an engine on a VirtualClock and a line that needs no network, in virtual time. The user hangs up 1 s
 * into the answer to the last turn, and at the latest 6 s after the recording is over.
 * @param request everything of the session but its line
 * @throws ParleyError as `Engine.createSession`; the signal's reason when it is aborted
 */
export async function playRecording(
  engine: Engine,
  recording: LabelledRecording,
  request: Omit<SessionRequest, 'transport' | 'observe'>,
  signal: AbortSignal,
  openLine: OpenLine = openFileLine,
): Promise<PlayedRecording> {
  signal.throwIfAborted();
  const { clock, ticker } = engine;
  const { samples } = recording;
  const heard = { finalsMs: [] as number[], soundsMs: [] as number[], toolsMs: [] as number[] } satisfies SessionTimes;
  /** When each frame of the recording was sent; its last sample was spoken then. */
  const sentMs: number[] = [];
  const line = await openLine({
    samples,
    clock,
    ticker,
    onSaid: (frames) => {
      for (let frame = 0; frame < frames; frame++) sentMs.push(clock.nowMs());
    },
    onHeard: (frame) => {
      if (frame?.some((sample) => Math.abs(sample) > LOUD) === true) heard.soundsMs.push(clock.nowMs());
    },
  });
  const spokenAt = (labelMs: number): number => {
    const index = Math.min(Math.max(Math.ceil(labelMs / FRAME_MS) - 1, 0), sentMs.length - 1);
    return (sentMs[index] ?? Number.NaN) - ((index + 1) * FRAME_MS - labelMs);
  };
  const lastMs = recording.turns.at(-1)?.endMs ?? 0;
  const isOver = (): boolean => sentMs.length * FRAME_MS >= lastMs && clock.nowMs() > spokenAt(lastMs);
  const over = new AbortController();
  const hangUpIn = (ms: number): void => {
    void delay(clock, ms, over.signal).then(
      () => line.hangUp(),
      () => undefined,
    );
  };
  const making = engine.createSession({
    ...request,
    transport: line.transport,
    observe: (event) => {
      if (event.type === 'transcript' && event.isFinal) heard.finalsMs.push(clock.nowMs());
      if (event.type === 'tool') heard.toolsMs.push(clock.nowMs());
      if (event.type === 'answered' && event.metrics.heard !== null && isOver()) hangUpIn(LAST_ANSWER_MS);
    },
  });
  const session = await making.catch(async (error: unknown) => {
    await line.hangUp();
    throw error;
  });
  const startMs = clock.nowMs();
  const onAbort = (): void => void session.close();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    let report: SessionReport | undefined;
    line.speak();
    const running = session.run().then((done) => (report = done));
    hangUpIn(samplesToMs(samples.length, HEARING_RATE_HZ) + AFTER_MS);
    if (clock instanceof VirtualClock) await clock.runUntil(() => report !== undefined);
    const done = await running;
    signal.throwIfAborted();
    const turns = recording.turns.map((turn) => ({
      text: turn.text,
      startMs: spokenAt(turn.startMs),
      endMs: spokenAt(turn.endMs),
    }));
    const moved = done.turns.map((turn) => ({
      ...turn,
      speechEndMs: turn.speechEndMs === null ? null : turn.speechEndMs + startMs,
      audioStartMs: turn.audioStartMs === null ? null : turn.audioStartMs + startMs,
    }));
    return { turns: measureTurns(recording.name, turns, moved, heard), report: done };
  } finally {
    over.abort();
    signal.removeEventListener('abort', onAbort);
    await line.hangUp();
    await session.close();
  }
}
