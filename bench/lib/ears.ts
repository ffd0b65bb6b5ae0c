import { frameSamples, HEARING_RATE_HZ, samplesToMs } from '../../dist/audio/frame.js';
import { VirtualClock } from '../../dist/base/virtual-clock.js';
import { loadAgentFile } from '../../dist/agent/agent-file.js';
import { resolveAgent } from '../../dist/agent/resolve.js';
import type { ConversationEvent } from '../../dist/conversation/events.js';
import { speechHints } from '../../dist/engine/session-factory.js';
import { parseScript, speechHints as scriptHints } from '../../dist/providers/llm/scripted/index.js';
import { EmbeddedStt } from '../../dist/providers/stt/embedded/provider.js';
import type { SpeechHints, SttStream } from '../../dist/providers/stt/stt.js';
import type { TurnModel } from '../../dist/providers/turn/turn.js';
import { vadProvider } from '../../dist/providers/vad/registry.js';
import { Hearing } from '../../dist/session/hearing/hearing.js';
import { TurnJudge } from '../../dist/session/hearing/turn-judge.js';
import { MIN_PAUSE_MS, type Stretch, type Turn } from './turns.js';

/** What a session's core would learn of a turn, and when, in ms from its first sample. */
export interface Judged {
  atMs: number;
  event: ConversationEvent;
}

type Listener = Pick<SttStream, 'push' | 'speechStarted' | 'speechStopped'>;

const FRAME = frameSamples(HEARING_RATE_HZ);
const NOBODY: Listener = { push: () => undefined, speechStarted: () => undefined, speechStopped: () => undefined };
/** An interim transcript comes so long after each labelled word. */
const INTERIM_MS = 150;

/** A session's ears (resampler, keypad detector, Silero), and the labelled words as what an ideal recogniser gives. */
export async function labelledEars(
  finalMs: number,
  interimMs = INTERIM_MS,
  turnModel: TurnModel | null = null,
): Promise<(turn: Turn) => Promise<Judged[]>> {
  await Promise.all([vadProvider('silero').warmUp(), turnModel?.warmUp()]);
  return async (turn) => {
    const clock = new VirtualClock();
    const judged: Judged[] = [];
    const judge = turnModel === null ? null : judgeOf(turnModel, turn.language, clock, judged);
    const edges = await listen(turn.audio, judge ?? NOBODY, clock);
    judge?.close();
    return inOrder([...edges, ...judged, ...transcripts(turn.words, edges, finalMs, interimMs)]);
  };
}

/** An audio model beside them, as in a session. */
function judgeOf(model: TurnModel, language: string, clock: VirtualClock, judged: Judged[]): TurnJudge {
  const context = {
    clock,
    emit: (event: ConversationEvent) => void judged.push({ atMs: clock.nowMs(), event }),
    fault: (_name: string, reason: string) => {
      throw new Error(reason);
    },
  };
  return new TurnJudge(context, { model, language: () => language });
}

/** The same ears with the embedded recogniser, which expects what the demo agent's callers say. */
export async function embeddedEars(agentPath: string): Promise<{
  ears: (turn: Turn) => Promise<Judged[]>;
  close: () => Promise<void>;
}> {
  const stt = new EmbeddedStt();
  await Promise.all([stt.warmUp(), vadProvider('silero').warmUp()]);
  const hints = await hintsOf(agentPath);
  const ears = async (turn: Turn): Promise<Judged[]> => {
    if (turn.language !== 'en') return [];
    const clock = new VirtualClock();
    const reported: Judged[] = [];
    const onTranscript = ({ segment, text, isFinal, understood }: Extract<ConversationEvent, { type: 'transcript' }>) =>
      reported.push({ atMs: clock.nowMs(), event: { type: 'transcript', segment, text, isFinal, understood } });
    const onError = (error: Error): never => {
      throw error;
    };
    const opening = stt.open(
      { language: 'en-US', hints, clock, signal: new AbortController().signal },
      { onTranscript: (transcript) => onTranscript({ type: 'transcript', ...transcript }), onError },
    );
    await clock.advanceTo(0); // virtual time stands still until it is open
    const stream = await opening;
    const edges = await listen(turn.audio, stream, clock);
    await stream.close();
    return inOrder([...edges, ...reported]);
  };
  return { ears, close: () => stt.close() };
}

/**
 * The pauses inside a turn: as labelled or, where the labels do not mark them, the silences that the VAD hears while its
 * speaker has the floor.
 */
export function pausesOf(turn: Turn, reported: readonly Judged[]): readonly Stretch[] {
  if (turn.pauses !== null) return turn.pauses;
  const edges = reported.map(({ event }) => event);
  return edges.flatMap((event, at) => {
    if (event.type !== 'speech.stopped') return [];
    const next = edges.slice(at).find((later) => later.type === 'speech.started');
    if (next?.type !== 'speech.started' || next.startMs >= turn.endMs) return [];
    const pause = { startMs: event.endMs, endMs: next.startMs };
    return pause.endMs - pause.startMs >= MIN_PAUSE_MS ? [pause] : [];
  });
}

async function hintsOf(agentPath: string): Promise<SpeechHints> {
  const { config, script } = await loadAgentFile(agentPath);
  return speechHints(resolveAgent(config), script === undefined ? null : scriptHints(parseScript(script)));
}

async function listen(audio: Int16Array, stt: Listener, clock: VirtualClock): Promise<Judged[]> {
  const edges: Judged[] = [];
  const hearing = new Hearing(
    {
      nowMs: () => clock.nowMs(),
      emit: (event) => event.type !== 'digits' && edges.push({ atMs: clock.nowMs(), event }),
    },
    {
      inputRateHz: HEARING_RATE_HZ,
      vad: vadProvider('silero').createDetector(),
      stt,
      vadThreshold: 0.5,
    },
  );
  for (let at = 0; at < audio.length; at += FRAME) {
    const frame = audio.subarray(at, at + FRAME);
    await clock.advanceTo(samplesToMs(at + frame.length, HEARING_RATE_HZ));
    hearing.audio(frame);
  }
  hearing.close();
  return edges;
}

/**
 * An interim transcript after each word and the final one `finalMs` after the end of speech, in lower case without
 * punctuation. Where the words are not known the final one is empty: speech of which nothing was understood.
 */
function transcripts(words: Turn['words'], edges: readonly Judged[], finalMs: number, afterWordMs: number): Judged[] {
  const reported: Judged[] = [];
  let segment = -1;
  let said = 0;
  let startMs = 0;
  for (const { atMs, event } of edges) {
    if (event.type === 'speech.started') {
      segment++;
      startMs = atMs;
    }
    if (event.type !== 'speech.stopped') continue;
    const spoken = (words ?? []).slice(said).filter((word) => (word.startMs + word.endMs) / 2 < event.endMs);
    said += spoken.length;
    const tell = (at: number, count: number, isFinal: boolean): void => {
      const text = spoken
        .slice(0, count)
        .map(({ word }) => word)
        .join(' ');
      const understood = words !== null;
      reported.push({ atMs: at, event: { type: 'transcript', segment, text, isFinal, understood } });
    };
    const finalAtMs = Math.max(atMs, event.endMs + finalMs);
    for (const [index, word] of spoken.entries()) {
      const interimMs = Math.max(startMs, word.endMs + afterWordMs);
      if (interimMs < finalAtMs) tell(interimMs, index + 1, false);
    }
    tell(finalAtMs, spoken.length, true);
  }
  return reported;
}

/** By time; what comes at the same moment stays as it is. */
function inOrder(reported: Judged[]): Judged[] {
  return reported.sort((a, b) => a.atMs - b.atMs);
}
