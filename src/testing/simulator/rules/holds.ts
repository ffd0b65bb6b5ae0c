import { check, type Rule, type Step } from './rule.js';

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
