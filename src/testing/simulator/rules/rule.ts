import type { ConversationConfig } from '../../../agent/flow/conversation-config.js';
import type { ConversationEffect, ConversationEvent, PlayoutPosition } from '../../../conversation/events.js';
import type { ConversationState } from '../../../conversation/state.js';

/** One step of a conversation, before its effects are carried out. */
export interface Step {
  atMs: number;
  event: ConversationEvent;
  position: PlayoutPosition;
  effects: readonly ConversationEffect[];
  /** After the step. */
  state: Readonly<ConversationState>;
  nextDeadlineMs: number | undefined;
}

/** An invariant. Each method throws `RuleBroken` if it does not hold. */
export interface Rule {
  onStep?(step: Step): void;
  /** Called when a part of an utterance plays. */
  onPlayed?(utteranceId: number, fromMs: number, toMs: number): void;
  /** Called after the line has closed and all effects are done. */
  onEnd?(state: Readonly<ConversationState>): void;
}

/** The settings of the agents that have spoken, the latest last. What one of them may do is not wrong. */
export class AgentConfigs {
  readonly all: ConversationConfig[];

  constructor(first: ConversationConfig) {
    this.all = [first];
  }

  see({ state: { agentConfig } }: Step): void {
    if (agentConfig !== null && agentConfig !== this.all.at(-1)) this.all.push(agentConfig);
  }
}

/** @param config of the observed conversation */
export type RuleMaker = (config: ConversationConfig) => Rule;

export class RuleBroken extends Error {
  override readonly name = 'RuleBroken';

  /** @param rule name of the rule, the same for all its violations */
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

/** Exactly one resumption or drop follows a hold, and the state matches. */
export class Holds implements Rule {
  #held = false;

  onStep({ effects, state }: Step): void {
    for (const { type } of effects) {
      if (type === 'playout.hold') {
        check(!this.#held, 'held audio is not held again');
        this.#held = true;
      } else if (type === 'playout.resume') {
        check(this.#held, 'only held audio resumes');
        this.#held = false;
      } else if (type === 'playout.drop') this.#held = false;
    }
    check(this.#held === (state.line === 'open' && state.speech.held), 'held audio resumes or is dropped');
  }
}
