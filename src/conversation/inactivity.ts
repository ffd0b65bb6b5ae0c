import * as speech from './agent-speech.js';
import type { Core } from './core.js';
import { endNow } from './ending.js';
import { phrasesFor } from './phrases.js';

/** Silence on both sides: the agent asks whether the user is there, and ends the call when nobody is. */

/** A sign of the user. */
export function onUserActive(core: Core): void {
  core.state.inactivity.prompts = 0;
  core.state.lastActiveMs = core.nowMs;
  core.disarm('inactivity');
}

/** Neither side has anything to say: the waiting begins. */
export function onSilence(core: Core): void {
  const { inactivity, limits } = core.config;
  if (core.state.inactivity.prompts === 0) core.state.lastActiveMs = core.nowMs;
  if (inactivity !== null) core.arm('inactivity', core.nowMs + inactivity.idleMs);
  if (limits.maxIdleMs !== null) core.arm('idle', core.state.lastActiveMs + limits.maxIdleMs);
}

export function onInactivityDue(core: Core): void {
  core.state.inactivity.prompts++;
  core.trace('inactivity', { prompts: core.state.inactivity.prompts });
  const message = core.config.inactivity?.message ?? phrasesFor(core.config.language).stillThere;
  speech.say(core, message, { kind: 'prompt' });
}

/** Nothing from the user for too long. */
export function onIdleDue(core: Core): void {
  const { limits, language } = core.config;
  endNow(core, 'timeout', limits.message ?? phrasesFor(language).timeout);
}

export function onDurationDue(core: Core): void {
  const { limits, language } = core.config;
  endNow(core, 'timeout', limits.message ?? phrasesFor(language).timeout);
}
