import type { ConversationConfig } from '../../../agent/conversation-config.js';
import type { ConversationEffect, ConversationEvent, PlayoutPosition } from '../../../conversation/events.js';
import type { ConversationState } from '../../../conversation/state.js';

/** One step of a conversation, as a rule sees it: the effects have not been carried out yet. */
export interface Step {
  atMs: number;
  event: ConversationEvent;
  position: PlayoutPosition;
  effects: readonly ConversationEffect[];
  /** After the step. */
  state: Readonly<ConversationState>;
  nextDeadlineMs: number | undefined;
}

/** Something that holds whatever happens. Each method throws `RuleBroken` if it does not. */
export interface Rule {
  onStep?(step: Step): void;
  /** Some of an utterance is heard. */
  onPlayed?(utteranceId: number, fromMs: number, toMs: number): void;
  /** The line is closed, and everything that follows from it was done. */
  onEnd?(state: Readonly<ConversationState>): void;
}

/** @param config of the conversation that is watched */
export type RuleMaker = (config: ConversationConfig) => Rule;

export class RuleBroken extends Error {
  override readonly name = 'RuleBroken';

  /** @param rule names what was broken, the same for every case of it */
  constructor(
    readonly rule: string,
    details = '',
  ) {
    super(details === '' ? rule : `${rule}: ${details}`);
  }
}

/** @throws RuleBroken */
export function check(isSo: boolean, rule: string, details?: () => string): asserts isSo {
  if (!isSo) throw new RuleBroken(rule, details?.());
}

/** A hold is followed by exactly one resumption or drop, and the state says whether the agent is held. */
export class Holds implements Rule {
  #held = false;

  onStep({ effects, state }: Step): void {
    for (const { type } of effects) {
      if (type === 'playout.hold') {
        check(!this.#held, 'what is held is not held again');
        this.#held = true;
      } else if (type === 'playout.resume') {
        check(this.#held, 'what goes on was held');
        this.#held = false;
      } else if (type === 'playout.drop') this.#held = false;
    }
    check(this.#held === (state.line === 'open' && state.speech.held), 'held audio goes on or is dropped');
  }
}
