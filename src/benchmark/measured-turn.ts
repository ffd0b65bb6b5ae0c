import type { TurnMetrics } from '../session/record/session-metrics.js';
import type { RecordedTurn } from './recording.js';

/**
 * The stages of a response time, in order. All but `sttFinal`, which lies within `endOfTurn`, add up to it.
 *
 * - `endOfTurn`: from the end of the user's speech (label) to the decision that the turn is over.
 * - `sttFinal`: from the end of the user's speech to the final transcript.
 * - `llm`: from the decision to the model's first piece; 0 if it arrived before.
 * - `sentence`: to the first sentence sent to the voice.
 * - `tts`: to its first audio.
 * - `playout`: to its first frame at the far end of the line; for a speculative answer, from the decision.
 */
export const STAGES = ['endOfTurn', 'sttFinal', 'llm', 'sentence', 'tts', 'playout'] as const;

export type LatencyStage = (typeof STAGES)[number];

/**
 * - `answered`: the agent spoke after the turn and before the next one.
 * - `cut off`: it spoke before the turn was over.
 * - `unanswered`: it did neither, or was still speaking when the turn began.
 */
export type TurnOutcome = 'answered' | 'cut off' | 'unanswered';

/** One labelled turn of a recording, and the time of its answer. Times in ms. */
export interface MeasuredTurn {
  recording: string;
  /** In the recording, from 0. */
  index: number;
  outcome: TurnOutcome;
  /** A tool was called before the answer. */
  tool: boolean;
  /** The answer started before the decision that the turn is over. */
  speculative: boolean;
  /** From the end of the user's speech (label) to the answer's first frame at the far end of the line; null = none. */
  responseMs: number | null;
  stages: Readonly<Record<LatencyStage, number | null>>;
}

/** Times of a session's events, in ms of the clock of the playback. */
export interface SessionTimes {
  finalsMs: readonly number[];
  /** Arrivals of the agent's audible frames at the far end of the line. */
  soundsMs: readonly number[];
  /** Tool calls. */
  toolsMs: readonly number[];
}

const NO_STAGES: MeasuredTurn['stages'] = {
  endOfTurn: null,
  sttFinal: null,
  llm: null,
  sentence: null,
  tts: null,
  playout: null,
};
/** Precision of labels. */
const SLACK_MS = 20;
const ROUNDING_MS = 1;

/**
 * Measures each turn of a recording.
 * @param turns labelled turns; all times are in ms of the same clock
 * @param answers the turns of the session's report
 */
export function measureTurns(
  recording: string,
  turns: readonly RecordedTurn[],
  answers: readonly TurnMetrics[],
  heard: SessionTimes,
): MeasuredTurn[] {
  return turns.map((turn, index) => {
    const untilMs = turns[index + 1]?.startMs ?? Number.POSITIVE_INFINITY;
    const base = { recording, index, tool: false, speculative: false, responseMs: null, stages: NO_STAGES };
    const within = (ms: number, fromMs: number, toMs: number): boolean => ms > fromMs && ms < toMs;
    const startedIn = (fromMs: number, toMs: number): TurnMetrics | undefined =>
      answers.find(({ heard: words, audioStartMs }) => words !== null && within(audioStartMs ?? -1, fromMs, toMs));
    if (startedIn(turn.startMs + SLACK_MS, turn.endMs - SLACK_MS) !== undefined) return { ...base, outcome: 'cut off' };
    const answer = startedIn(turn.endMs - SLACK_MS, untilMs);
    // Frames of earlier utterances arrive before the session gives the answer to the line.
    const fromMs = (answer?.audioStartMs ?? Number.POSITIVE_INFINITY) - ROUNDING_MS;
    const frameMs = heard.soundsMs.find((ms) => ms >= fromMs && ms < untilMs);
    if (answer === undefined || frameMs === undefined) return { ...base, outcome: 'unanswered' };
    const stages = stagesOf(answer, turn.endMs, frameMs, heard.finalsMs);
    return {
      ...base,
      outcome: 'answered',
      tool: heard.toolsMs.some((ms) => within(ms, turn.startMs, frameMs)),
      speculative: answer.speculative,
      responseMs: frameMs - turn.endMs,
      stages,
    };
  });
}

function stagesOf(
  answer: TurnMetrics,
  endMs: number,
  frameMs: number,
  finalsMs: readonly number[],
): MeasuredTurn['stages'] {
  const { speechEndMs, endOfTurnMs, llmFirstMs, firstSentenceMs, ttsFirstMs } = answer;
  if (speechEndMs === null || endOfTurnMs === null) return { ...NO_STAGES };
  const decidedMs = speechEndMs + endOfTurnMs;
  const sentenceMs = firstSentenceMs ?? 0;
  const llmMs = Math.min(llmFirstMs ?? 0, sentenceMs);
  const readyMs = decidedMs + sentenceMs + (ttsFirstMs ?? 0);
  const finalMs = finalsMs.find((ms) => ms > endMs && ms <= decidedMs + 1);
  return {
    endOfTurn: decidedMs - endMs,
    sttFinal: finalMs === undefined ? null : finalMs - endMs,
    llm: llmMs,
    sentence: sentenceMs - llmMs,
    tts: ttsFirstMs ?? 0,
    playout: frameMs - readyMs,
  };
}
