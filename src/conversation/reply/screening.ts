import type { Core } from '../core.js';
import { phrasesFor } from '../language/phrases.js';
import { isSpeakable } from '../speech/sentences.js';

/** The question of a call screener, as the model gets it. */

const NOTE = '[An automatic call screening, not the person you are calling, says:]';

export function screeningTurn(message: string): string {
  return message.startsWith(NOTE) ? message : `${NOTE} ${message}`;
}

/** The answer to a screener's question if the model has none; null = the turn is not one. */
export function screeningAnswer(core: Core, turnText: string): string | null {
  if (!turnText.startsWith(NOTE)) return null;
  const { firstMessage } = core.config.opening;
  return firstMessage !== null && isSpeakable(firstMessage) ? firstMessage : phrasesFor(core.language).screened;
}
