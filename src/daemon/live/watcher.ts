import type { CallStore } from '../../store/calls.js';
import type { EventStream } from '../event-stream.js';
import { type LiveEvents, statusOf } from './live-events.js';

export interface WatcherOptions {
  events: LiveEvents;
  calls: Pick<CallStore, 'get'>;
  stream: EventStream;
  /** Null = of all calls. */
  sessionId: string | null;
  /** The id of the last event that the client has; null = it has none. */
  lastId: number | null;
}

/**
 * Sends a client events, from where it is to wherever they end: those that are still kept, then each as it comes. A
 * client that is so slow that events it has not got are kept no more is let go; it comes back and is told of the gap.
 */
export async function watch({ events, calls, stream, sessionId, lastId }: WatcherOptions): Promise<void> {
  try {
    stream.begin();
    let at = await startOf(lastId, { events, stream, sessionId });
    if (sessionId !== null && events.after(at, sessionId) === null) {
      const call = calls.get(sessionId);
      if (call !== null && (lastId === null || call.endedUs !== null)) {
        await stream.send(JSON.stringify({ session_id: sessionId, ...statusOf(call) }), { event: 'status' });
      }
      if (call === null || call.endedUs !== null) return;
    }
    while (!stream.left.aborted && !events.closed.aborted) {
      if (events.oldestId > at + 1) return;
      const event = events.after(at, sessionId);
      if (event === null) {
        // What is not for this client has not to be looked at again.
        at = events.newestId;
        await events.next(stream.left);
        continue;
      }
      at = event.id;
      await stream.send(event.data, { event: event.name, id: String(event.id) });
      if (sessionId !== null && event.name === 'status' && (JSON.parse(event.data) as { ended: boolean }).ended) return;
    }
  } catch {
    // The client has gone, or reads too slowly.
  } finally {
    stream.end();
  }
}

/** The id after which a client's events come; tells it where some between are kept no more. */
async function startOf(
  lastId: number | null,
  { events, stream, sessionId }: Pick<WatcherOptions, 'events' | 'stream' | 'sessionId'>,
): Promise<number> {
  const before = events.oldestId - 1;
  if (lastId === null) return sessionId === null ? events.newestId : before;
  if (lastId >= before) return Math.min(lastId, events.newestId);
  await stream.send('{}', { event: 'gap' });
  return before;
}
