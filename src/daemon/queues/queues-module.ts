import type { CallLog } from '../call-log/call-log.js';
import type { DaemonContext } from '../context.js';
import type { DaemonModule } from '../module.js';
import type { CallBacks } from './call-backs.js';
import { CallQueues } from './call-queues.js';

export interface QueuesModule extends DaemonModule {
  readonly queues: CallQueues;
}

/** Inbound calls that wait for sessions. */
export function queuesModule(
  { engine, admission, events, faults, settings, nowUnixMs }: DaemonContext,
  { log, callBacks }: { log: CallLog; callBacks: CallBacks },
): QueuesModule {
  const { timezone } = settings;
  const parts = { engine, admission, events, log, callBacks, nowUnixMs, timezone };
  const queues = new CallQueues({ ...parts, onError: faults.report });
  return {
    name: 'queues',
    queues,
    drain: () => queues.drain(),
    close: () => queues.close(),
  };
}
