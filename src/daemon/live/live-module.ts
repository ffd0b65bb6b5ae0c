import type { Dialer } from '../calls/dialer.js';
import type { DaemonContext } from '../context.js';
import type { HttpModule } from '../http/http-module.js';
import type { DaemonModule } from '../module.js';
import type { Nodes } from '../nodes/node-group.js';
import { peerSettings } from '../talk/webrtc-calls.js';
import { audioSocket } from './audio-socket.js';
import { CallParticipants } from './call-participants.js';
import { joinSocket } from './join-socket.js';
import { ListeningRules } from './listening-rules.js';
import { participantRoutes } from './participant-routes.js';
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
  dialer: Pick<Dialer, 'person'>;
  /** Ends a session in any state, after a message. @throws ParleyError NOT_FOUND, SESSION_CLOSED */
  end: (sessionId: string, message: string | null) => Promise<void>;
}

export function liveModule(
  { settings, engine, clock, nowUnixMs, stores, events, owners, faults }: DaemonContext,
  { http, nodes, dialer, end }: LiveModuleOptions,
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
  const rules = new ListeningRules(settings, stores.calls);
  const participants = new CallParticipants({ control, rules, events: live, onError: faults.report });
  const sockets = new LiveSockets({ ...parts, onError: faults.report });
  events.onCall((call) => {
    live.call(call);
    running.call(call);
    if (call.endedUs === null) return;
    control.forget(call.sessionId);
    participants.forget(call.sessionId);
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
      audioSocket({ sockets, control, rules });
      joinSocket({ sockets, participants, clock, onError: faults.report });
      const { calls } = stores;
      participantRoutes(api, { participants, owners, dialer, calls, clock, peers: peerSettings(settings) });
      const nodesOnly = passes.nodesOnly.bind(passes);
      const shared = { calls, clock, app, nodesOnly };
      eventRoutes(api, { ...shared, events: live, owners, relayOthers: () => relay.watch() });
      liveCallRoutes(api, { ...shared, live: running, nodes, forwarder, relayOthers: () => callRelay.watch() });
    },
    stop: () => {
      participants.close();
      sockets.close();
      relay.close();
      callRelay.close();
      live.close();
      running.close();
    },
  };
}
