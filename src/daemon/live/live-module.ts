import type { DaemonContext } from '../context.js';
import type { HttpModule } from '../http/http-module.js';
import type { DaemonModule } from '../module.js';
import type { Nodes } from '../nodes/node-group.js';
import { audioSocket } from './audio-socket.js';
import { controlRoutes } from './control-routes.js';
import { controlSocket } from './control-socket.js';
import { eventRoutes } from './event-routes.js';
import { EventRelay } from './event-relay.js';
import { LiveEvents } from './live-events.js';
import { LiveSockets } from './live-sockets.js';
import { SessionControl } from './session-control.js';

/** What goes on in running calls, and commands to them. */
export interface LiveModuleOptions {
  http: HttpModule;
  nodes: Pick<Nodes, 'others'>;
  /** Ends a session in any state, after a message. @throws ParleyError NOT_FOUND, SESSION_CLOSED */
  end: (sessionId: string, message: string | null) => Promise<void>;
}

export function liveModule(
  { settings, engine, clock, nowUnixMs, stores, events, owners, faults }: DaemonContext,
  { http, nodes, end }: LiveModuleOptions,
): DaemonModule {
  const { app, passes, forwarder } = http;
  const live = new LiveEvents(nowUnixMs);
  const relay = new EventRelay({ events: live, nodes, forwarder, clock, onError: faults.report });
  const control = new SessionControl({ engine, calls: stores.calls, end });
  const { upgrades, access, clients, requests } = http;
  const { socketsPerAddress } = settings.limits;
  const parts = { upgrades, access, clients, requests, passes, forwarder, owners, clock, socketsPerAddress };
  const sockets = new LiveSockets({ ...parts, onError: faults.report });
  events.onCall((call) => {
    live.call(call);
    if (call.endedUs !== null) control.forget(call.sessionId);
  });
  events.on('session.event', ({ sessionId, event }) => live.session(sessionId, event));
  return {
    name: 'live',
    routes: (api) => {
      controlRoutes(api, { control, owners, clock });
      controlSocket({ sockets, control, events: live, onError: faults.report });
      audioSocket({ sockets, control, settings, calls: stores.calls, onError: faults.report });
      eventRoutes(api, {
        events: live,
        calls: stores.calls,
        clock,
        owners,
        app,
        relayOthers: () => relay.watch(),
        nodesOnly: (request) => passes.nodesOnly(request),
      });
    },
    stop: () => {
      sockets.close();
      relay.close();
      live.close();
    },
  };
}
