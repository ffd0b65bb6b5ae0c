import type { LogEntry } from '../../../session/event-log.js';

/** What ended a turn: the event with which it was decided. */
export function decidedBy(cause: LogEntry | null): string {
  if (cause?.kind !== 'event') return 'it was decided';
  const { event } = cause;
  switch (event.type) {
    case 'transcript':
      return event.isFinal ? 'the final words came, and the wait was over' : 'words came, and the wait was over';
    case 'speech.stopped':
      return 'the user stopped';
    case 'turn.judged':
      return 'it sounded finished';
    case 'text':
      return 'the message was typed';
    case 'digits':
      return 'the keys were pressed';
    case 'time':
      return 'the silence had lasted long enough';
    default:
      return event.type;
  }
}
