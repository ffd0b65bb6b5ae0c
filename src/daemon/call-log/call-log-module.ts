import type { CallHistoryItem } from '../../session/record/call-history.js';
import type { StoredCall } from '../../store/calls.js';
import { DeliveryStore } from '../../store/deliveries.js';
import { StoredOutbox } from '../../store/outbox.js';
import type { DaemonContext } from '../context.js';
import type { HttpModule } from '../http/http-module.js';
import type { DaemonModule } from '../module.js';
import { CallArchive, webhookItem } from './call-archive.js';
import type { CallFiles } from '../files/call-files.js';
import type { CallLog } from './call-log.js';
import { callLogRoutes } from './call-log-routes.js';
import { CallWebhook } from './call-webhook.js';
import { callEraser, campaignEraser, Erasure, erasureRoutes } from './erasure.js';
import { Recovery } from './recovery.js';
import { storyRoutes } from './story-routes.js';
import { webhookRoutes } from './webhook-routes.js';

/** The call log with recordings and traces, the operator's call webhook, recovery, retention and erasure. */
export interface CallLogModule extends DaemonModule {
  readonly log: CallLog;
  readonly archive: CallArchive;
  /** Closes the calls of dead nodes. */
  readonly recovery: Recovery;
}

/** @param flushTrace makes other threads write their part of a session's event log, as `MediaHost.flushTrace` */
export function callLogModule(
  context: DaemonContext,
  { access, clients, links }: HttpModule,
  files: CallFiles,
  flushTrace: (sessionId: string) => Promise<boolean>,
): CallLogModule {
  const { settings, engine, clock, nowUnixMs, database, stores, faults, events, writes, queues, owners, leases } =
    context;
  const onError = faults.report;
  const itemOf = (call: StoredCall): CallHistoryItem => webhookItem(call, links);
  const archive = new CallArchive({
    settings,
    database,
    clock,
    leases,
    nowUnixMs,
    links,
    events,
    writes,
    queues,
    onError,
    store: stores.calls,
    evals: stores.evalRuns,
    files,
    multiplierOf: stores.voices.multiplierOf,
    flushTrace,
  });
  const { log, traces } = archive;
  engine.keepIn(traces === null ? { history: log } : { history: log, traces });
  const outbox = new StoredOutbox(database, stores.box, 'operator', writes);
  const webhook = callWebhook(context, outbox, itemOf);
  const recovery = new Recovery({
    engine,
    database,
    onError,
    archive,
    nowUnixMs,
    itemOf,
    dials: stores.dials,
    unfinished: stores.unfinished,
    outbox: stores.outbox,
  });
  const erasure = new Erasure(database, [callEraser(database, files), campaignEraser(database)]);
  return {
    name: 'call-log',
    log,
    archive,
    recovery,
    routes: (api) => {
      webhookRoutes(api, {
        deliveries: new DeliveryStore(database, stores.box),
        nowUnixMs,
        wake: () => {
          stores.outbox.wake();
          outbox.wake();
        },
      });
      callLogRoutes(api, { archive, access, clients, links, owners });
      storyRoutes(api, { archive, owners });
      erasureRoutes(api, erasure);
    },
    recover: async () => {
      await webhook.recover();
      // With PostgreSQL, other nodes close the calls of a dead one.
      if (database.dialect === 'sqlite') await recovery.closeCalls();
      archive.start();
    },
    warmUp: () => webhook.open(),
    takeOver: (nodeId) => recovery.closeCallsOf(nodeId),
    resume: () => void recovery.run(),
    stop: () => recovery.close(),
    close: async () => {
      await erasure.close();
      await Promise.all([archive.close(), webhook.close()]);
    },
  };
}

/** The operator's webhook. It gets the changes of calls. */
function callWebhook(
  { settings, clock, nowUnixMs, events, faults }: DaemonContext,
  store: StoredOutbox,
  itemOf: (call: StoredCall) => CallHistoryItem,
): CallWebhook {
  const { callWebhook: to, webhookSecret: secret } = settings;
  const webhook = new CallWebhook({
    to: to === null ? null : { url: to.url, headers: to.headers ?? {} },
    secret,
    store,
    clock,
    nowUnixMs,
    itemOf,
    onLost: (sessionId, reason) => faults.report(new Error(`callWebhook, about ${sessionId}: ${reason}`)),
  });
  events.within((call) => webhook.within(call));
  events.onCall((call) => webhook.onCall(call));
  return webhook;
}
