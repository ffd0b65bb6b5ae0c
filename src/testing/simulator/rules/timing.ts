import type { ConversationConfig } from '../../../agent/conversation-config.js';
import type { ConversationEffect } from '../../../conversation/events.js';
import { check, type Rule, type Step } from './rule.js';

/** Fillers come no closer than this, see `filler`. */
const FILLER_REPEAT_MS = 4000;
/** The end of an utterance comes with its last frame. */
const FRAME_MS = 20;

/** Nothing comes before its time: answers, fillers, questions whether the user is there. */
export class Timing implements Rule {
  readonly #config: ConversationConfig;
  #turnEndMs = Infinity;
  #speechEndMs = 0;
  #fillerMs = -Infinity;
  #speaking = false;
  #playedToMs = 0;

  constructor(config: ConversationConfig) {
    this.#config = config;
  }

  onStep(step: Step): void {
    for (const effect of step.effects) this.#see(effect, step);
    const { turn, deadlines } = step.state;
    this.#turnEndMs = deadlines['turn.end'] ?? Infinity;
    this.#speechEndMs = turn.endMs;
    this.#speaking = turn.speaking;
  }

  onPlayed(_utteranceId: number, _fromMs: number, toMs: number): void {
    this.#playedToMs = toMs;
  }

  #see(effect: ConversationEffect, { atMs, event, state }: Step): void {
    if (effect.type === 'user.said' && event.type === 'time' && this.#turnEndMs <= atMs && !this.#speaking) {
      const waitedMs = atMs - this.#speechEndMs;
      const leastMs = this.#config.endpointing.responseDelayMs;
      check(waitedMs >= leastMs, 'an answer waits for the response delay', () => `${String(waitedMs)} ms`);
    }
    if (effect.type !== 'speak') return;
    if (effect.kind === 'filler') {
      check(atMs - this.#fillerMs >= FILLER_REPEAT_MS, 'fillers keep their distance');
      check(!state.turn.speaking, 'no filler while the user speaks');
      check(atMs >= this.#playedToMs - FRAME_MS, 'no filler while the agent speaks');
      this.#fillerMs = atMs;
    } else if (effect.kind === 'prompt') {
      const { inactivity } = this.#config;
      const silentMs = atMs - this.#playedToMs;
      check(inactivity !== null && silentMs >= inactivity.idleMs - FRAME_MS, 'the agent asks only after silence');
    }
  }
}
