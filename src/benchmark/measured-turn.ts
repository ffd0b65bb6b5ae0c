import type { TurnMetrics } from '../session/record/session-metrics.js';
import type { RecordedTurn } from './recording.js';

/**
 * What an answer's time is made of, in its order. They add up to the response time, but for the recogniser's, which lies
 * within the first.
 *
 * - `endOfTurn`: end of the user's speech (label) to the decision that the turn is over.
 * - `sttFinal`: end of the user's speech to the final transcript. Part of the one before.
 * - `llm`: decision to the model's first piece; 0 where that was there by then.
 * - `sentence`: to the first sentence that the voice gets.
 * - `tts`: to its first audio.
 * - `playout`: to the first frame of it at the far end of the line; with an answer that was begun early, from the decision.
 */
export const STAGES = ['endOfTurn', 'sttFinal', 'llm', 'sentence', 'tts', 'playout'] as const;

export type LatencyStage = (typeof STAGES)[number];

/**
 * - `answered`: the agent spoke after the turn and before the next one.
 * - `cut off`: it spoke before the turn was over.
 * - `unanswered`: it did neither, or was still speaking when the turn began.
 */
export type TurnOutcome = 'answered' | 'cut off' | 'unanswered';

/** One labelled turn of a recording, and how long its answer took. Times in ms. */
export interface MeasuredTurn {
  recording: string;
  /** Of the recording, from 0. */
  index: number;
  outcome: TurnOutcome;
  /** A tool was called before the answer. */
  tool: boolean;
  /** The answer had been begun before the turn was decided. */
  speculative: boolean;
  /** End of the user's speech (label) to the first frame of the answer at the far end of the line; null without answer. */
  responseMs: number | null;
  stages: Readonly<Record<LatencyStage, number | null>>;
}

/** What happened in a session beside its turns, in ms of the clock by which the recording was played. */
export interface SessionTimes {
  finalsMs: readonly number[];
  /** When each frame came to the far end of the line in which the agent sounds. */
  soundsMs: readonly number[];
  /** When tools were called. */
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
/** Labels are that exact; what comes sooner answers nothing of it. */
const SLACK_MS = 20;
const ROUNDING_MS = 1;

/**
 * What became of each turn of a recording.
 * @param turns labelled, in ms of the same clock as all else
 * @param answers the session's own account, its times moved to that clock
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
    // Of what the agent said before nothing comes behind the moment at which the session gave its line the answer.
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
