import type { DatabaseState } from '../daemon-database.js';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { CarrierStatistics } from '../../telephony/carriers/carrier-statistics.js';
import { packageVersion } from '../../package-files.js';
import type { Clock } from '../../base/clock.js';
import { nowUnixMs } from '../../base/real-clock.js';
import type { CostItem } from '../../session/record/call-history.js';
import type { SessionEvent } from '../../session/session-options.js';
import type { SessionReport } from '../../session/record/session-report.js';
import type { TurnMetrics } from '../../session/record/session-metrics.js';
import { fileMetrics, type FileFigures } from './file-metrics.js';
import { MetricRegistry, type MetricSample } from './metric-registry.js';
import { type EventLoop, NodeLoad } from './node-load.js';
import { UNHEARD_KINDS } from '../../transports/rtp/totals.js';
import { hopText } from '../../telephony/sip/hop.js';

/** The interval between two readings of the event loop in milliseconds. Delays beyond it count. */
const LOOK_MS = 20;
/** The shortest window of quantiles, in milliseconds. */
const WINDOW_MS = 15_000;
const QUANTILES = [0.5, 0.99, 1] as const;

/**
 * The delay of the event loop as a summary: quantiles of the last complete window, sum and count of all windows. A
 * window ends with the first reading after its minimum length, so that several readers see the same one.
 */
export class EventLoopDelay {
  readonly #delay = monitorEventLoopDelay({ resolution: LOOK_MS });
  readonly #clock: Clock;
  #quantiles: readonly number[] | null = null;
  #sumS = 0;
  #count = 0;
  #windowFromMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#windowFromMs = clock.nowMs();
    this.#delay.enable();
  }

  /** Lines of a Prometheus summary by the suffix of their names. */
  get summary(): { quantiles: readonly MetricSample[]; sum: number; count: number } {
    this.#endWindow();
    const quantiles = this.#quantiles ?? this.#look();
    return {
      quantiles: QUANTILES.map((quantile, at) => ({
        labels: { quantile: String(quantile) },
        value: quantiles[at] ?? 0,
      })),
      sum: this.#sumS,
      count: this.#count,
    };
  }

  /** The delay that one of a hundred readings of the last window exceeds, in seconds. */
  get lateS(): number {
    this.#endWindow();
    return (this.#quantiles ?? this.#look())[1] ?? 0;
  }

  close(): void {
    this.#delay.disable();
  }

  #endWindow(): void {
    const nowMs = this.#clock.nowMs();
    if (nowMs - this.#windowFromMs < WINDOW_MS) return;
    this.#windowFromMs = nowMs;
    this.#quantiles = this.#look();
    const { count, mean } = this.#delay;
    this.#count += count;
    if (count > 0) this.#sumS += count * late(mean);
    this.#delay.reset();
  }

  #look(): readonly number[] {
    return QUANTILES.map((quantile) => late(quantile === 1 ? this.#delay.max : this.#delay.percentile(quantile * 100)));
  }
}

/** Converts the nanoseconds between two readings to the delay of the second one in seconds. */
function late(ns: number): number {
  return Math.max(0, ns / 1e9 - LOOK_MS / 1000) || 0;
}

/** Values that are read at each scrape. */
export interface MetricSources {
  /** Calls that have not ended, by channel and status. */
  calls: () => Promise<readonly { channel: string; status: string; count: number }[]>;
  /** Running sessions. */
  sessions: () => number;
  /** The limit of sessions. */
  maxSessions: number;
  clock: Clock;
  /** Messages to webhooks that have not been delivered. */
  outbox: () => Promise<number>;
  database: Pick<DatabaseState, 'fault' | 'waiting' | 'dropped'>;
  ready: () => boolean;
  /** The lines of each media thread, null = it is not up; and the number of threads that ended unexpectedly. */
  media: { readonly loads: readonly (number | null)[]; readonly deaths: number; readonly loops: readonly EventLoop[] };
  /** Internal faults of parley. */
  faults: { readonly count: number };
  trunks: CarrierStatistics;
  /** Null = there is no store for files. */
  files: FileFigures | null;
}

/** Seconds. The relevant response times are between 0.2 s and a few seconds. */
const ANSWER_BOUNDS = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1, 1.25, 1.5, 2, 3, 5, 10];
/** Fewer buckets, because there are many agents. */
const AGENT_BOUNDS = [0.3, 0.5, 0.8, 1.25, 2, 5];
/** Maximum of agents and of providers with their own label. Each label is a permanent series. */
const MOST_NAMES = 100;
const CALL_BOUNDS = [5, 15, 30, 60, 120, 300, 600, 1200, 3600];
const HTTP_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The stages of an answer: their names in TurnMetrics, and in the label `stage`. */
const STAGES = [
  ['responseMs', 'response'],
  ['endOfTurnMs', 'end_of_turn'],
  ['llmFirstMs', 'llm_first'],
  ['firstSentenceMs', 'first_sentence'],
  ['ttsFirstMs', 'tts_first'],
] as const satisfies readonly (readonly [keyof TurnMetrics, string])[];

/** The counters of LineStats. */
const PACKETS = ['sent', 'received', 'lost', 'late', 'duplicate', 'reordered'] as const;

/** The daemon's metrics. docs/operation.md lists them. */
export class Metrics {
  readonly #registry = new MetricRegistry();
  readonly #loop: EventLoopDelay;
  readonly #agents = new Set<string>();
  readonly #providers = new Set<string>();
  readonly #answers;
  readonly #ended;
  readonly #lengths;
  readonly #agentAnswers;
  readonly #providerFirsts;
  readonly #providerFailures;
  readonly #tokens;
  readonly #heard;
  readonly #spoken;
  readonly #costs;
  readonly #tools;
  readonly #faults;
  readonly #frames;
  readonly #packets;
  readonly #requests;
  readonly #requestTimes;

  readonly #sources: MetricSources;
  /** As the database had them last. */
  #calls: Awaited<ReturnType<MetricSources['calls']>> = [];
  #outbox = 0;

  constructor(sources: MetricSources) {
    this.#sources = sources;
    const registry = this.#registry;
    this.#loop = new EventLoopDelay(sources.clock);
    const version = packageVersion();
    registry.read('gauge', 'parley_info', 'The version that runs.', () => [{ labels: { version }, value: 1 }]);
    registry.read('gauge', 'parley_ready', '1 once the engines are warm and while new calls are taken.', () => [
      { value: sources.ready() ? 1 : 0 },
    ]);
    registry.read('gauge', 'parley_sessions', 'Running conversations.', () => [{ value: sources.sessions() }]);
    registry.read('gauge', 'parley_sessions_limit', 'The limit of concurrent conversations.', () => [
      { value: sources.maxSessions },
    ]);
    loadMetrics(registry, sources, () => this.#loop.lateS);
    registry.read('gauge', 'parley_calls', 'Calls in progress, by channel and status.', () =>
      this.#calls.map(({ channel, status, count }) => ({ labels: { channel, status }, value: count })),
    );
    this.#ended = registry.counter('parley_sessions_ended_total', 'Ended conversations, by status.');
    this.#lengths = registry.histogram('parley_session_seconds', 'Duration of conversations.', CALL_BOUNDS);
    this.#answers = registry.histogram(
      'parley_answer_seconds',
      'Duration of answers by stage. The stage response is the time that the user waits.',
      ANSWER_BOUNDS,
    );
    this.#agentAnswers = registry.histogram(
      'parley_agent_response_seconds',
      'Response time by agent. Only the first hundred agents have their own label.',
      AGENT_BOUNDS,
    );
    this.#providerFirsts = registry.histogram(
      'parley_provider_first_seconds',
      "Time to a provider's first token or audio, or from the end of speech to the final transcript.",
      ANSWER_BOUNDS,
    );
    this.#providerFailures = registry.counter(
      'parley_provider_failures_total',
      'Requests and streams of providers that failed (error) or were too slow (late).',
    );
    this.#tokens = registry.counter('parley_llm_tokens_total', 'Tokens of language models, by provider and model.');
    this.#heard = registry.counter('parley_stt_seconds_total', 'Seconds of recognised audio, by provider.');
    this.#spoken = registry.counter('parley_tts_characters_total', 'Synthesised characters, by provider.');
    this.#costs = registry.counter('parley_cost_total', 'Cost of calls by the prices of the settings.');
    this.#tools = registry.counter('parley_tool_calls_total', 'Tool calls, by success.');
    this.#faults = registry.counter('parley_faults_total', 'Faults that did not end their conversation, by name.');
    this.#frames = registry.counter(
      'parley_playout_faults_total',
      'Frames of 20 ms that ran dry within an utterance (underrun), or that this machine was too late for (skipped).',
    );
    this.#packets = registry.counter(
      'parley_line_packets_total',
      'Sent and received packets of ended lines, by outcome.',
    );
    registry.read('gauge', 'parley_media_thread_lines', 'Calls of each media thread that is up.', () =>
      sources.media.loads.flatMap((lines, n) =>
        lines === null ? [] : [{ labels: { thread: String(n + 1) }, value: lines }],
      ),
    );
    registry.read('counter', 'parley_media_threads_ended_total', 'Media threads that ended unexpectedly.', () => [
      { value: sources.media.deaths },
    ]);
    trunkMetrics(registry, sources.trunks);
    if (sources.files !== null) fileMetrics(registry, sources.files);
    registry.read('counter', 'parley_errors_total', 'Internal faults of parley. The log has the details.', () =>
      sources.faults.count === 0 ? [] : [{ value: sources.faults.count }],
    );
    databaseMetrics(registry, sources.database);
    registry.read('gauge', 'parley_webhook_outbox', 'Messages to webhooks that have not been delivered.', () => [
      { value: this.#outbox },
    ]);
    this.#requests = registry.counter('parley_http_requests_total', 'HTTP requests, by route and status.');
    this.#requestTimes = registry.histogram('parley_http_request_seconds', 'Duration of HTTP answers.', HTTP_BOUNDS);
    this.#process(registry);
  }

  /** Counts an event of a session. */
  session(agentId: string, event: SessionEvent): void {
    if (event.type === 'answered') {
      const { responseMs } = event.metrics;
      if (responseMs !== null) this.#agentAnswers.observe(responseMs / 1000, { agent: labelOf(agentId, this.#agents) });
      for (const [member, stage] of STAGES) {
        const ms = event.metrics[member];
        if (ms !== null) this.#answers.observe(ms / 1000, { stage });
      }
    } else if (event.type === 'provider') {
      const labels = { stage: event.stage, provider: labelOf(event.provider, this.#providers) };
      if ('firstMs' in event) this.#providerFirsts.observe(event.firstMs / 1000, labels);
      else this.#providerFailures.add({ ...labels, why: event.failed });
    } else if (event.type === 'tool') this.#tools.add({ ok: String(event.ok) });
    else if (event.type === 'ended') this.#end(event.report);
  }

  /** @param route the pattern of the route, never the requested path */
  request(method: string, route: string, status: number, seconds: number): void {
    this.#requests.add({ method, route, status: String(status) });
    this.#requestTimes.observe(seconds);
  }

  /** Adds the cost of an ended call. */
  cost(items: readonly CostItem[]): void {
    for (const { type, provider, credit } of items) if (credit > 0) this.#costs.add({ type, provider }, credit);
  }

  /** Adds metrics of another part of the daemon. */
  add(adds: (registry: MetricRegistry) => void): void {
    adds(this.#registry);
  }

  /** All metrics in Prometheus's text format. */
  async text(): Promise<string> {
    const { calls, outbox } = this.#sources;
    try {
      [this.#calls, this.#outbox] = await Promise.all([calls(), outbox()]);
    } catch {
      // The database cannot be reached: what was known last.
    }
    return this.#registry.text();
  }

  close(): void {
    this.#loop.close();
  }

  #used({ stt, llm, tts }: SessionReport['usage']): void {
    for (const { provider, model, promptTokens, cachedTokens, cacheWriteTokens, completionTokens } of llm) {
      const kinds = { prompt: promptTokens, cached: cachedTokens, cache_write: cacheWriteTokens };
      for (const [kind, tokens] of Object.entries({ ...kinds, completion: completionTokens })) {
        if (tokens > 0) this.#tokens.add({ provider, model, kind }, tokens);
      }
    }
    for (const { provider, seconds } of stt) this.#heard.add({ provider }, seconds);
    for (const { provider, chars } of tts) this.#spoken.add({ provider }, chars);
  }

  #end({ status, durationMs, faults, playout, line, usage }: SessionReport): void {
    this.#used(usage);
    this.#ended.add({ status });
    this.#lengths.observe(durationMs / 1000);
    for (const [fault, count] of Object.entries(faults)) this.#faults.add({ fault }, count);
    if (playout.underruns > 0) this.#frames.add({ kind: 'underrun' }, playout.underruns);
    if (playout.skippedFrames > 0) this.#frames.add({ kind: 'skipped' }, playout.skippedFrames);
    for (const kind of PACKETS) if (line !== null && line[kind] > 0) this.#packets.add({ kind }, line[kind]);
  }

  /** With the names of Prometheus's own client libraries, if they have one. */
  #process(registry: MetricRegistry): void {
    const one = (type: 'counter' | 'gauge', name: string, help: string, value: () => number): void =>
      registry.read(type, name, help, () => [{ value: value() }]);
    registry.summary(
      'parley_event_loop_delay_seconds',
      'Delay of the event loop, with quantiles of the last 15 s.',
      () => this.#loop.summary,
    );
    one('counter', 'process_cpu_seconds_total', 'Processor time.', () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1e6;
    });
    one('gauge', 'process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss());
    one('gauge', 'nodejs_heap_size_used_bytes', 'JavaScript heap in use.', () => process.memoryUsage().heapUsed);
    one('gauge', 'nodejs_external_memory_bytes', 'Memory of buffers and addons.', () => process.memoryUsage().external);
    const startedS = nowUnixMs() / 1000 - process.uptime();
    one('gauge', 'process_start_time_seconds', 'Start time of the process, in seconds since 1970.', () => startedS);
  }
}

/** How busy a node is, and how much it takes: for autoscaling. @param lateS as `NodeLoadOptions.lateS` */
function loadMetrics(
  registry: MetricRegistry,
  { clock, sessions, maxSessions, ready, media }: MetricSources,
  lateS: () => number,
): void {
  const load = new NodeLoad({ clock, sessions, maxSessions, lateS, threads: () => media.loops });
  registry.read('gauge', 'parley_load', 'How busy the node is, 0 to 1: the scarcest of what calls need.', () => [
    { value: load.value },
  ]);
  registry.read('gauge', 'parley_capacity_sessions', 'Conversations that the node takes: 0 while it drains.', () => [
    { value: ready() ? maxSessions : 0 },
  ]);
}

function databaseMetrics(registry: MetricRegistry, database: MetricSources['database']): void {
  registry.read('gauge', 'parley_database_reachable', '0 while PostgreSQL cannot be reached.', () => [
    { value: database.fault === null ? 1 : 0 },
  ]);
  registry.read('gauge', 'parley_waiting_writes', 'Writes of running calls that wait for PostgreSQL.', () => [
    { value: database.waiting },
  ]);
  registry.read('counter', 'parley_lost_writes_total', 'Writes of running calls that are lost.', () => [
    { value: database.dropped },
  ]);
}

/** @param named names that already have their own label */
function labelOf(name: string, named: Set<string>): string {
  if (named.size < MOST_NAMES) named.add(name);
  return named.has(name) ? name : 'other';
}

/** The metrics of SIP trunks and their media, and of other carriers. docs/operation.md lists them. */
export function trunkMetrics(registry: MetricRegistry, figures: CarrierStatistics): void {
  const { media } = figures;
  registry.read('counter', 'parley_sip_messages_refused_total', 'Dropped or refused SIP messages, by reason.', () =>
    Object.entries(figures.messages).map(([why, value]) => ({ labels: { why }, value })),
  );
  registry.read(
    'gauge',
    'parley_sip_registrations',
    'Trunks with a registration, and trunks that are registered.',
    () => [
      { labels: { state: 'wanted' }, value: figures.registrations.wanted },
      { labels: { state: 'held' }, value: figures.registrations.held },
    ],
  );
  registry.read('counter', 'parley_sip_calls_refused_total', 'Refused inbound calls, by trunk and status.', () =>
    figures.trunkRefusals.map(({ trunk, status, count }) => ({
      labels: { trunk, status: String(status) },
      value: count,
    })),
  );
  registry.read('gauge', 'parley_sip_server_up', 'Whether a server answered the last OPTIONS.', () =>
    figures.states.flatMap(({ name: trunk, servers }) =>
      servers.flatMap(({ hop, answers }) =>
        answers === null ? [] : [{ labels: { trunk, server: hopText(hop) }, value: Number(answers) }],
      ),
    ),
  );
  registry.read('gauge', 'parley_rtp_sessions', 'SIP calls with open media.', () => [{ value: media.open }]);
  registry.read('counter', 'parley_rtp_calls_total', 'Ended calls, by codec and SRTP.', () =>
    media.calls.map(({ codec, isSecure, count }) => ({ labels: { codec, srtp: String(isSecure) }, value: count })),
  );
  registry.read('counter', 'parley_rtp_unheard_total', 'Discarded packets of ended calls.', () =>
    UNHEARD_KINDS.map((kind) => ({ labels: { kind }, value: media.unheard[kind] })),
  );
  registry.read('counter', 'parley_rtp_concealed_seconds_total', 'Audio generated in place of lost packets.', () => [
    { value: media.concealedMs / 1000 },
  ]);
  registry.read(
    'counter',
    'parley_carrier_events_total',
    'Carriers with media sockets: refused requests, streams of calls, and faults of their messages and audio.',
    () =>
      figures.accounts.flatMap((account) =>
        Object.entries(account.counts()).map(([what, value]) => ({ labels: { carrier: account.name, what }, value })),
      ),
  );
  registry.read(
    'counter',
    'parley_carrier_refused_total',
    'Refused requests and calls of carriers with media sockets, by reason.',
    () => figures.accountRefusals.map(({ carrier, reason, count }) => ({ labels: { carrier, reason }, value: count })),
  );
}
