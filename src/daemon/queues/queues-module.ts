import type { DaemonContext } from '../context.js';
import type { DaemonModule } from '../module.js';
import type { OperationsModule } from '../operations/operations-module.js';
import { CallQueues, type CallQueuesOptions } from './call-queues.js';
import { queueMetrics } from './queue-metrics.js';
import { queueRoutes } from './queue-routes.js';

export interface QueuesModule extends DaemonModule {
  readonly queues: CallQueues;
}

/** Inbound calls that wait for sessions. */
export function queuesModule(
  { engine, admission, events, faults, settings, clock, nowUnixMs, owners }: DaemonContext,
  { log, callBacks, addMetrics }: Pick<CallQueuesOptions, 'log' | 'callBacks'> & Pick<OperationsModule, 'addMetrics'>,
): QueuesModule {
  const { timezone } = settings;
  const parts = { engine, admission, events, log, callBacks, nowUnixMs, timezone };
  const queues = new CallQueues({ ...parts, onError: faults.report });
  addMetrics((registry) => queueMetrics(registry, queues));
  return {
    name: 'queues',
    queues,
    routes: (api) => queueRoutes(api, { queues, owners, nowMs: () => clock.nowMs() }),
    drain: () => queues.drain(),
    close: () => queues.close(),
  };
}
