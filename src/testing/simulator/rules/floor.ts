import type { ConversationConfig } from '../../../agent/flow/conversation-config.js';
import type { UtteranceKind } from '../../../conversation/events.js';
import type { ConversationState } from '../../../conversation/state.js';
import { AgentConfigs, check, type Rule, type Step } from './rule.js';

const TICK_MS = 20;
/** Longest hold as a multiple of `maxHoldMs`, see `interruption`. */
const LONGEST_HOLDS = 2;

/** One voice at a time: a held agent is silent, and it does not start while the user has the floor. */
export class Floor implements Rule {
  readonly #configs: AgentConfigs;
  /** Null = not held. */
  #heldSinceMs: number | null = null;
  /** The user's sound does not stop the agent: it was a false alarm, or the user may not interrupt. */
  #talksOn = false;
  #state: Readonly<ConversationState> | null = null;
  #playing: { utteranceId: number; toMs: number } | null = null;
  readonly #kinds = new Map<number, UtteranceKind>();

  constructor(config: ConversationConfig) {
    this.#configs = new AgentConfigs(config);
  }

  onStep(step: Step): void {
    const { atMs, event, effects, state } = step;
    this.#configs.see(step);
    if (event.type === 'speech.started') {
      const continues = state.speech.queue.length > 0 && !state.speech.held;
      this.#talksOn = continues || atMs < state.noisyUntilMs;
    }
    this.#expectRightToCut(step);
    for (const effect of effects) {
      if (effect.type === 'speak') this.#kinds.set(effect.utteranceId, effect.kind);
      else if (effect.type === 'trace' && effect.name === 'interruption.falseAlarm') this.#talksOn = true;
      else if (effect.type === 'playout.hold') this.#heldSinceMs = atMs;
    }
    const { held } = state.speech;
    if (!held) this.#heldSinceMs = null;
    const longestMs = LONGEST_HOLDS * Math.max(...this.#configs.all.map(({ interruption }) => interruption.maxHoldMs));
    check(atMs <= (this.#heldSinceMs ?? atMs) + longestMs, 'a hold has an end');
    if (event.type === 'utterance.started' && !held) this.#expectFree(event.utteranceId, state);
    this.#state = state;
  }

  onPlayed(utteranceId: number, fromMs: number, toMs: number): void {
    const state = this.#state;
    check(state?.speech.held !== true, 'held audio does not play');
    check(state?.speech.queue[0]?.id === utteranceId || toMs - fromMs <= TICK_MS, 'only the next utterance plays');
    const last = this.#playing;
    check(last === null || last.utteranceId === utteranceId || fromMs >= last.toMs - TICK_MS, 'one voice at a time');
    this.#playing = { utteranceId, toMs };
  }

  /** Checks that the agent does not start while the user speaks, unless that speech may not interrupt or was noise. */
  #expectFree(utteranceId: number, { turn, speech, ending }: Readonly<ConversationState>): void {
    const utterance = speech.queue.find(({ id }) => id === utteranceId);
    // A mailbox records the message even while it sounds.
    if (utterance === undefined || utterance.kind === 'voicemail' || !turn.speaking) return;
    const mayTalk = !utterance.interruptible || ending?.reversible === false || this.#talksOn;
    check(mayTalk, 'the agent does not start while the user speaks', () => utterance.kind);
  }

  /** Checks that nothing cuts the agent off if interruption is not allowed. */
  #expectRightToCut({ event, position, effects, state }: Step): void {
    const cuts = effects.some(({ type }) => type === 'playout.drop' || type === 'playout.hold');
    if (!cuts || position.utteranceId === null || state.line !== 'open' || state.ending?.reversible === false) return;
    if (event.type.startsWith('command.')) return; // see `Steering`
    const kind = this.#kinds.get(position.utteranceId);
    if (kind === 'voicemail') return; // voicemail has its own setting
    const isOpening = kind === 'opening';
    // The agent stops talking to a machine regardless of the settings for people.
    if (effects.some((effect) => effect.type === 'trace' && effect.name.startsWith('voicemail.'))) return;
    check(
      this.#configs.all.some(
        ({ interruption: { allowed, openingAllowed } }) => allowed && (openingAllowed || !isOpening),
      ),
      'speech that may not be interrupted is not cut off',
      () => event.type,
    );
  }
}
