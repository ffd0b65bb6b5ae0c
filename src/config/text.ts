import * as z from 'zod';

/** Most characters of one spoken phrase: a minute of speech or so. */
const PHRASE_CHARS = 2_000;

/** Something the agent says. */
export const phraseSchema = z.string().max(PHRASE_CHARS);

/** Phrases to choose from. */
export const phrasesSchema = z.array(phraseSchema).max(100);

/** Instructions to the model about one ability. */
export const instructionSchema = z.string().max(10_000);

/** A name of the operating system's time zone database, such as `Europe/Berlin`; empty = none. */
export const timezoneSchema = z.string().refine((name) => name === '' || isTimezone(name), {
  error: 'Input should be an IANA time zone such as Europe/Berlin',
  params: { type: 'timezone' },
});

/** Names found good: asking takes longer than all other checks of a configuration together. */
const knownTimezones = new Set<string>();

function isTimezone(name: string): boolean {
  if (knownTimezones.has(name)) return true;
  // Offsets such as +02:00 are taken by some runtimes only.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    knownTimezones.add(new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone);
    return true;
  } catch {
    return false;
  }
}
