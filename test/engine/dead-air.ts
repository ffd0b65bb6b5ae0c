import { samplesToMs } from '../../src/audio/frame.js';
import { delay } from '../../src/base/clock.js';
import { RealClock } from '../../src/base/real-clock.js';
import type { Failover } from '../../src/settings/failover.js';
import type { ResolvedAgent } from '../../src/agent/resolve.js';
import { DEFAULT_CONVERSATION } from '../../src/agent/flow/conversation-config.js';
import { finalWait, Fallbacks } from '../../src/engine/fallbacks.js';
import { ParleyError } from '../../src/base/errors.js';
import { type Switch, switchText } from '../../src/providers/failover/health.js';
import type { LlmProvider } from '../../src/providers/llm/llm.js';
import type { SttProvider } from '../../src/providers/stt/stt.js';
import type { TtsProvider } from '../../src/providers/tts/tts.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { play, recording, saidBy } from '../session/support.js';

/** How a vendor fails: it says nothing, stops in the middle, answers with 503, answers with 401. */
export type Fault = 'none' | 'stall' | 'half' | 'down' | 'refused';
export type Stage = 'stt' | 'llm' | 'tts' | 'greeting';

export interface Case {
  /** `greeting`: the model that is to open the call. */
  stage: Stage;
  fault: Fault;
  /** So many of its requests (or streams) fail, from the caller's first words on; Infinity = for good. */
  times: number;
  /** Somebody is listed behind it. */
  second: boolean;
  /** Default true. */
  embeddedVoice?: boolean;
}

export interface Outcome {
  /** From the end of the caller's first words (of nothing: from the start) to the first sound of the agent; null = none came. */
  firstMs: number | null;
  /** The longest that nobody was to be heard while it was the agent's turn. */
  longestMs: number;
  /** What was heard of it in all, the greeting first. */
  said: string[];
  /** `error` = it gave up. */
  status: string;
  /** Who stood in for whom. */
  notes: string[];
}

const TURNS: readonly [fromMs: number, toMs: number][] = [
  [4000, 5200],
  [26_000, 27_200],
];
const WORDS = ['When are you open', 'And on Sunday'];
const LENGTH_MS = 46_000;
/** What is louder is heard. */
const QUIET = 200;
const STEP_MS = 5;
const SAMPLES_PER_MS = 16;

/** A call of two questions in virtual time, with a vendor for each stage, of which one fails. */
export async function deadAir({ stage, fault, times, second, embeddedVoice = true }: Case): Promise<Outcome> {
  const isGreeting = stage === 'greeting';
  const faulty = (of: Stage): (() => Fault) => {
    let left = of === stage || (isGreeting && of === 'llm') ? times : 0;
    return () => (left-- > 0 ? fault : 'none');
  };
  const stt = new Map([['ears', ears('ears', faulty('stt'))]]);
  const llm = new Map([['mind', mind('mind', faulty('llm'))]]);
  const tts = new Map([
    ['mouth', mouth('mouth', faulty('tts'))],
    ['flite', { ...toneTts({ firstMs: 30 }), name: 'flite' }],
    ['espeak-ng', { ...toneTts({ firstMs: 30 }), name: 'espeak-ng', speaks: () => Promise.resolve(false) }],
  ]);
  stt.set(
    'other-ears',
    ears('other-ears', () => 'none'),
  );
  llm.set(
    'other-mind',
    mind('other-mind', () => 'none'),
  );
  tts.set(
    'other-mouth',
    mouth('other-mouth', () => 'none'),
  );
  const failover: Failover = {
    stt: second ? [{ provider: 'other-ears' }] : [],
    llm: second ? ['other-mind'] : [],
    tts: second ? [{ provider: 'other-mouth' }] : [],
    embeddedVoice,
  };
  const notes: string[] = [];
  const found =
    <T>(all: Map<string, T>) =>
    (name: string) =>
      all.get(name) as T;
  const standIns = new Fallbacks({
    failover,
    clock: new RealClock(),
    refusalOf: () => null,
    providers: { stt: found(stt), llm: found(llm), tts: found(tts) },
  });
  const agent = {
    language: 'en-US',
    stt: { provider: 'ears', model: null, multilingual: false },
    voice: { provider: 'mouth', voiceId: null, model: null, settings: {} },
  } as unknown as ResolvedAgent;
  const onSwitch = (what: Switch): void => void notes.push(switchText(what));
  const turns = isGreeting ? [] : TURNS;
  const heardBy = standIns.stt(agent, onSwitch);
  const played = await play(recording(LENGTH_MS, ...turns), {
    stt: heardBy,
    llm: standIns.llm('mind', undefined, onSwitch),
    tts: standIns.tts(agent, onSwitch),
    conversation: {
      speculation: { ...DEFAULT_CONVERSATION.speculation, enabled: false },
      endpointing: { ...DEFAULT_CONVERSATION.endpointing, ...finalWait(heardBy) },
      ...(isGreeting && { opening: { firstMessage: null, userStarts: false, userStartTimeoutMs: 8000 } }),
    },
  });
  const heard = silences(played.audio, played.report.durationMs, turns);
  return { ...heard, said: saidBy(played), status: played.report.status, notes };
}

/** Of the agent's track, in each turn: until its first sound, and the longest silence before its last, or before the end. */
function silences(audio: Int16Array, durationMs: number, turns: typeof TURNS): Pick<Outcome, 'firstMs' | 'longestMs'> {
  let firstMs: number | null = null;
  let longestMs = 0;
  const owed = turns.length === 0 ? [0] : turns.map(([, toMs]) => toMs);
  for (const [at, fromMs] of owed.entries()) {
    const nextMs = turns[at + 1]?.[0] ?? LENGTH_MS;
    const toMs = Math.min(nextMs, durationMs);
    let quietSinceMs = fromMs;
    let wasLoud = false;
    for (let ms = fromMs; ms < toMs; ms += STEP_MS) {
      const samples = audio.subarray(ms * SAMPLES_PER_MS, (ms + STEP_MS) * SAMPLES_PER_MS);
      const isLoud = samples.some((value) => Math.abs(value) > QUIET);
      if (isLoud && !wasLoud) {
        if (at === 0) firstMs ??= ms - fromMs;
        longestMs = Math.max(longestMs, ms - quietSinceMs);
      } else if (wasLoud && !isLoud) quietSinceMs = ms;
      wasLoud = isLoud;
    }
    const brokeOff = durationMs < nextMs - STEP_MS;
    if (brokeOff && !wasLoud && toMs > fromMs) longestMs = Math.max(longestMs, toMs - quietSinceMs);
  }
  return { firstMs, longestMs };
}

const nothing = (): Promise<void> => Promise.resolve();
const failures = {
  down: (provider: string) => new ParleyError('PROVIDER_FAILED', { provider, reason: 'HTTP 503' }),
  refused: (provider: string) => new ParleyError('PROVIDER_REFUSED', { provider, reason: 'HTTP 401' }),
};

function ears(name: string, next: () => Fault): SttProvider {
  return {
    name,
    virtualTime: false,
    warmUp: nothing,
    close: nothing,
    open: async ({ clock, signal }, events) => {
      const fault = next();
      await delay(clock, 120, signal);
      if (fault === 'down' || fault === 'refused') throw failures[fault](name);
      let segment = 0;
      let startMs = 0;
      let over = false;
      const say = (text: string, isFinal: boolean, afterMs: number): void => {
        const mine = segment;
        clock.schedule(clock.nowMs() + afterMs, () => {
          if (!over) events.onTranscript({ segment: mine, text, isFinal, understood: true, confidence: 1 });
        });
      };
      const words = (): string => WORDS[TURNS.findIndex(([from, to]) => startMs >= from - 500 && startMs <= to)] ?? '';
      return {
        push: () => undefined,
        speechStarted: (sample) => {
          startMs = samplesToMs(sample, 16_000);
          if (fault !== 'stall') say(words().split(' ').slice(0, 2).join(' '), false, 300);
        },
        speechStopped: () => {
          if (fault === 'none') say(words(), true, 150);
          // As a vendor's stream does that gives no final words.
          else {
            clock.schedule(clock.nowMs() + 3000, () => {
              if (!over) events.onError(new ParleyError('PROVIDER_TIMEOUT', { provider: name, timeoutMs: 3000 }));
            });
          }
        },
        endTurn: () => void segment++,
        close: () => {
          over = true;
          return nothing();
        },
      };
    },
  };
}

function mind(name: string, next: () => Fault): LlmProvider {
  const well = functionLlm(
    ({ messages }) =>
      messages.at(-1)?.content === '[inaudible]'
        ? 'Sorry, I did not catch that.'
        : 'We open at noon. The kitchen closes at ten.',
    { firstMs: 300, pieceMs: 20 },
  );
  return {
    name,
    virtualTime: false,
    warmUp: nothing,
    close: nothing,
    async *complete(request) {
      const fault = next();
      if (fault === 'none') {
        yield* well.complete(request);
        return;
      }
      await delay(request.clock, 100, request.signal);
      if (fault === 'down' || fault === 'refused') throw failures[fault](name);
      if (fault === 'half') yield { type: 'text', text: 'We open at noon. And the' };
      await delay(request.clock, 60_000, request.signal);
      throw new ParleyError('PROVIDER_TIMEOUT', { provider: name, timeoutMs: 15_000 });
    },
  };
}

function mouth(name: string, next: () => Fault): TtsProvider {
  const well = toneTts({ firstMs: 150 });
  let greeted = false;
  return {
    ...well,
    name,
    virtualTime: false,
    async *synthesize(request) {
      const fault = greeted ? next() : 'none';
      greeted = true;
      if (fault === 'none') {
        yield* well.synthesize(request);
        return;
      }
      await delay(request.clock, 100, request.signal);
      if (fault === 'down' || fault === 'refused') throw failures[fault](name);
      if (fault === 'half') {
        for await (const { samples, sampleRateHz } of well.synthesize(request)) {
          yield { samples: samples.subarray(0, samples.length / 2), sampleRateHz };
        }
      }
      await delay(request.clock, fault === 'half' ? 5000 : 8000, request.signal);
      throw new ParleyError('PROVIDER_TIMEOUT', { provider: name, timeoutMs: 8000 });
    },
  };
}
