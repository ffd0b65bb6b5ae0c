import type { LogEntry } from '../../../session/record/event-log.js';

/** The readable part of a call's event log. */
export interface Trace {
  entries: readonly LogEntry[];
  /** The missing part; null = complete. */
  problem: string | null;
}

/** Parses the lines of an event log, ignoring an incomplete last line. */
export function parseTrace(text: string): Trace {
  const entries: LogEntry[] = [];
  let unread = 0;
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const entry = entryOf(line);
    if (entry === null) unread++;
    else entries.push(entry);
  }
  const isFull = entries.some((entry) => entry.kind === 'note' && entry.name === 'trace.full');
  if (isFull) return { entries, problem: 'The trace has reached its limit; what came after is not in it.' };
  if (unread === 1) return { entries, problem: 'The trace breaks off in the middle of a line.' };
  if (unread > 1) return { entries, problem: `${String(unread)} lines of the trace cannot be read.` };
  return { entries, problem: null };
}

function entryOf(line: string): LogEntry | null {
  try {
    const value = JSON.parse(line) as LogEntry;
    return typeof value.t === 'number' && typeof value.kind === 'string' ? value : null;
  } catch {
    return null;
  }
}
