import type { DaemonContext } from '../context.js';
import type { DaemonModule } from '../module.js';
import { eventRoutes } from './event-routes.js';
import { LiveEvents } from './live-events.js';

/** Server-sent events of calls that go on. */
export function liveModule({ clock, nowUnixMs, stores, events, owners }: DaemonContext): DaemonModule {
  const live = new LiveEvents(nowUnixMs);
  events.onCall((call) => live.call(call));
  events.on('session.event', ({ sessionId, event }) => live.session(sessionId, event));
  return {
    name: 'live',
    routes: (api) => eventRoutes(api, { events: live, calls: stores.calls, clock, owners }),
    stop: () => live.close(),
  };
}
