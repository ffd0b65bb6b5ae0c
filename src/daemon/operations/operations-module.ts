import type { CarrierStatistics } from '../../telephony/carriers/carrier-statistics.js';
import { UnderWay } from '../../store/under-way.js';
import type { DaemonContext } from '../context.js';
import type { HttpModule } from '../http/http-module.js';
import type { Media } from '../media.js';
import type { DaemonModule } from '../module.js';
import { healthRoutes, metricsRoutes } from './health-routes.js';
import { Observability } from './observability.js';

/** Health, figures, the log of sessions and requests, and traces. */
export interface OperationsModule extends DaemonModule {
  /** Where SIP trunks and other carriers are counted. */
  readonly trunks: CarrierStatistics;
}

export function operationsModule(
  context: DaemonContext,
  { app, access, clients }: HttpModule,
  media: Media,
): OperationsModule {
  const { settings, engine, clock, nowUnixMs, database, log, faults, events, admission } = context;
  const { otlpEndpoint: endpoint } = settings;
  const underWay = new UnderWay(database);
  const observability = new Observability({
    log,
    faults,
    clock,
    nowUnixMs,
    media,
    calls: () => underWay.calls(),
    outbox: () => underWay.outbox(),
    sessions: () => engine.sessions.size,
    maxSessions: settings.limits.sessions,
    ready: () => admission.state === 'ready',
    openTraces:
      endpoint === null
        ? null
        : async () => (await import('./open-traces.js')).openTraces(settings, { endpoint, clock, log }),
  });
  const { metrics, trunks } = observability;
  observability.watch(app, clients);
  events.on('session.event', ({ sessionId, agentId, event }) =>
    observability.sessionEvent(sessionId, agentId ?? '', event),
  );
  events.on('call.ended', ({ item }) => metrics.cost(item.cost_breakdown));
  return {
    name: 'operations',
    trunks,
    routes: (api) => {
      healthRoutes(api, () => admission.state);
      metricsRoutes(api, { access, clients, who: settings.metrics, text: () => metrics.text() });
    },
    close: () => observability.close(),
  };
}
