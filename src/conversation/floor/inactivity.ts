import { baseLanguage } from '../../base/language.js';
import * as speech from '../speech/agent-speech.js';
import type { Core } from '../core.js';
import { endNow } from '../reply/ending.js';
import type { UtteranceKind } from '../events.js';
import { phrasesFor } from '../language/phrases.js';

/**
 * Silence on both sides: the agent asks whether the user is there, and ends the call if no answer comes. Noise does not
 * count as activity of the user, nor does the agent's question.
 */

/** The user has spoken or pressed keys. */
export function onUserActive(core: Core): void {
  core.state.inactivity = { prompts: 0, sinceMs: core.nowMs };
  core.state.lastActiveMs = core.nowMs;
  core.disarm('inactivity', 'idle');
}

export function onAgentSpoke(core: Core, kind: UtteranceKind): void {
  core.state.inactivity.sinceMs = core.nowMs;
  if (kind !== 'prompt') core.state.lastActiveMs = core.nowMs;
}

/** Neither side has anything to say: the wait continues from its start. */
export function onSilence(core: Core): void {
  const { inactivity, limits } = core.config;
  if (limits.maxIdleMs !== null) core.arm('idle', core.state.lastActiveMs + limits.maxIdleMs);
  if (inactivity !== null) core.arm('inactivity', core.state.inactivity.sinceMs + inactivity.idleMs);
}

/** A side speaks or is about to. */
export function onBusy(core: Core): void {
  core.disarm('inactivity', 'idle');
}

export function onInactivityDue(core: Core): void {
  const { inactivity } = core.config;
  core.state.inactivity.prompts++;
  core.state.inactivity.sinceMs = core.nowMs;
  core.trace('inactivity', { prompts: core.state.inactivity.prompts });
  speech.say(core, question(core, inactivity?.message ?? null), { kind: 'prompt' });
}

/** Every other question in a row has different words, if the language has any. */
function question(core: Core, message: string | null): string {
  const { language, state } = core;
  const phrases = phrasesFor(language);
  const isRepeated = state.inactivity.prompts % 2 === 0;
  const isOwnLanguage = phrases !== phrasesFor('en') || baseLanguage(language) === 'en';
  if (isRepeated && (message === null || isOwnLanguage)) return phrases.stillThereAgain;
  return message ?? phrases.stillThere;
}

/** The user has been silent for too long, or the session has reached its maximum duration. */
export function onLimitDue(core: Core, limit: 'idle' | 'duration'): void {
  const { limits } = core.config;
  core.trace('limit', { limit });
  endNow(core, 'timeout', limits.message ?? phrasesFor(core.language).timeout);
}
