import type { Stretch } from '../turns.js';

/**
 * Full-Duplex-Bench's definitions (Lin et al., 2025, arXiv 2503.04721; its evaluation programs): speech of an agent is a
 * takeover from a second on, or with more than three words, which takes about as long; anything shorter is a backchannel.
 */
const TAKEOVER_MS = 1000;

export interface Answered {
  /** Whether the agent took the turn. */
  taken: boolean;
  /** From the end of the user's speech to the agent's first sample, at least 0; null = it did not take the turn. */
  latencyMs: number | null;
}

/** Whether the agent takes the turn between two moments, as in the middle of the user's. */
export function takesOver(agent: readonly Stretch[], from: number, to: number): boolean {
  return agent.some(({ startMs, endMs }) => startMs >= from && startMs < to && isTakeover({ startMs, endMs }));
}

/** The agent's answer to what ends at `endMs`; `sinceMs` = what began before belongs to something else. */
export function answerTo(agent: readonly Stretch[], endMs: number, sinceMs: number): Answered {
  const answer = agent.find((stretch) => stretch.startMs >= sinceMs && isTakeover(stretch));
  if (answer === undefined) return { taken: false, latencyMs: null };
  return { taken: true, latencyMs: Math.max(0, answer.startMs - endMs) };
}

/** Backchannels of the agent in a stretch, for each second of it. */
export function backchannelRate(agent: readonly Stretch[], { startMs, endMs }: Stretch): number {
  const short = agent.filter((one) => !isTakeover(one) && one.startMs >= startMs && one.startMs < endMs);
  return short.length / ((endMs - startMs) / 1000);
}

function isTakeover({ startMs, endMs }: Stretch): boolean {
  return endMs - startMs >= TAKEOVER_MS;
}
