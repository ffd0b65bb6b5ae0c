import type { CallHistoryItem } from '../session/record/call-history.js';
import { afterwards, transcriptOf, transcriptOfChat, type TranscriptLine } from '../session/record/transcript.js';
import { readLog } from './read-log.js';

/** What a story needs of a stored call. */
interface ToldCall {
  item: CallHistoryItem;
  /** Null = it goes on. */
  endedUs: number | null;
}

/**
 * What was said and done in a call, in order; of a running call, all so far. With a trace, lines have times and the
 * agent's end where it was interrupted.
 * @param trace its event log so far; null = it has none
 */
export function storyOf(trace: string | null, { item, endedUs }: ToldCall): readonly TranscriptLine[] {
  const goesOn = endedUs === null;
  // The log has the messages of a call only after its end.
  const hasWords = goesOn ? item.agent_config.privacy_settings?.opt_out_data_collection !== true : item.chat !== '[]';
  if (trace === null || !hasWords) return transcriptOfChat(item);
  const timed = transcriptOf(readLog(trace), goesOn).filter(({ text }) => text !== '');
  return timed.length > 0 ? [...timed, ...afterwards(item)] : transcriptOfChat(item);
}
