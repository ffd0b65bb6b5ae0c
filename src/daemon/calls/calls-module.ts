import type { CarrierStatistics } from '../../telephony/carriers/carrier-statistics.js';
import { DialStore } from '../../store/dials.js';
import { RegisteredCallStore } from '../../store/registered-calls.js';
import { SqliteDatabase } from '../../store/sqlite/sqlite-database.js';
import type { AgentRegistry } from '../agents/agents.js';
import type { CallLog } from '../call-log/call-log.js';
import type { DaemonContext } from '../context.js';
import type { HttpModule } from '../http/http-module.js';
import type { Media } from '../media.js';
import type { DaemonModule } from '../module.js';
import { callRoutes } from './call-routes.js';
import { CarrierEndpoint } from './carrier-routes.js';
import { Dialer } from './dialer.js';
import { doNotCallRoutes } from './do-not-call-routes.js';
import { LazyTelephone } from './lazy-telephone.js';
import { phoneRoutes } from './phone-routes.js';
import { RegisteredCalls } from './registered-calls.js';
import { trunkRoutes } from './trunk-routes.js';

/** Numbers, carriers and phone calls. */
export interface CallsModule extends DaemonModule {
  readonly dialer: Dialer;
  readonly registered: RegisteredCalls;
}

export interface CallsModuleOptions {
  http: HttpModule;
  agents: AgentRegistry;
  log: CallLog;
  media: Media;
  trunks: CarrierStatistics;
}

export function callsModule(context: DaemonContext, options: CallsModuleOptions): CallsModule {
  const { settings, engine, clock, nowUnixMs, database, stores, faults, events, admission } = context;
  const { http, agents, log, media, trunks } = options;
  const { phones, doNotCall, calls } = stores;
  const guards = settings.calls;
  const shared = new SqliteDatabase(database, nowUnixMs);
  const registered = new RegisteredCalls({
    engine,
    agents,
    log,
    clock,
    database: shared,
    store: new RegisteredCallStore(shared, stores.box),
    onError: faults.report,
  });
  const dials = new DialStore(database, nowUnixMs);
  const telephone = new LazyTelephone(async () => ({
    engine,
    settings,
    agents,
    phones,
    log,
    registered,
    admission,
    events,
    figures: trunks,
    openCallMedia: () => media.callMedia(),
    mayTransfer: () => (guards.enabled && dials.stopped === null ? null : 'outbound calls are stopped'),
    onError: faults.report,
  }));
  const openTelephone = (): ReturnType<LazyTelephone['open']> => telephone.open();
  const dialer = new Dialer({
    engine,
    agents,
    phones,
    calls,
    dials,
    log,
    guards,
    admission,
    events,
    openTelephone,
    maxDurationS: settings.maxDurationS,
  });
  const carriers = new CarrierEndpoint({
    clock,
    endpointAt: async (path) => (await telephone.open()).endpointAt(path),
    onError: faults.report,
  });
  return {
    name: 'calls',
    dialer,
    registered,
    routes: (api) => {
      phoneRoutes(api, { engine, nowUnixMs, agents, phones, openTelephone });
      trunkRoutes(api, { nowUnixMs, figures: trunks, nowMs: () => clock.nowMs(), open: openTelephone });
      doNotCallRoutes(api, doNotCall, nowUnixMs);
      callRoutes(api, { engine, dialer, registered, dials, guards, calls, telephone });
      carriers.routes(http.app, http.upgrades);
    },
    recover: () => registered.recover(),
    warmUp: async () => {
      await telephone.open();
    },
    stop: () => carriers.close(),
    close: async () => {
      await registered.close();
      await dialer.close();
      await telephone.close();
    },
  };
}
