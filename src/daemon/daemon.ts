import { randomBytes } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import type { Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { whyNeverCalled } from '../telephony/carriers/destinations.js';
import { isAllowedExtension } from '../telephony/carriers/sip/open.js';
import type { AgentConfig } from '../agent/agent.js';
import { EMBEDDED_DEFAULTS } from '../agent/resolve.js';
import type { Settings } from '../settings/settings.js';
import type { Engine } from '../engine/engine.js';
import { ParleyError } from '../base/errors.js';
import { nowUnixMs } from '../base/real-clock.js';
import type { SessionEvent } from '../session/session-options.js';
import { openOwnDatabase } from '../store/folder-lock.js';
import { UnderWay } from '../store/under-way.js';
import { Access, isLoopbackName, weakKey } from './http/access.js';
import { AgentRegistry, type HostedAgent } from './agents/agents.js';
import { CallArchive } from './call-log/call-archive.js';
import { OutboundCalls, CallNotifications } from './calls/outbound-calls.js';
import { campaignEraser, type Campaigns } from './campaigns/campaigns.js';
import { openCampaigns } from './campaigns/open.js';
import { Clients } from './http/clients.js';
import type { CallLog } from './call-log/call-log.js';
import { ChatEndpoint, chatRoutes } from './talk/chat.js';
import { loadBrowserFiles } from './http/browser-files.js';
import { answerPages } from './http/cross-origin.js';
import { AdmissionGate } from './http/admission-gate.js';
import { callEraser, Erasure, erasureRoutes } from './call-log/erasure.js';
import { type Log, NO_LOG } from './operations/log.js';
import { answerUnknownRoutes, errorReplies } from './http/replies.js';
import { Observability } from './operations/observability.js';
import { payerOf, RateLimit } from './http/rate-limit.js';
import { Recovery } from './call-log/recovery.js';
import { Api } from './http/api.js';
import { openApiRoutes } from './http/openapi.js';
import { agentRoutes } from './agents/agent-routes.js';
import { callLogRoutes } from './call-log/call-log-routes.js';
import { campaignRoutes } from './campaigns/campaign-routes.js';
import { doNotCallRoutes } from './calls/do-not-call-routes.js';
import { embedRoutes } from './talk/embed-routes.js';
import { healthRoutes, metricsRoutes } from './operations/health-routes.js';
import { keyRoutes } from './http/key-routes.js';
import { knowledgeRoutes } from './agents/knowledge-routes.js';
import { memoryRoutes } from './agents/memory-routes.js';
import { pageRoutes, widgetRoutes } from './talk/page-routes.js';
import { phoneRoutes } from './calls/phone-routes.js';
import { sessionTokenRoutes } from './talk/session-token-routes.js';
import { webRtcRoutes } from './talk/webrtc-routes.js';
import { Media } from './talk/media.js';
import { Upgrades } from './http/upgrades.js';
import { WebSessions } from './talk/web-sessions.js';
import { peerSettings, WebRtcCalls } from './talk/webrtc-calls.js';
import { CARRIER_PATHS, carrierRoutes } from './calls/carrier-routes.js';
import { TalkEndpoint } from './talk/talk-routes.js';
import { trunkRoutes } from './calls/trunk-routes.js';
import { voiceRoutes } from './agents/voice-routes.js';
import { openServer } from './http/server.js';
import { Stores } from './stores.js';
import { SessionTokens } from './http/session-tokens.js';
import { SignedUrls, signingKey } from './http/signed-urls.js';
import { TlsFiles } from './http/tls.js';
import type { Telephone } from './calls/telephone.js';
import { Voices } from './agents/voices.js';

export interface DaemonOptions {
  settings: Settings;
  /** The daemon closes it. */
  engine: Engine;
  /** Agents of files: `adopt` makes the stored ones of these ids what they say. */
  agents: readonly HostedAgent[];
  /** A stored configuration as it is used in this process. Default as it is. */
  agentInUse?: (config: AgentConfig) => AgentConfig;
  /** Default none. */
  log?: Log;
  /** What happens in sessions. */
  onSessionEvent?: (sessionId: string, agentId: string, event: SessionEvent) => void;
  /** Faults of parley itself; the daemon goes on. Default: nothing. */
  onError?: (error: Error) => void;
}

/** What watches over the daemon asks as often as it likes. */
const UNLIMITED: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** How long answers may take to be sent off when the daemon closes. */
const LAST_ANSWERS_MS = 2000;

/**
 * The platform's server: pages, endpoints and the talk socket over one engine. Thin: it checks, starts sessions and
 * reports; the engine holds the conversations.
 */
export class Daemon {
  readonly agents: AgentRegistry;
  /** The first private key, if it was made just now: the only time that it can be shown. */
  readonly newPrivateKey: string | null;
  readonly #options: DaemonOptions;
  readonly #app: FastifyInstance;
  readonly #tls: TlsFiles | null;
  readonly #talk: TalkEndpoint;
  readonly #closeCarriers: () => void;
  readonly #stores: Stores;
  readonly #archive: CallArchive;
  readonly #recovery: Recovery;
  readonly #erasure: Erasure;
  readonly #told: CallNotifications;
  readonly #calling: OutboundCalls;
  readonly #campaigns: Campaigns;
  readonly #log: CallLog;
  readonly #chats: ChatEndpoint;
  readonly #webRtc: WebRtcCalls;
  readonly #media: Media;
  readonly #closeDatabase: () => void;
  readonly #doors: AdmissionGate;
  readonly #operation: Observability;
  /** Where it listens; before that, where it will. */
  #address: string;
  #calls: () => number = () => 0;
  /** Sessions of visitors that are being made. */
  #starting: () => number = () => 0;
  /** Sessions of calls that came in and are still to be made. */
  #ringingIn: () => number = () => 0;
  #telephone: Promise<Telephone> | null = null;
  #ready = false;
  #closing: Promise<void> | null = null;

  constructor(options: DaemonOptions) {
    this.#options = options;
    const { settings, engine } = options;
    const { fault, isExposed } = weakKey(settings);
    if (fault !== null && isExposed) throw new ParleyError('CONFIG_INVALID', { reason: fault });
    if (fault !== null) options.log?.write('warn', fault);
    const files = loadBrowserFiles();
    this.#tls = TlsFiles.of(settings);
    this.#tls?.read(); // what it cannot do without is missed before anything is opened
    const { database, close } = openOwnDatabase(settings.dataDir);
    this.#closeDatabase = close;
    this.#doors = new AdmissionGate({ clock: engine.clock, busy: () => this.busy });
    this.#operation = this.#operate(new UnderWay(database));
    const { error: onError } = this.#operation;
    const onSessionEvent = this.#onSessionEvent;
    const stores = new Stores({ settings, database, onError, nowUnixMs, clock: engine.clock });
    this.#stores = stores;
    engine.keepIn(stores.forEngine);
    const { keys, box, phones, doNotCall, voices } = stores;
    const { knowledge, memories, uploads } = stores.ofAgents;
    this.agents = new AgentRegistry({
      engine,
      nowUnixMs,
      phones,
      store: stores.agents,
      whyNeverTransferred: (target) => (isAllowedExtension(settings.sip, target) ? null : whyNeverCalled(target)),
      ...(options.agentInUse && { inUse: options.agentInUse }),
    });
    this.#address = `http://${settings.host}:${String(settings.port)}`;
    const links = new SignedUrls({
      key: signingKey(settings.dataDir),
      nowUnixMs,
      base: () => settings.publicUrl ?? this.#address,
      isPublic: settings.publicUrl !== null,
    });
    this.#told = new CallNotifications({
      settings,
      database,
      box,
      onError,
      clock: engine.clock,
      nowUnixMs,
      agentOutbox: stores.outbox,
      shown: (call) => this.#archive.sent(call),
    });
    const { onChange, atomically } = this.#told.hooks;
    let campaigns: Campaigns | null = null;
    this.#archive = new CallArchive({
      atomically,
      onChange: (call) => {
        onChange(call);
        if (call.endedUs !== null) this.#operation.metrics.cost(call.item.cost_breakdown);
        campaigns?.callChanged(call);
      },
      settings,
      database,
      clock: engine.clock,
      nowUnixMs,
      links,
      onError,
      multiplierOf: voices.multiplierOf,
      flushElsewhere: (sessionId) => this.#media.flushTrace(sessionId),
    });
    this.#recovery = new Recovery({
      engine,
      onError,
      atomically,
      archive: this.#archive,
      nowUnixMs,
      unfinished: stores.unfinished,
      outbox: stores.outbox,
    });
    this.#recovery.closeCalls();
    this.#archive.start();
    this.#media = new Media({
      settings,
      engine,
      onError,
      archive: this.#archive,
      database: database.name,
      log: options.log ?? NO_LOG,
    });
    this.#log = this.#archive.log;
    const { traces } = this.#archive;
    engine.keepIn({ history: this.#log, ...(traces !== null && { traces }) });
    this.#chats = new ChatEndpoint({
      engine,
      nowUnixMs,
      onError,
      agents: this.agents,
      log: this.#log,
      doors: this.#doors,
      clock: engine.clock,
      maxChats: settings.limits.sessions,
    });
    this.newPrivateKey = stores.firstKeys(settings);
    const pageKey = settings.publicKey ?? `pk_page_${randomBytes(24).toString('base64url')}`;
    const tokens = new SessionTokens(nowUnixMs);
    const clients = new Clients(settings, (address) => {
      const hint =
        'its visitors count as one. trustedProxies (PARLEY_TRUSTED_PROXIES) names proxies, see docs/operation.md';
      (options.log ?? NO_LOG).write('warn', `requests come through a proxy at ${address} that is not trusted: ${hint}`);
    });
    const access = new Access({
      clients,
      publicUrl: settings.publicUrl,
      keys,
      tokens,
      allowedOrigins: settings.allowedOrigins,
      allowMissingOrigin: settings.allowMissingOrigin,
      ownPublicKeys: new Set(settings.page ? [pageKey] : []),
      loopback: isLoopbackName(settings.host),
    });
    this.#app = openServer(settings, engine.clock, this.#tls);
    this.#app.setErrorHandler(errorReplies((error, request) => onError(error, { request })));
    this.#operation.watch(this.#app, clients);
    answerUnknownRoutes(this.#app);
    const requests = new RateLimit(settings.limits.requestsPerMinute, () => engine.clock.nowMs());
    this.#app.addHook('onRequest', (request, _reply, done) => {
      const isFree = UNLIMITED.has(request.url) || request.url.startsWith(CARRIER_PATHS);
      if (!isFree) requests.take(payerOf(clients.of(request.raw).address, access.keyOf(request)));
      done();
    });
    answerPages(this.#app, access);
    const api = new Api(this.#app, access);
    openApiRoutes(api, settings.publicUrl ?? '/');
    healthRoutes(api, () => (this.#doors.isOpen ? (this.#ready ? 'ready' : 'warming up') : 'shutting down'));
    metricsRoutes(api, { access, clients, who: settings.metrics, text: () => this.#operation.metrics.text() });
    sessionTokenRoutes(api, access, tokens, this.#doors, settings.webrtc.iceServers);
    widgetRoutes(this.#app, files, { access, regions: settings.regions });
    if (settings.page) {
      pageRoutes(this.#app, files, () => ({
        public_key: pageKey,
        agents: this.agents.active().map((agent) => ({
          id: agent.id,
          name: agent.name,
          warnings: this.agents.modelWarnings(agent).map(({ msg }) => msg),
        })),
        ready: this.#ready,
      }));
    }
    agentRoutes(api, { agents: this.agents, knowledge });
    embedRoutes(api, { agents: this.agents, access, regions: settings.regions });
    keyRoutes(api, { agents: this.agents, keys });
    knowledgeRoutes(api, { agents: this.agents, knowledge, uploads });
    memoryRoutes(api, memories);
    phoneRoutes(api, {
      engine,
      nowUnixMs,
      agents: this.agents,
      phones: this.#stores.phones,
      telephone: () => this.#openTelephone(),
    });
    trunkRoutes(api, {
      nowUnixMs,
      figures: this.#operation.trunks,
      nowMs: () => engine.clock.nowMs(),
      open: () => this.#openTelephone(),
    });
    doNotCallRoutes(api, doNotCall, nowUnixMs);
    this.#told.routes(api, this.#archive.store);
    this.#calling = new OutboundCalls({
      starting: () => this.#starting() + this.#ringingIn(),
      settings,
      database,
      engine,
      onSessionEvent,
      nowUnixMs,
      agents: this.agents,
      phones: this.#stores.phones,
      calls: this.#archive.store,
      log: this.#log,
      doors: this.#doors,
      telephone: () => this.#openTelephone(),
      openTelephone: () => this.#telephone,
    });
    this.#calling.routes(api);
    this.#campaigns = openCampaigns({
      settings,
      database,
      engine,
      onError,
      nowUnixMs,
      dialer: this.#calling.dialer,
      agents: this.agents,
      phones: this.#stores.phones,
      calls: this.#archive.store,
      doors: this.#doors,
    });
    campaigns = this.#campaigns;
    campaignRoutes(api, campaigns, engine.clock);
    callLogRoutes(api, { archive: this.#archive, access, clients, links });
    this.#erasure = new Erasure(database, [callEraser(database, settings.dataDir), campaignEraser(database)]);
    erasureRoutes(api, this.#erasure);
    chatRoutes(api, this.#chats);
    const defaults = { language: settings.language, provider: settings.tts ?? EMBEDDED_DEFAULTS.voiceProvider };
    voiceRoutes(api, {
      voices: new Voices({ engine, nowUnixMs, defaults, store: voices, agents: this.agents }),
      clients,
      links,
    });
    const visitors = new WebSessions({
      engine,
      access,
      onSessionEvent,
      agents: this.agents,
      log: this.#log,
      registered: this.#calling.registered,
      publicAgentConfigFields: settings.publicAgentConfigFields,
      maxSessions: settings.limits.sessions,
      coming: () => this.#calling.dialer.coming + this.#ringingIn(),
    });
    this.#starting = () => visitors.starting;
    this.#webRtc = new WebRtcCalls({
      visitors,
      access,
      onError,
      clock: engine.clock,
      peers: peerSettings(settings),
      openElsewhere: (peers) => this.#media.openWebRtc(peers),
    });
    webRtcRoutes(api, { visitors, access, calls: this.#webRtc, doors: this.#doors });
    const upgrades = new Upgrades(this.#app.server);
    this.#closeCarriers = carrierRoutes(this.#app, {
      doorAt: async (path) => (await this.#openTelephone()).doorAt(path),
      upgrades,
      clock: engine.clock,
      onError,
    });
    this.#talk = new TalkEndpoint({
      upgrades,
      visitors,
      access,
      clients,
      requests,
      clock: engine.clock,
      socketsPerAddress: settings.limits.socketsPerAddress,
      leadMs: settings.talkLeadMs,
      isOpen: () => this.#doors.isOpen,
      onError,
    });
  }

  /** Whether the engines are warm. */
  get ready(): boolean {
    return this.#ready;
  }

  /** Starts to listen, then warms the engines up. Resolves with the address once it listens. */
  async listen(): Promise<string> {
    const { host, port } = this.#options.settings;
    await this.#app.listen({ host, port });
    const address = this.#app.server.address() as AddressInfo;
    const { clock } = this.#options.engine;
    this.#tls?.watch(this.#app.server as unknown as Server, clock, (fault) => this.#operation.certificate(fault));
    this.#address = `http${this.#tls === null ? '' : 's'}://${host.includes(':') ? `[${host}]` : host}:${String(address.port)}`;
    return this.#address;
  }

  /** Takes over the agents of its options and a demo, as `AgentRegistry.adopt`. @throws ParleyError CONFIG_INVALID naming an agent */
  adopt(demo?: HostedAgent): Promise<readonly string[]> {
    return this.agents.adopt(this.#options.agents, demo);
  }

  /** Loads the engines, as `Engine.warmUp`; `/readyz` says when it is done. @throws ParleyError when one cannot be loaded */
  async warmUp(): Promise<readonly string[]> {
    const [unreached, elsewhere] = await Promise.all([
      this.#options.engine.warmUp(),
      this.#media.warmUp(),
      this.#openTelephone(),
      this.#told.webhook.open(),
      this.#stores.warmUp(),
    ]);
    this.#ready = true;
    void this.#recovery.run();
    this.#campaigns.resume();
    if (this.#media.loads.length === 0) this.#webRtc.warmUp();
    return [...new Set([...unreached, ...elsewhere])];
  }

  /** Sessions, phone calls and answers in writing that go on. */
  get busy(): number {
    return (
      Math.max(this.#options.engine.sessions.size, this.#calls(), this.#calling.dialer.calls) + this.#chats.running
    );
  }

  /**
   * Takes no new calls from now on, waits until those that run have ended, `drainS` seconds at most, and closes.
   * @param hurry aborted: they are ended now
   */
  async drain(hurry?: AbortSignal): Promise<void> {
    await this.#doors.empty(this.#options.settings.drainS * 1000, hurry);
    await this.close();
  }

  /** Takes no more calls, ends those that run, and frees everything. May be called twice. */
  close(): Promise<void> {
    this.#doors.shut();
    this.#closing ??= this.#close();
    return this.#closing;
  }

  readonly #onSessionEvent = (sessionId: string, agentId: string, event: SessionEvent): void => {
    this.#operation.sessionEvent(sessionId, agentId, event);
    this.#told.events.session(sessionId, event);
  };

  #operate(underWay: UnderWay): Observability {
    const { settings, engine, log = NO_LOG, onSessionEvent, onError } = this.#options;
    const endpoint = settings.otlpEndpoint;
    return new Observability({
      log,
      onSessionEvent,
      onError,
      calls: () => underWay.calls(),
      outbox: () => underWay.outbox(),
      sessions: () => engine.sessions.size,
      maxSessions: settings.limits.sessions,
      clock: engine.clock,
      ready: () => this.#ready && this.#doors.isOpen,
      media: () => this.#media,
      ...(endpoint !== null && {
        openTraces: async () =>
          (await import('./operations/open-traces.js')).openTraces(settings, { endpoint, clock: engine.clock, log }),
      }),
    });
  }

  /** Loaded late: whoever asks whether the daemon is there should not wait for its carrier. */
  #openTelephone(): Promise<Telephone> {
    const { engine, settings } = this.#options;
    const { error: onError } = this.#operation;
    const onSessionEvent = this.#onSessionEvent;
    this.#telephone ??= import('./calls/telephone.js').then(async ({ Telephone }) => {
      const telephone = await Telephone.open({
        isOpen: () => this.#doors.isOpen,
        mayTransfer: () => this.#calling.whyNoTransfer(),
        linesElsewhere: (await this.#media.open()) ?? undefined,
        engine,
        settings,
        onSessionEvent,
        onError,
        figures: this.#operation.trunks,
        takeRegistered: (callId) => this.#calling.registered.take(callId, 'phone'),
        agents: this.agents,
        phones: this.#stores.phones,
        log: this.#log,
        maxSessions: settings.limits.sessions,
        starting: () => this.#starting() + this.#calling.dialer.coming,
      });
      this.#calls = () => telephone.calls;
      this.#ringingIn = () => telephone.coming;
      return telephone;
    });
    return this.#telephone;
  }

  async #close(): Promise<void> {
    const { engine } = this.#options;
    this.#recovery.close();
    this.#talk.close();
    this.#closeCarriers();
    this.#told.hush();
    this.#campaigns.shut();
    await this.#calling.close();
    await this.#webRtc.close();
    // One that could not be opened has told those who asked for it.
    await (await this.#telephone?.catch(() => null))?.close();
    await this.#media.close();
    const { clock } = engine;
    this.#campaigns.close();
    // Answers that do not end by themselves, or are read too slowly, would keep it open.
    const cutOff = clock.schedule(clock.nowMs() + LAST_ANSWERS_MS, () => this.#app.server.closeAllConnections());
    await this.#app.close();
    cutOff();
    this.#tls?.close();
    await this.#operation.close();
    await this.#erasure.close();
    await this.#stores.close();
    await Promise.all([this.#archive.close(), this.#told.close()]);
    this.#closeDatabase();
  }
}
