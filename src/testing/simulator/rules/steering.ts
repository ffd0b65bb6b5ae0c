import type { ConversationEffect } from '../../../conversation/events.js';
import { type ConversationState, isTakenOver, isTalkedOver } from '../../../conversation/state.js';
import { check, type Rule, type Step } from './rule.js';

/**
 * Each command of a program has one outcome. An agent that is muted or from which a participant has taken over says
 * nothing, and it does not speak to a user on hold. What must
 * be said whole is not cut off.
 */
export class Steering implements Rule {
  /** Commands with an id, and whether their outcome is known. */
  readonly #outcomes = new Map<number, boolean>();
  readonly #whole = new Set<number>();
  #isHeld = false;

  onStep({ event, effects, state }: Step): void {
    const { line, speech, muted, hold } = state;
    if ('id' in event && event.type !== 'command.withdraw' && !this.#outcomes.has(event.id ?? NaN)) {
      if (event.id !== undefined && (line !== 'closed' || effects.length > 0)) this.#outcomes.set(event.id, false);
    }
    for (const effect of effects) this.#see(effect);
    const isSilenced = (muted.agent || hold !== null || isTakenOver(state)) && state.ending === null;
    check(!isSilenced || speech.queue.length === 0, 'a silenced agent says nothing');
    check(!isSilenced || state.reply === null || state.reply.phase === 'done', 'a silenced agent is not asked');
    check(this.#isHeld === (hold !== null), 'the line knows of the hold');
    check((hold !== null) === (state.deadlines.hold !== null), 'a hold of the user has a deadline');
    check((state.press !== null) === (state.deadlines.press !== null), 'keys to press have a deadline');
    const isWatched = state.deadlines.participant !== null;
    check(line === 'closed' || isTalkedOver(state) === isWatched, 'talk over the agent has a deadline');
    const cuts = event.type.startsWith('command.') && event.type !== 'command.end';
    const isCut = (effect: ConversationEffect): boolean =>
      effect.type === 'playout.drop'
        ? this.#whole.size > 0
        : effect.type === 'speak.cancel' && this.#whole.has(effect.utteranceId);
    check(!cuts || !effects.some(isCut), 'what must be whole is not cut off');
    for (const { id, whole } of speech.queue) if (whole) this.#whole.add(id);
    for (const id of this.#whole) if (!speech.queue.some((utterance) => utterance.id === id)) this.#whole.delete(id);
  }

  onEnd({ hold, commands }: Readonly<ConversationState>): void {
    check(hold === null, 'nobody is left on hold');
    check(commands.length === 0, 'no command is left open');
    check([...this.#outcomes.values()].every(Boolean), 'each command has an outcome');
  }

  #see(effect: ConversationEffect): void {
    if (effect.type === 'line.hold' || effect.type === 'line.unhold') this.#isHeld = effect.type === 'line.hold';
    if (effect.type !== 'command.done' && effect.type !== 'command.refused') return;
    check(this.#outcomes.get(effect.id) === false, 'a command has one outcome');
    this.#outcomes.set(effect.id, true);
  }
}
