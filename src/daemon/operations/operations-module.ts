import * as z from 'zod';
import { CarrierStatistics } from '../../telephony/carriers/carrier-statistics.js';
import { UnderWay } from '../../store/under-way.js';
import type { Readiness } from '../admission-control.js';
import type { DaemonContext } from '../context.js';
import type { HttpModule } from '../http/http-module.js';
import type { Media } from '../media.js';
import type { DaemonModule } from '../module.js';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { SessionEvent } from '../../session/session-options.js';
import type { SessionReport } from '../../session/record/session-report.js';
import type { Client, Clients } from '../http/clients.js';
import type { FileFigures } from './file-metrics.js';
import type { FaultReporter, Log, LogFields, LogLevel } from './log.js';
import { Metrics, type MetricSources } from './metrics.js';
import type { SessionSpans } from './session-spans.js';
import { errorOf } from '../../base/errors.js';
import type { Api } from '../http/api.js';
import type { Settings } from '../../settings/settings.js';
import { type Access, isLoopbackName } from '../http/access.js';

/** Health checks, metrics, the log of sessions and requests, and traces. */
export interface OperationsModule extends DaemonModule {
  /** Statistics of SIP trunks and other carriers. */
  readonly trunks: CarrierStatistics;
  /** Adds metrics of another part. */
  readonly addMetrics: Metrics['add'];
}

export function operationsModule(
  context: DaemonContext,
  { app, access, clients }: HttpModule,
  { media, files }: { media: Media; files: FileFigures | null },
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
    files,
    calls: () => underWay.calls(),
    outbox: () => underWay.outbox(),
    sessions: () => engine.sessions.size,
    maxSessions: settings.limits.sessions,
    ready: () => admission.state === 'ready',
    database: context.databaseState,
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
    addMetrics: (adds) => metrics.add(adds),
    routes: (api) => {
      healthRoutes(api, () => admission.state);
      metricsRoutes(api, { access, clients, who: settings.metrics, text: () => metrics.text() });
    },
    close: () => observability.close(),
  };
}

interface ObservabilityOptions extends Omit<MetricSources, 'trunks'> {
  log: Log;
  faults: FaultReporter;
  nowUnixMs: () => number;
  /** Null = no traces. */
  openTraces: (() => Promise<SessionSpans>) | null;
}

/** Observability for the operator: metrics, log and traces. */
class Observability {
  readonly metrics: Metrics;
  readonly trunks: CarrierStatistics;
  readonly #options: ObservabilityOptions;
  /** Sessions with at least one event. */
  readonly #begun = new Set<string>();
  #traces: Promise<SessionSpans | null> | null = null;

  constructor(options: ObservabilityOptions) {
    this.#options = options;
    this.trunks = new CarrierStatistics((level, message, fields) => options.log.write(level, message, fields));
    this.metrics = new Metrics({ ...options, trunks: this.trunks });
  }

  sessionEvent(sessionId: string, agentId: string, event: SessionEvent): void {
    if (!this.#begun.has(sessionId)) {
      this.#begun.add(sessionId);
      this.#write('debug', sessionId, agentId, 'conversation began');
    }
    this.metrics.session(agentId, event);
    this.#log(sessionId, agentId, event);
    this.#trace(sessionId, agentId, event);
    if (event.type === 'ended') this.#begun.delete(sessionId);
  }

  /** Logs and counts the answers of an HTTP server. Call it before routes are added. */
  watch(app: FastifyInstance, clients: Clients): void {
    app.addHook('onResponse', (request, reply, done) => {
      const { method } = request;
      const route = request.routeOptions.url ?? 'none';
      const { statusCode: status, elapsedTime: ms } = reply;
      this.metrics.request(method, route, status, ms / 1000);
      const level = status >= 500 && status !== 503 ? 'warn' : 'debug';
      const { address: client } = clients.of(request.raw);
      const fields = { request: request.id, method, route, status, ms: Math.round(ms * 10) / 10, client };
      this.#options.log.write(level, `${method} ${route}: ${String(status)}`, fields);
      done();
    });
  }

  /** Exports the remaining traces. */
  async close(): Promise<void> {
    this.metrics.close();
    await (await this.#traces)?.close();
  }

  #log(sessionId: string, agentId: string, event: SessionEvent): void {
    if (event.type === 'answered') {
      const { turn, responseMs, endOfTurnMs, llmFirstMs, ttsFirstMs } = event.metrics;
      const ms = Math.round(responseMs ?? 0);
      this.#write('info', sessionId, agentId, `turn ${String(turn)} answered after ${String(ms)} ms`, {
        turn,
        response_ms: rounded(responseMs),
        end_of_turn_ms: rounded(endOfTurnMs),
        llm_first_ms: rounded(llmFirstMs),
        tts_first_ms: rounded(ttsFirstMs),
      });
    } else if (event.type === 'tool') {
      const { call, ok, tookMs } = event;
      const text = `${call.name} ${ok ? 'done' : 'failed'} in ${tookMs.toFixed(0)} ms`;
      this.#write(ok ? 'info' : 'warn', sessionId, agentId, text, { tool: call.name, ok, ms: rounded(tookMs) });
    } else if (event.type === 'ended') this.#ended(agentId, event.report);
  }

  #ended(agentId: string, { sessionId, status, durationMs, turns, faults }: SessionReport): void {
    const names = Object.keys(faults);
    const also = names.length === 0 ? '' : `, with faults: ${names.join(', ')}`;
    const text = `${status} after ${(durationMs / 1000).toFixed(1)} s and ${String(turns.length)} turns${also}`;
    const fields = {
      status,
      duration_s: Math.round(durationMs / 100) / 10,
      turns: turns.length,
      faults: names.join(' '),
    };
    this.#write(status === 'error' ? 'warn' : 'info', sessionId, agentId, text, fields);
  }

  #write(level: LogLevel, session: string, agent: string, text: string, fields: LogFields = {}): void {
    this.#options.log.write(level, `${agent} ${session.slice(0, 8)}: ${text}`, { session, agent, ...fields });
  }

  #trace(sessionId: string, agentId: string, event: SessionEvent): void {
    const { openTraces, faults, nowUnixMs } = this.#options;
    if (openTraces === null || (event.type !== 'tool' && event.type !== 'ended')) return;
    this.#traces ??= openTraces().catch((error: unknown) => {
      faults.report(errorOf(error));
      return null;
    });
    const atUnixMs = nowUnixMs();
    void this.#traces.then((traces) => traces?.add(sessionId, agentId, event, atUnixMs));
  }
}

function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms);
}

/** `/healthz`: liveness. `/readyz`: readiness, which means that the engines are warm. */
function healthRoutes(api: Api, state: () => Readiness): void {
  const tag = 'operation';
  api.add({
    id: 'getHealth',
    method: 'GET',
    path: '/healthz',
    tag,
    gate: 'open',
    summary: 'Liveness: the process answers',
    answer: z.strictObject({ status: z.literal('ok') }),
    examples: () => ({ answer: { status: 'ok' } }),
    handle: () => ({ status: 'ok' as const }),
  });
  api.add({
    id: 'getReadiness',
    method: 'GET',
    path: '/readyz',
    tag,
    gate: 'open',
    summary: 'Readiness: the engines are warm',
    answer: z.strictObject({ status: z.enum(['ready', 'warming up', 'shutting down', 'database unreachable']) }),
    statuses: { 503: 'The engines are warming up, the daemon is shutting down, or PostgreSQL cannot be reached' },
    examples: () => ({ answer: { status: 'ready' } }),
    handle: ({ reply }) => {
      const status = state();
      void reply.code(status === 'ready' ? 200 : 503);
      return { status };
    },
  });
}

/** `/metrics`, for Prometheus. */
function metricsRoutes(
  api: Api,
  {
    access,
    clients,
    who,
    text,
  }: { access: Access; clients: Clients; who: Settings['metrics']; text: () => Promise<string> },
): void {
  api.add({
    id: 'getMetrics',
    method: 'GET',
    path: '/metrics',
    tag: 'operation',
    summary: 'Metrics for Prometheus',
    description: 'Text format 0.0.4. By default, requests from this machine need no key, all others a private key.',
    gate: (request) => {
      if (who === 'key' || (who === 'local' && !isLocal(request, clients.of(request.raw))))
        access.privateKey(request, 'read');
    },
    security: 'optional',
    answer: z.string(),
    content: 'text/plain',
    examples: () => ({ answer: '# TYPE parley_sessions gauge\nparley_sessions 3\n' }),
    handle: async ({ reply }) => reply.type('text/plain; version=0.0.4; charset=utf-8').send(await text()),
  });
}

/**
 * Whether a request comes directly from this machine: not through a proxy on it, and not from a page whose host name
 * was pointed here (DNS rebinding).
 */
function isLocal({ hostname }: FastifyRequest, { address, isForwarded }: Client): boolean {
  return isLoopbackName(address) && !isForwarded && isLoopbackName(hostname);
}
