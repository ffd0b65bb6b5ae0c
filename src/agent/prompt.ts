import { DEFAULT_LANGUAGE, languageName } from './language.js';
import type { ResolvedAgent } from './resolve.js';

/** What the system prompt is made from. A ResolvedAgent fits. */
export type PromptSource = Pick<
  ResolvedAgent,
  'prompt' | 'language' | 'timezone' | 'metadata' | 'includeMetadataInPrompt'
>;

/**
 * The whole system prompt: the agent's own, then what it has to know of the moment, and of speaking or writing.
 * @param unixMs the time that the conversation begins, in milliseconds since 1970.
 */
export function buildSystemPrompt(
  source: PromptSource,
  unixMs: number,
  medium: 'speech' | 'writing' = 'speech',
): string {
  const parts = [source.prompt.trim(), `It is now ${localTime(unixMs, source.timezone)}.`];
  if (source.includeMetadataInPrompt && Object.keys(source.metadata).length > 0) {
    parts.push(`What is known about this conversation, as JSON:\n${JSON.stringify(source.metadata)}`);
  }
  parts.push(`${NOTES[medium]} ${languageNote(source.language)}`);
  return parts.filter((part) => part !== '').join('\n\n');
}

const NOTES = {
  speech:
    'This is a spoken conversation. What you write is read out: use short, plain sentences, no markdown, lists or ' +
    'emoji, and write numbers and abbreviations the way they are said. What the user said comes from speech ' +
    'recognition and may contain mistakes; "[inaudible]" means that it was not understood, so ask again.',
  writing: 'This is a conversation in writing. Use short, plain sentences, without markdown.',
};

/** Such as `Saturday, 21 November 2026 at 11:29 (Europe/Berlin)`. */
export function localTime(unixMs: number, timezone: string): string {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: timezone,
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  // Put together by hand: the joining words differ between versions of the runtime's locale data.
  const parts = new Map(format.formatToParts(unixMs).map(({ type, value }) => [type, value]));
  const get = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? '';
  return `${get('weekday')}, ${get('day')} ${get('month')} ${get('year')} at ${get('hour')}:${get('minute')} (${timezone})`;
}

function languageNote(language: string): string {
  if (language === 'multi') return 'Answer in the language that the user speaks.';
  return `The conversation is in ${languageName(language)}${language === DEFAULT_LANGUAGE ? '' : `; answer in it`}.`;
}
