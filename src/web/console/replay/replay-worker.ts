import { mergeConfig } from '../../../agent/flow/conversation-config.js';
import { type EventLog, readLog } from '../../../replay/read-log.js';
import { replay } from '../../../replay/replay.js';
import { whatIf } from '../../../replay/what-if.js';
import type { ReplayAnswer, ReplayRequest } from './replay-messages.js';

/** Runs the conversation core in a worker, because replaying a long call would block the page. */
let log: EventLog | null = null;

onmessage = ({ data }: MessageEvent<ReplayRequest>): void => {
  postMessage(answer(data));
};

function answer(request: ReplayRequest): ReplayAnswer {
  try {
    if (request.type === 'log') {
      log = readLog(request.text);
      return { type: 'ready', config: mergeConfig(log.start.config), again: replay(log) };
    }
    if (log === null) throw new Error('There is no log.');
    return { type: 'played', id: request.id, result: whatIf(log, request.changes) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { type: 'fault', id: request.type === 'log' ? null : request.id, message };
  }
}
