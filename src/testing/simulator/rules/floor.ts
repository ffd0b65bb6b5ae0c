import type { ConversationConfig } from '../../../agent/conversation-config.js';
import type { UtteranceKind } from '../../../conversation/events.js';
import type { ConversationState } from '../../../conversation/state.js';
import { check, type Rule, type Step } from './rule.js';

const TICK_MS = 20;
/** A hold lasts this many times `maxHoldMs` at most, see `interruption`. */
const LONGEST_HOLDS = 2;

/** One voice at a time: the agent is silent while it is held, and does not begin while the user has the floor. */
export class Floor implements Rule {
  readonly #config: ConversationConfig;
  /** Null = not held. */
  #heldSinceMs: number | null = null;
  /** What the user is saying does not stop the agent: it was judged to be nothing, or may not interrupt. */
  #talksOn = false;
  #state: Readonly<ConversationState> | null = null;
  #playing: { utteranceId: number; toMs: number } | null = null;
  readonly #kinds = new Map<number, UtteranceKind>();

  constructor(config: ConversationConfig) {
    this.#config = config;
  }

  onStep(step: Step): void {
    const { atMs, event, effects, state } = step;
    if (event.type === 'speech.started') {
      const goesOn = state.speech.queue.length > 0 && !state.speech.held;
      this.#talksOn = goesOn || atMs < state.noisyUntilMs;
    }
    this.#expectRightToCut(step);
    for (const effect of effects) {
      if (effect.type === 'speak') this.#kinds.set(effect.utteranceId, effect.kind);
      else if (effect.type === 'trace' && effect.name === 'interruption.falseAlarm') this.#talksOn = true;
      else if (effect.type === 'playout.hold') this.#heldSinceMs = atMs;
    }
    const { held } = state.speech;
    if (!held) this.#heldSinceMs = null;
    const longestMs = LONGEST_HOLDS * this.#config.interruption.maxHoldMs;
    check(atMs <= (this.#heldSinceMs ?? atMs) + longestMs, 'a hold has an end');
    if (event.type === 'utterance.started' && !held) this.#expectFree(event.utteranceId, state);
    this.#state = state;
  }

  onPlayed(utteranceId: number, fromMs: number, toMs: number): void {
    const state = this.#state;
    check(state?.speech.held !== true, 'what is held is not heard');
    check(state?.speech.queue[0]?.id === utteranceId || toMs - fromMs <= TICK_MS, 'only what is next is heard');
    const last = this.#playing;
    check(last === null || last.utteranceId === utteranceId || fromMs >= last.toMs - TICK_MS, 'one voice at a time');
    this.#playing = { utteranceId, toMs };
  }

  /** The agent begins to say something: not while the user speaks, unless they may not interrupt or it was no speech. */
  #expectFree(utteranceId: number, { turn, speech, ending }: Readonly<ConversationState>): void {
    const utterance = speech.queue.find(({ id }) => id === utteranceId);
    // A machine records whatever sounds.
    if (utterance === undefined || utterance.kind === 'voicemail' || !turn.speaking) return;
    const mayTalk = !utterance.interruptible || ending?.reversible === false || this.#talksOn;
    check(mayTalk, 'the agent does not begin while the user speaks', () => utterance.kind);
  }

  /** Where interruption is not allowed, what is being heard is not cut off. */
  #expectRightToCut({ event, position, effects, state }: Step): void {
    const cuts = effects.some(({ type }) => type === 'playout.drop' || type === 'playout.hold');
    if (!cuts || position.utteranceId === null || state.line !== 'open' || state.ending?.reversible === false) return;
    const { allowed, openingAllowed } = this.#config.interruption;
    const kind = this.#kinds.get(position.utteranceId);
    if (kind === 'voicemail') return; // has a setting of its own
    const isOpening = kind === 'opening';
    // A machine is not talked to any longer, whatever people may do.
    if (effects.some((effect) => effect.type === 'trace' && effect.name.startsWith('voicemail.'))) return;
    check(allowed && (openingAllowed || !isOpening), 'what may not be interrupted is not', () => event.type);
  }
}
