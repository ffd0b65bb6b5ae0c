import type { ChatMessage } from '../../../config/chat.js';
import { parseDate, parseIsoDate, type DayNumber } from './slots/date.js';

const ISO = /\b(?:now|today|date)\b[^\n]{0,60}?\b(\d{4}-\d{2}-\d{2})\b/i;
const WRITTEN = /\b(?:now|today|date)\b[^\n]{0,60}?\b(\d{1,2}) (\p{L}+) (\d{4})\b/iu;

/**
 * Today's date where the conversation is, as a system message tells it behind "now", "today" or "date": "It is now
 * Saturday, 21 November 2026 at 11:29" or "Today is 2026-11-21". The last one counts: what a session adds comes behind
 * the agent's own prompt. Null where there is none; days are then handed on in the user's words.
 */
export function dateIn(messages: readonly ChatMessage[]): DayNumber | null {
  let day: DayNumber | null = null;
  for (const { role, content } of messages) {
    if (role !== 'system') continue;
    for (const line of content.split('\n')) {
      const written = WRITTEN.exec(line);
      const iso = ISO.exec(line)?.[1];
      if (written !== null) day = parseDate(Number(written[1]), written[2] ?? '', Number(written[3])) ?? day;
      else if (iso !== undefined) day = parseIsoDate(iso) ?? day;
    }
  }
  return day;
}
