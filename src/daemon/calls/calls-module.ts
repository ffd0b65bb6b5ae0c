import { ParleyError } from '../../base/errors.js';
import type { CarrierStatistics } from '../../telephony/carriers/carrier-statistics.js';
import { RegisteredCallStore } from '../../store/registered-calls.js';
import type { AgentRegistry } from '../agents/agents.js';
import type { CallLog } from '../call-log/call-log.js';
import type { DaemonContext } from '../context.js';
import type { CallQueues } from '../queues/call-queues.js';
import type { HttpModule } from '../http/http-module.js';
import type { Media } from '../media.js';
import type { DaemonModule } from '../module.js';
import { callRoutes, endSession } from './call-routes.js';
import { CarrierEndpoint, nodeTokenPrefix } from './carrier-routes.js';
import { Dialer } from './dialer.js';
import { doNotCallRoutes } from './do-not-call-routes.js';
import { InboundWebhook } from './inbound-webhook.js';
import { KillSwitch } from './kill-switch.js';
import { LazyTelephone } from './lazy-telephone.js';
import { CallPlacing } from './placing.js';
import type { RecordStarts } from './dial.js';
import { phoneRoutes } from './phone-routes.js';
import { type RegisteredCall, RegisteredCalls } from './registered-calls.js';
import { trunkRoutes } from './trunk-routes.js';

/** Numbers, carriers and phone calls. */
export interface CallsModule extends DaemonModule {
  readonly dialer: Dialer;
  readonly registered: RegisteredCalls;
  /** As `endSession`. */
  end: (sessionId: string, message: string | null) => Promise<void>;
}

export interface CallsModuleOptions {
  http: HttpModule;
  agents: AgentRegistry;
  log: CallLog;
  media: Media;
  trunks: CarrierStatistics;
  /** Of all campaigns. */
  records: RecordStarts;
  queues: CallQueues;
}

export function callsModule(context: DaemonContext, options: CallsModuleOptions): CallsModule {
  const { settings, engine, clock, nowUnixMs, database, stores, faults, events, writes, changes } = context;
  const { admission, owners } = context;
  const { http, agents, log, media, trunks, records, queues } = options;
  const { phones, doNotCall, calls, dials } = stores;
  const guards = settings.calls;
  const registered = registeredCalls(context, { agents, log });
  noteAnswers(context);
  const isStopped = lastKnown(async () => (await dials.stopped()) !== null, false);
  const inbound = inboundWebhook(context);
  const telephone = new LazyTelephone(async () => ({
    ...telephoneParts(context),
    agents,
    log,
    registered,
    inbound,
    queues,
    figures: trunks,
    openCallMedia: () => media.callMedia(),
    mayTransfer: async () => (guards.enabled && !(await isStopped()) ? null : 'outbound calls are stopped'),
  }));
  const openTelephone = (): ReturnType<LazyTelephone['open']> => telephone.open();
  const dialer = new Dialer({
    engine,
    agents,
    phones,
    calls,
    dials,
    writes,
    log,
    guards,
    placing: new CallPlacing({ database, dials, log, records, node: context.node }),
    admission,
    events,
    openTelephone,
    maxDurationS: settings.maxDurationS,
  });
  const cancelNumbers = changes.on('phones', async () => (await telephone.opened)?.updateNumbers());
  const killSwitch = new KillSwitch({ dials, changes, endCalls: () => void dialer.endAll() });
  const carriers = new CarrierEndpoint({
    clock,
    endpointAt: async (path) => (await telephone.open()).endpointAt(path),
    owners,
    forwarder: http.forwarder,
    onError: faults.report,
  });
  const ending = { engine, dialer, registered, calls, telephone, owners };
  return {
    name: 'calls',
    dialer,
    registered,
    end: (sessionId, message) => endSession(sessionId, ending, message),
    routes: (api) => {
      phoneRoutes(api, { engine, nowUnixMs, agents, phones, openTelephone });
      trunkRoutes(api, { nowUnixMs, figures: trunks, nowMs: () => clock.nowMs(), open: openTelephone });
      doNotCallRoutes(api, doNotCall, nowUnixMs);
      callRoutes(api, { ...ending, dialer, registered, dials, guards });
      carriers.routes(http.app, http.upgrades);
    },
    recover: () => registered.recover(),
    warmUp: async () => {
      await Promise.all([telephone.open(), inbound?.warmUp()]);
    },
    disown: () => {
      dialer.endAll();
      void telephone.opened?.then((opened) => opened.hangUpAll()).catch(() => undefined);
    },
    stop: () => {
      carriers.close();
      killSwitch.close();
      cancelNumbers();
    },
    close: async () => {
      await registered.close();
      await dialer.close();
      await telephone.close();
      await inbound?.close();
    },
  };
}

/** The minutes of an outbound call count from its answer. */
function noteAnswers({ events, stores: { dials } }: DaemonContext): void {
  events.within(function* (call, agoUs) {
    if (call.direction === 'outbound' && call.status === 'in-progress') yield* dials.answered(call.sessionId, agoUs);
  });
}

/** Null = each number's own agent answers its calls. */
function inboundWebhook({ settings, clock, nowUnixMs }: DaemonContext): InboundWebhook | null {
  const { inboundWebhook: address, webhookSecret: secret } = settings;
  if (address === null) return null;
  const to = { url: address.url, headers: address.headers ?? {} };
  return new InboundWebhook({ to, secret, clock, nowUnixMs });
}

function registeredCalls(
  { engine, clock, database, stores, faults }: DaemonContext,
  { agents, log }: Pick<CallsModuleOptions, 'agents' | 'log'>,
): RegisteredCalls {
  const store = new RegisteredCallStore<RegisteredCall>(database, stores.box);
  return new RegisteredCalls({
    engine,
    agents,
    log,
    clock,
    database,
    calls: stores.calls,
    store,
    onError: faults.report,
  });
}

/** What the telephone has of the daemon. */
function telephoneParts({
  engine,
  settings,
  stores,
  admission,
  leases,
  database,
  node,
  events,
  faults,
}: DaemonContext) {
  return {
    engine,
    settings,
    phones: stores.phones,
    admission,
    leases,
    // Of a file there is one node: nobody asks whose a token is.
    tokenPrefix: () => (database.dialect === 'sqlite' ? '' : nodeTokenPrefix(node.id)),
    events,
    onError: faults.report,
  };
}

/** Asks the database. While it cannot be reached, calls that go on use what was known last. */
function lastKnown<T>(ask: () => Promise<T>, first: T): () => Promise<T> {
  let known = first;
  return async () => {
    try {
      known = await ask();
    } catch (error) {
      if (!(error instanceof ParleyError) || error.code !== 'DATABASE_UNREACHABLE') throw error;
    }
    return known;
  };
}
