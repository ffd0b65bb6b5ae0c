import type { ConversationConfig } from '../../../agent/conversation-config.js';
import type { ConversationState } from '../../../conversation/state.js';
import { check, type Rule, type Step } from './rule.js';

/** Slow speech: what the core grants the last words, see `ending`. */
const MS_PER_CHAR = 120;
const SOME_MS = 1000;
/** More steps at one moment than anything can ask for. */
const LIVELOCK_STEPS = 500;

/** Every conversation ends: with one status, in time, and nothing comes after it. */
export class EndsOnce implements Rule {
  readonly #config: ConversationConfig;
  #closedMs: number | null = null;
  #closes = 0;
  #endingSince: { atMs: number; chars: number } | null = null;
  #atMs = 0;
  #steps = 0;

  constructor(config: ConversationConfig) {
    this.#config = config;
  }

  onStep({ atMs, effects, state }: Step): void {
    check(this.#closedMs === null || effects.length === 0, 'nothing comes after the end');
    this.#steps = atMs === this.#atMs ? this.#steps + 1 : 0;
    this.#atMs = atMs;
    check(this.#steps < LIVELOCK_STEPS, 'time goes on');
    for (const effect of effects) {
      check(this.#closes === 0, 'nothing comes after the line is closed');
      if (effect.type === 'line.close') {
        this.#closes++;
        check(state.ending?.status === effect.status, 'the line is closed with the status of the conversation');
      }
    }
    if (state.line === 'closed') this.#closedMs ??= atMs;
    this.#expectInTime(atMs, state);
  }

  onPlayed(): void {
    check(this.#closedMs === null, 'nothing is played after the end');
  }

  onEnd(state: Readonly<ConversationState>): void {
    check(state.line === 'closed' && this.#closedMs !== null, 'every conversation ends');
    check(state.ending !== null, 'an end has a status');
    check(state.speech.queue.length === 0 && !state.speech.held, 'the end leaves nothing to say');
  }

  #expectInTime(atMs: number, { line, ending, speech }: Readonly<ConversationState>): void {
    const { limits, deadlines } = this.#config;
    if (ending === null || line === 'closed') {
      this.#endingSince = null;
      check(line === 'closed' || atMs <= limits.maxDurationMs + SOME_MS, 'a session ends when its time is over');
      return;
    }
    const chars = speech.queue.reduce((sum, { text }) => sum + text.length, 0);
    this.#endingSince ??= { atMs, chars };
    const longestMs = deadlines.closingMs + (this.#endingSince.chars + chars) * MS_PER_CHAR + SOME_MS;
    check(ending.reversible || atMs <= this.#endingSince.atMs + longestMs, 'hanging up does not take for ever');
  }
}
