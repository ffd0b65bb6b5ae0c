import type { CallLog } from '../call-log/call-log.js';
import type { DaemonContext } from '../context.js';
import type { DaemonModule } from '../module.js';
import { CallQueues } from './call-queues.js';

export interface QueuesModule extends DaemonModule {
  readonly queues: CallQueues;
}

/** Inbound calls that wait for sessions. */
export function queuesModule({ engine, admission, events, faults }: DaemonContext, log: CallLog): QueuesModule {
  const queues = new CallQueues({ engine, admission, events, log, onError: faults.report });
  return {
    name: 'queues',
    queues,
    drain: () => queues.drain(),
    close: () => queues.close(),
  };
}
