import type { ConversationConfig } from '../../../agent/conversation-config.js';
import { check, type Rule, type Step } from './rule.js';

/** Fillers come no closer than this, see `filler`. */
const FILLER_REPEAT_MS = 4000;
/** The pause that ends a row of keys, see `digits`. */
const KEYS_PAUSE_MS = 2000;
/** Retries of machines that find the floor taken, a wait that is given up soon, and the line's own grain. */
const SOME_MS = 3000;
const SIGNS = new Set(['speech.failed', 'speech.stalled', 'reply.failed', 'tool.timeout']);
/** Signs that something went wrong, one after another, with nothing to be heard in between. */
const MOST_FAILURES = 12;

/**
 * No dead air: after the user's turn something is to be heard, or the line is closed, within what the deadlines allow.
 * A sign of the user, or a failure that the conversation noticed and has to make up for, begins the wait anew.
 */
export class DeadAir implements Rule {
  readonly #longestMs: number;
  /** Since when the user is owed something, null = nothing. */
  #owedMs: number | null = null;
  #signMs = 0;
  #failures = 0;
  #isBusy = false;

  constructor({ deadlines, endpointing, filler }: ConversationConfig) {
    const fillerMs = Math.max(filler.afterMs ?? 0, deadlines.stallFillerMs, FILLER_REPEAT_MS);
    const turnMs = Math.max(endpointing.responseDelayMs, endpointing.maxSilenceMs, endpointing.minSilenceMs);
    const waitMs = turnMs + endpointing.numberInputDelayMs + endpointing.finalTranscriptMs + KEYS_PAUSE_MS;
    this.#longestMs = fillerMs + waitMs + deadlines.speechStartMs + SOME_MS;
  }

  onStep(step: Step): void {
    const { atMs, effects, state } = step;
    this.#expectSound(atMs);
    if (isSign(step)) {
      this.#signMs = atMs;
      this.#failures = 0;
    }
    for (const effect of effects) {
      if (effect.type === 'user.said') {
        this.#owedMs = atMs;
        this.#signMs = atMs;
      } else if (effect.type === 'trace' && effect.name === 'voicemail.detected') this.#owedMs = null;
      else if (effect.type === 'trace' && SIGNS.has(effect.name)) {
        this.#signMs = atMs;
        check(++this.#failures <= MOST_FAILURES, 'failures do not go on for ever');
      } else if (effect.type === 'playout.resume' || effect.type === 'line.transfer.cancel') this.#signMs = atMs;
      else if (effect.type === 'digits.send') this.#owedMs = null;
    }
    // Whoever is being connected hears it ring.
    this.#isBusy = state.turn.speaking || state.transfer?.phase === 'connecting';
    if (state.line === 'closed') this.#owedMs = null;
  }

  onPlayed(_utteranceId: number, fromMs: number): void {
    this.#expectSound(fromMs);
    this.#owedMs = null;
    this.#failures = 0;
  }

  #expectSound(atMs: number): void {
    if (this.#isBusy) this.#signMs = atMs;
    const silentMs = atMs - this.#signMs;
    check(
      this.#owedMs === null || silentMs <= this.#longestMs,
      'no dead air after the turn of the user',
      () => `silence for ${String(silentMs)} ms, ${String(this.#longestMs)} at most`,
    );
  }
}

function isSign({ event: { type } }: Step): boolean {
  return (
    type === 'speech.started' ||
    type === 'speech.stopped' ||
    type === 'transcript' ||
    type === 'text' ||
    type === 'digits' ||
    type === 'command.say' ||
    type === 'transfer.result'
  );
}
