import type { CallHistoryItem } from '../session/record/call-history.js';
import { afterwards, transcriptOf, transcriptOfChat, type TranscriptLine } from '../session/record/transcript.js';
import { readLog } from './read-log.js';

/**
 * What was said and done in a call, in order. With a trace, lines have times and the agent's end where it was interrupted.
 * @param trace its event log so far; null = it has none
 */
export function storyOf(trace: string | null, item: CallHistoryItem): readonly TranscriptLine[] {
  // The trace of an opted-out session contains no words.
  const timed = trace === null ? [] : transcriptOf(readLog(trace)).filter(({ text }) => text !== '');
  return timed.length > 0 && item.chat !== '[]' ? [...timed, ...afterwards(item)] : transcriptOfChat(item);
}
