import type { TalkTurnTimes } from '../../transports/talk-protocol.js';

export type StageName = 'pause' | 'answer' | 'voice' | 'line';

/** A part of the response time. */
export interface ResponseStage {
  name: StageName;
  ms: number;
}

/** The stages of a response time, in order. */
export const STAGES: readonly { name: StageName; label: string; about: string }[] = [
  { name: 'pause', label: 'Your pause', about: 'from the end of your words until the turn counted as over' },
  { name: 'answer', label: 'Answer', about: 'until the language model had a first sentence' },
  { name: 'voice', label: 'Voice', about: 'until the first sound of that sentence was synthesised' },
  { name: 'line', label: 'Line', about: 'until that sound was sent' },
];

/** The stages of a turn that took time; empty without an answer. They add up to the response time. */
export function stagesOf(times: TalkTurnTimes): ResponseStage[] {
  const total = times.response_ms;
  if (total === null) return [];
  let left = Math.max(0, total);
  const take = (ms: number | null): number => {
    const taken = Math.min(left, Math.max(0, ms ?? 0));
    left -= taken;
    return taken;
  };
  const pause = take(times.end_of_turn_ms);
  const answer = take(times.first_sentence_ms ?? times.llm_first_ms);
  const voice = take(times.tts_first_ms);
  const stages: ResponseStage[] = [
    { name: 'pause', ms: pause },
    { name: 'answer', ms: answer },
    { name: 'voice', ms: voice },
    { name: 'line', ms: left },
  ];
  return stages.filter(({ ms }) => ms >= 0.5);
}

/** The median, null for no numbers. */
export function median(values: readonly number[]): number | null {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle];
  if (upper === undefined) return null;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

/** `840 ms` or `1.24 s`. */
export function duration(ms: number): string {
  return ms < 999.5 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(2)} s`;
}
