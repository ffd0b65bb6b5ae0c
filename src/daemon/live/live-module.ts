import type { DaemonContext } from '../context.js';
import type { HttpModule } from '../http/http-module.js';
import type { DaemonModule } from '../module.js';
import type { Nodes } from '../nodes/node-group.js';
import { audioSocket } from './audio-socket.js';
import { controlRoutes } from './control-routes.js';
import { controlSocket } from './control-socket.js';
import { eventRoutes, NODE_EVENTS } from './event-routes.js';
import { EventRelay } from './event-relay.js';
import { liveCallRoutes, NODE_CALLS_EVENTS } from './live-call-routes.js';
import { LiveCalls } from './live-calls.js';
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
  const running = new LiveCalls({ clock, nowUnixMs, language: settings.language });
  const others = { nodes, forwarder, clock, onError: faults.report };
  const relay = new EventRelay({ ...others, url: NODE_EVENTS, take: (_node, name, data) => live.relay(name, data) });
  const callRelay = new EventRelay({
    ...others,
    url: NODE_CALLS_EVENTS,
    take: (nodeId, name, data) => running.fromNode(nodeId, name, data),
    onNodes: (ids) => running.nodesAre(ids),
  });
  const control = new SessionControl({ engine, calls: stores.calls, end });
  const { upgrades, access, clients, requests } = http;
  const { socketsPerAddress } = settings.limits;
  const parts = { upgrades, access, clients, requests, passes, forwarder, owners, clock, socketsPerAddress };
  const sockets = new LiveSockets({ ...parts, onError: faults.report });
  events.onCall((call) => {
    live.call(call);
    running.call(call);
    if (call.endedUs !== null) control.forget(call.sessionId);
  });
  events.on('session.event', ({ sessionId, event }) => {
    live.session(sessionId, event);
    running.session(sessionId, event);
  });
  return {
    name: 'live',
    routes: (api) => {
      controlRoutes(api, { control, owners, clock });
      controlSocket({ sockets, control, events: live, onError: faults.report });
      audioSocket({ sockets, control, settings, calls: stores.calls, onError: faults.report });
      const nodesOnly = passes.nodesOnly.bind(passes);
      const shared = { calls: stores.calls, clock, app, nodesOnly };
      eventRoutes(api, { ...shared, events: live, owners, relayOthers: () => relay.watch() });
      liveCallRoutes(api, { ...shared, live: running, nodes, forwarder, relayOthers: () => callRelay.watch() });
    },
    stop: () => {
      sockets.close();
      relay.close();
      callRelay.close();
      live.close();
      running.close();
    },
  };
}
