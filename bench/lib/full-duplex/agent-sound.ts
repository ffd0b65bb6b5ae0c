import { frameSamples, HEARING_RATE_HZ, samplesToMs } from '../../../dist/audio/frame.js';
import { timedLlm } from '../../../dist/benchmark/doubles/recorded-stt.js';
import { doubles, PUBLISHED } from '../../../dist/benchmark/provider-set.js';
import type { LabelledRecording } from '../../../dist/benchmark/recording.js';
import { VirtualClock } from '../../../dist/base/virtual-clock.js';
import { Engine } from '../../../dist/engine/engine.js';
import { MemoryTransport } from '../../../dist/transports/memory.js';
import type { Stretch } from '../turns.js';

/** Longer than what counts as a backchannel. */
const ANSWER = 'That is no problem at all, I will see to it at once and send you a message.';
/** What is heard behind the recording. */
const AFTER_MS = 6000;
/** A shorter silence of the agent is a breath. */
const BREATH_MS = 500;

/**
 * When an agent speaks while a recording is its user, in virtual time with vendors' published latencies. Times in ms from
 * the recording's first sample.
 * @param embedded the embedded recogniser listens, in place of a double that knows the words
 */
export async function agentSound(recording: LabelledRecording, embedded: boolean): Promise<Stretch[]> {
  const clock = new VirtualClock();
  const engine = new Engine({ clock });
  const frame = frameSamples(HEARING_RATE_HZ);
  const frameMs = samplesToMs(frame, HEARING_RATE_HZ);
  const stretches: Stretch[] = [];
  const transport = new MemoryTransport({
    onFrame: (samples) => {
      if (samples === null) return; // the agent is silent; the voice of the doubles may be, too
      const startMs = clock.nowMs();
      const last = stretches.at(-1);
      if (last !== undefined && startMs - last.endMs < BREATH_MS) last.endMs = startMs + frameMs;
      else stretches.push({ startMs, endMs: startMs + frameMs });
    },
  });
  const { stt, tts } = doubles(recording, { times: PUBLISHED, seed: 1 });
  const request: Parameters<Engine['createSession']>[0] = {
    agent: { prompt: 'You answer.', flow: { user_start_first: true } },
    transport,
    llm: timedLlm({ answers: [ANSWER], firstMs: () => PUBLISHED.llmFirst.p50Ms, pieceMs: PUBLISHED.llmWordMs }),
  };
  if (tts !== undefined) request.tts = tts;
  if (!embedded && stt !== undefined) request.stt = stt;
  const session = await engine.createSession(request);
  let over = false;
  const running = session.run().then(() => (over = true));
  let at = 0;
  const stop = engine.ticker.subscribe(() => {
    const piece = new Int16Array(frame);
    piece.set(recording.samples.subarray(at, at + frame));
    transport.pushAudio(piece);
    at += frame;
  });
  const beganMs = clock.nowMs();
  await clock.advanceTo(beganMs + samplesToMs(recording.samples.length, HEARING_RATE_HZ) + AFTER_MS);
  stop();
  transport.hangUp();
  await clock.runUntil(() => over);
  await running;
  await engine.close();
  return stretches.map(({ startMs, endMs }) => ({ startMs: startMs - beganMs, endMs: endMs - beganMs }));
}
