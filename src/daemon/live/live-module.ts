import type { DaemonContext } from '../context.js';
import type { HttpModule } from '../http/http-module.js';
import type { DaemonModule } from '../module.js';
import type { Nodes } from '../nodes/node-group.js';
import { eventRoutes } from './event-routes.js';
import { EventRelay } from './event-relay.js';
import { LiveEvents } from './live-events.js';

/** Server-sent events of calls that go on. */
export function liveModule(
  { clock, nowUnixMs, stores, events, owners, faults }: DaemonContext,
  { app, passes, forwarder }: HttpModule,
  nodes: Pick<Nodes, 'others'>,
): DaemonModule {
  const live = new LiveEvents(nowUnixMs);
  const relay = new EventRelay({ events: live, nodes, forwarder, clock, onError: faults.report });
  events.onCall((call) => live.call(call));
  events.on('session.event', ({ sessionId, event }) => live.session(sessionId, event));
  return {
    name: 'live',
    routes: (api) =>
      eventRoutes(api, {
        events: live,
        calls: stores.calls,
        clock,
        owners,
        app,
        relayOthers: () => relay.watch(),
        nodesOnly: (request) => passes.nodesOnly(request),
      }),
    stop: () => {
      relay.close();
      live.close();
    },
  };
}
