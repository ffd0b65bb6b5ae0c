import { frameSamples, HEARING_RATE_HZ, msToSamples, samplesToMs } from '../../dist/audio/frame.js';
import { timedLlm } from '../../dist/benchmark/doubles/recorded-stt.js';
import { doubles, PUBLISHED } from '../../dist/benchmark/provider-set.js';
import type { LabelledRecording } from '../../dist/benchmark/recording.js';
import { delay } from '../../dist/base/clock.js';
import { VirtualClock } from '../../dist/base/virtual-clock.js';
import { Engine } from '../../dist/engine/engine.js';
import type { TtsProvider } from '../../dist/providers/tts/tts.js';
import { MemoryTransport } from '../../dist/transports/memory.js';

/** What became of an agent that somebody spoke to while it was speaking. Times in ms. */
export interface TalkedOver {
  name: string;
  /** From the first sample of the sound that came in to the last one that was sent; null = it spoke on. */
  stopMs: number | null;
  /** What came in was taken as a turn: the agent does not go on with what it was saying. */
  taken: boolean;
  /** From the end of what came in to the first sample of the answer; null = it was not taken, or not answered. */
  answerMs: number | null;
  /** How long it was silent before it went on; null where it did not stop, or did not go on. */
  heldMs: number | null;
  /** By how many samples it missed the one at which it had stopped; null as `heldMs`. */
  offSamples: number | null;
}

const STORY =
  'The first train leaves at six in the morning and goes along the river as far as the old mill, where it waits for ' +
  'the bus from the harbour before it climbs through the woods to the lake and the village with the white church, ' +
  'and there the guests get out to look at the view and to drink something before the way back down.';
/** The agent has been speaking for so long when somebody speaks. */
const BEFORE_MS = 3000;
const AFTER_MS = 7000;
/** The pause between two clauses is shorter. */
const BREATH_FRAMES = 6;
/** A fade is over by then. */
const STEADY = 160;
/** The voice's wave: a ramp, by which a sample tells its own place. */
const RAMP = 24_000;

/**
 * An agent tells a story, a recording is played over it, in virtual time.
 * @param embedded the embedded recogniser listens, in place of a double that knows the words
 */
export async function talkOver(recording: LabelledRecording, embedded: boolean): Promise<TalkedOver> {
  const clock = new VirtualClock();
  const engine = new Engine({ clock });
  const frame = frameSamples(HEARING_RATE_HZ);
  const frames: { atMs: number; samples: Int16Array | null }[] = [];
  const transport = new MemoryTransport({
    onFrame: (samples) => frames.push({ atMs: clock.nowMs(), samples: samples?.slice() ?? null }),
  });
  let turns = 0;
  const { stt } = doubles(shifted(recording), { times: PUBLISHED, seed: 1 });
  const session = await engine.createSession({
    agent: { prompt: 'You tell of trains.', flow: { user_start_first: true } },
    transport,
    tts: rampTts(),
    ...(!embedded && stt && { stt }),
    llm: timedLlm({ answers: [STORY, STORY], firstMs: () => 300, pieceMs: 5 }),
    observe: (event) => {
      if (event.type === 'user') turns++;
    },
  });
  let over = false;
  const running = session.run().then(() => (over = true));
  session.sendText('Tell me about the trains.');
  await clock.runUntil(() => frames.some(({ samples }) => samples !== null));
  const startMs = clock.nowMs() + BEFORE_MS;
  let at = -msToSamples(BEFORE_MS, HEARING_RATE_HZ);
  const stop = engine.ticker.subscribe(() => {
    const piece = new Int16Array(frame);
    if (at >= 0) piece.set(recording.samples.subarray(at, at + frame));
    transport.pushAudio(piece);
    at += frame;
  });
  const asked = turns;
  const onsetMs = startMs + (recording.turns[0]?.startMs ?? 0);
  const lengthMs = samplesToMs(recording.samples.length, HEARING_RATE_HZ);
  await clock.advanceTo(startMs + lengthMs + AFTER_MS);
  const taken = turns > asked;
  stop();
  transport.hangUp();
  await clock.runUntil(() => over);
  await running;
  await engine.close();
  return {
    name: recording.name,
    taken,
    ...outcome(frames, onsetMs, taken, startMs + (recording.turns.at(-1)?.endMs ?? lengthMs)),
  };

  /** Its words, on the session's count: the audio begins when the agent has been asked. */
  function shifted(of: LabelledRecording): LabelledRecording {
    return {
      ...of,
      words:
        of.words?.map((word) => ({ ...word, startMs: word.startMs + BEFORE_MS, endMs: word.endMs + BEFORE_MS })) ?? [],
    };
  }
}

function outcome(
  frames: readonly { atMs: number; samples: Int16Array | null }[],
  onsetMs: number,
  taken: boolean,
  spokenMs: number,
): Pick<TalkedOver, 'stopMs' | 'answerMs' | 'heldMs' | 'offSamples'> {
  const isSilent = (from: number): boolean =>
    frames.slice(from, from + BREATH_FRAMES).every(({ samples }) => !isFull(samples));
  const first = frames.findIndex(({ atMs, samples }, index) => atMs > onsetMs && !isFull(samples) && isSilent(index));
  const before = frames[first - 1]?.samples;
  if (first < 1 || before == null) return { stopMs: null, answerMs: null, heldMs: null, offSamples: null };
  const endMs = frames[first]?.atMs ?? 0;
  const stopMs = endMs - onsetMs;
  const again = frames.findIndex(({ samples }, index) => index > first && isFull(samples));
  const resumed = frames[again];
  const answerMs = taken && resumed !== undefined ? Math.max(0, resumed.atMs - spokenMs) : null;
  if (taken || resumed?.samples == null) return { stopMs, answerMs, heldMs: null, offSamples: null };
  const next = placeOf(before.at(-1) ?? 0) + 1;
  const offset = STEADY;
  const came = placeOf(resumed.samples[offset] ?? 0) - offset;
  const off = (((came - next) % RAMP) + RAMP) % RAMP;
  return { stopMs, answerMs, heldMs: resumed.atMs - endMs, offSamples: Math.min(off, RAMP - off) };
}

/** Sound in all of it; the tail of what was cut is in the first part of a frame only. */
function isFull(samples: Int16Array | null): boolean {
  if (samples === null) return false;
  return samples.subarray(samples.length - 40).some((sample) => sample !== 0);
}

function placeOf(sample: number): number {
  return sample + RAMP / 2;
}

/** Every sample is one more than the one before, around and around. */
function rampTts(): TtsProvider {
  let at = 0;
  return {
    name: 'ramp',
    virtualTime: true,
    warmUp: () => Promise.resolve(),
    close: () => Promise.resolve(),
    voices: () => [{ id: 'ramp', name: 'Ramp', language: 'en-US', sampleRateHz: HEARING_RATE_HZ }],
    async *synthesize({ text, clock, signal }) {
      await delay(clock, 50, signal);
      const samples = new Int16Array(msToSamples(text.length * 60, HEARING_RATE_HZ));
      for (let index = 0; index < samples.length; index++) samples[index] = (at++ % RAMP) - RAMP / 2;
      const words = [...text.matchAll(/\S+/g)].map(({ 0: word, index }) => ({
        text: word,
        startMs: index * 60,
        endMs: (index + word.length) * 60,
      }));
      yield { samples, sampleRateHz: HEARING_RATE_HZ, words };
    },
  };
}
