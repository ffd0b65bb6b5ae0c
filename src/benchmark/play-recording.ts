import { FRAME_MS, frameSamples, HEARING_RATE_HZ, samplesToMs } from '../audio/frame.js';
import { delay } from '../clock/clock.js';
import { VirtualClock } from '../clock/virtual.js';
import type { Engine } from '../engine/engine.js';
import type { SessionRequest } from '../engine/options.js';
import type { SessionReport } from '../session/session-report.js';
import { MemoryTransport } from '../transports/memory.js';
import { type Heard, type MeasuredTurn, measureTurns } from './measured-turn.js';
import type { Recording } from './recording.js';

export interface PlayedRecording {
  turns: readonly MeasuredTurn[];
  report: SessionReport;
}

/** The agent may still be silent for so long after the last turn, or speak. */
const AFTER_MS = 6000;

/**
 * Plays a recording to an agent, frame by frame at its own pace, and measures each answer at the line: in real time or,
 * with an engine on a VirtualClock, in virtual time. The user hangs up 6 s after the recording is over.
 * @param request everything of the session but its line
 * @throws ParleyError as `Engine.createSession`; the signal's reason when it is aborted
 */
export async function playRecording(
  engine: Engine,
  recording: Recording,
  request: Omit<SessionRequest, 'transport' | 'observe'>,
  signal: AbortSignal,
): Promise<PlayedRecording> {
  signal.throwIfAborted();
  const { clock, ticker } = engine;
  const { samples } = recording;
  const frame = frameSamples(HEARING_RATE_HZ);
  const heard = { finalsMs: [] as number[], soundsMs: [] as number[], toolsMs: [] as number[] } satisfies Heard;
  /** When each frame of the recording was given to the session; its last sample was spoken then. */
  const sentMs: number[] = [];
  let quiet = true;
  const transport = new MemoryTransport({
    onFrame: (out) => {
      if (out !== null && quiet) heard.soundsMs.push(clock.nowMs());
      quiet = out === null;
    },
  });
  const session = await engine.createSession({
    ...request,
    transport,
    observe: (event) => {
      if (event.type === 'transcript' && event.isFinal) heard.finalsMs.push(clock.nowMs());
      if (event.type === 'tool') heard.toolsMs.push(clock.nowMs());
    },
  });
  let at = 0;
  const stop = ticker.subscribe((skipped) => {
    // A tick that the machine was too late for is made up, as a line would.
    for (let missed = 0; missed <= skipped && at < samples.length; missed++) {
      sentMs.push(clock.nowMs());
      transport.pushAudio(padded(samples.subarray(at, at + frame), frame));
      at += frame;
    }
  });
  const startMs = clock.nowMs();
  const hangUp = new AbortController();
  const onAbort = (): void => void session.close();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    let report: SessionReport | undefined;
    const running = session.run().then((done) => (report = done));
    const lengthMs = samplesToMs(samples.length, HEARING_RATE_HZ) + AFTER_MS;
    void delay(clock, lengthMs, hangUp.signal).then(
      () => transport.hangUp(),
      () => undefined,
    );
    if (clock instanceof VirtualClock) await clock.runUntil(() => report !== undefined);
    const done = await running;
    signal.throwIfAborted();
    const spokenAt = (labelMs: number): number => {
      const index = Math.min(Math.max(Math.ceil(labelMs / FRAME_MS) - 1, 0), sentMs.length - 1);
      return (sentMs[index] ?? Number.NaN) - ((index + 1) * FRAME_MS - labelMs);
    };
    const turns = recording.turns.map((turn) => ({
      ...{ text: turn.text, startMs: spokenAt(turn.startMs), endMs: spokenAt(turn.endMs) },
    }));
    const moved = done.turns.map((turn) => ({
      ...turn,
      speechEndMs: turn.speechEndMs === null ? null : turn.speechEndMs + startMs,
      audioStartMs: turn.audioStartMs === null ? null : turn.audioStartMs + startMs,
    }));
    return { turns: measureTurns(recording.name, turns, moved, heard), report: done };
  } finally {
    hangUp.abort();
    stop();
    signal.removeEventListener('abort', onAbort);
    await session.close();
  }
}

function padded(samples: Int16Array, length: number): Int16Array {
  if (samples.length === length) return samples.slice();
  const whole = new Int16Array(length);
  whole.set(samples);
  return whole;
}
