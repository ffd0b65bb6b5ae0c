import type { LogEntry } from '../../../session/record/event-log.js';

/** A call's event log, as far as it can be read. */
export interface Trace {
  entries: readonly LogEntry[];
  /** What is missing, in words; null = nothing. */
  problem: string | null;
}

/** Reads the lines of an event log. The last one may be cut off; the rest is read all the same. */
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
