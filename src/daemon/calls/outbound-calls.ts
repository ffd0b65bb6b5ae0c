import type Database from 'better-sqlite3';
import type { Clock } from '../../base/clock.js';
import type { Settings } from '../../settings/settings.js';
import type { Engine } from '../../engine/engine.js';
import type { CallHistoryItem } from '../../session/record/call-history.js';
import type { SessionEvent } from '../../session/session-options.js';
import type { CallStore, StoredCall } from '../../store/calls.js';
import { DeliveryStore } from '../../store/deliveries.js';
import { DialStore } from '../../store/dials.js';
import { SqliteOutboxStore } from '../../store/outbox.js';
import type { PhoneStore } from '../../store/phones.js';
import type { SecretBox } from '../../store/secret-box.js';
import type { AgentRegistry } from '../agents/agents.js';
import type { Api } from '../http/api.js';
import type { CallLog } from '../call-log/call-log.js';
import { CallWebhook } from '../call-log/call-webhook.js';
import { Dialer } from './dialer.js';
import type { AdmissionGate } from '../http/admission-gate.js';
import { LiveEvents } from '../live/live-events.js';
import { RegisteredCalls } from './registered-calls.js';
import { callRoutes } from './call-routes.js';
import { eventRoutes } from '../live/event-routes.js';
import { webhookRoutes } from './webhook-routes.js';
import type { Telephone } from './telephone.js';

export interface CallNotificationsOptions {
  settings: Pick<Settings, 'callWebhook' | 'webhookSecret'>;
  database: Database.Database;
  box: SecretBox;
  clock: Clock;
  nowUnixMs: () => number;
  /** Messages to agents' own webhooks: those of the engine's outbox. */
  agentOutbox: SqliteOutboxStore;
  /** A call as its webhook is sent it. Default as it is stored. */
  shown?: (call: StoredCall) => CallHistoryItem;
  onError: (error: Error) => void;
}

/** Those who are told of calls: whoever watches, and the operator's webhook. */
export class CallNotifications {
  readonly events: LiveEvents;
  readonly webhook: CallWebhook;
  readonly #options: CallNotificationsOptions;
  readonly #operatorOutbox: SqliteOutboxStore;

  constructor(options: CallNotificationsOptions) {
    const { settings, database, box, clock, nowUnixMs, shown, onError } = options;
    this.#options = options;
    this.#operatorOutbox = new SqliteOutboxStore(database, box, 'operator');
    this.events = new LiveEvents(nowUnixMs);
    const { callWebhook: to } = settings;
    this.webhook = new CallWebhook({
      store: this.#operatorOutbox,
      secret: settings.webhookSecret,
      clock,
      nowUnixMs,
      ...(shown && { shown }),
      to: to === null ? null : { url: to.url, headers: to.headers ?? {} },
      onLost: (sessionId, reason) => onError(new Error(`callWebhook, about ${sessionId}: ${reason}`)),
    });
  }

  /** For a CallLog. */
  get hooks(): { onChange: (call: StoredCall) => void; atomically: <T>(work: () => T) => T } {
    const { database } = this.#options;
    return {
      onChange: (call) => {
        this.webhook.changed(call);
        this.events.call(call);
        this.webhook.wake();
      },
      atomically: (work) => database.transaction(work)(),
    };
  }

  routes(api: Api, calls: Pick<CallStore, 'get'>): void {
    const { database, box, clock, nowUnixMs, agentOutbox } = this.#options;
    eventRoutes(api, { events: this.events, calls, clock });
    webhookRoutes(api, {
      deliveries: new DeliveryStore(database, box),
      nowUnixMs,
      wake: () => {
        agentOutbox.wake();
        this.#operatorOutbox.wake();
      },
    });
  }

  /** Lets those who watch go. Call webhooks are still written down, and sent until `close`. */
  hush(): void {
    this.events.close();
  }

  close(): Promise<void> {
    this.hush();
    return this.webhook.close();
  }
}

export interface OutboundCallsOptions {
  settings: Pick<Settings, 'calls' | 'limits' | 'maxDurationS'>;
  database: Database.Database;
  engine: Engine;
  agents: AgentRegistry;
  phones: PhoneStore;
  calls: CallStore;
  log: CallLog;
  doors: AdmissionGate;
  nowUnixMs: () => number;
  /** Opens it where it is not. */
  telephone: () => Promise<Telephone>;
  /** Null where nobody has opened it. */
  openTelephone: () => Promise<Telephone> | null;
  /** Sessions of others that are being made. */
  starting: () => number;
  onSessionEvent: (sessionId: string, agentId: string, event: SessionEvent) => void;
}

/** Calls that are asked for: placed, registered, ended, stopped. */
export class OutboundCalls {
  readonly dialer: Dialer;
  readonly registered: RegisteredCalls;
  readonly #options: OutboundCallsOptions;
  readonly #dials: DialStore;

  constructor(options: OutboundCallsOptions) {
    this.#options = options;
    const { settings, database, engine, agents, log, nowUnixMs } = options;
    this.#dials = new DialStore(database, nowUnixMs);
    this.dialer = new Dialer({
      ...options,
      dials: this.#dials,
      guards: settings.calls,
      maxDurationS: settings.maxDurationS,
      maxSessions: settings.limits.sessions,
    });
    this.registered = new RegisteredCalls({ engine, agents, log, clock: engine.clock });
  }

  routes(api: Api): void {
    const { engine, calls, settings, openTelephone, telephone } = this.#options;
    const { dialer, registered } = this;
    callRoutes(api, {
      dialer,
      registered,
      engine,
      calls,
      dials: this.#dials,
      guards: settings.calls,
      telephone: openTelephone,
      openTelephone: telephone,
    });
  }

  /** Why no call is handed on to a number just now; null = it may be. */
  whyNoTransfer(): string | null {
    const { enabled } = this.#options.settings.calls;
    return enabled && this.dialer.stopped === null ? null : 'outbound calls are stopped';
  }

  /** Ends what it has begun. May be called twice. */
  close(): Promise<void> {
    this.registered.close();
    return this.dialer.close();
  }
}
