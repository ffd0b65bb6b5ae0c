import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { AgentConfig } from '../agent/agent.js';
import { ParleyError } from '../base/errors.js';
import { Engine } from '../engine/engine.js';
import type { EngineOptions } from '../engine/options.js';
import type { SessionHandle } from '../engine/remote-line.js';
import type { ParleyPlugin } from '../plugins/plugin.js';
import type { SessionEvent } from '../session/session-options.js';
import { loadSettings } from '../settings/load-settings.js';
import type { Settings, SettingsFile } from '../settings/settings.js';
import type { DefinedTool } from '../tools/define-tool.js';
import type { AgentRegistry, HostedAgent } from './agents/agents.js';
import { agentsModule } from './agents/agents-module.js';
import { callLogModule } from './call-log/call-log-module.js';
import { callsModule } from './calls/calls-module.js';
import type { CallBacks } from './queues/call-backs.js';
import { queuesModule } from './queues/queues-module.js';
import type { RecordStarts } from './calls/dial.js';
import { campaignsModule } from './campaigns/campaigns-module.js';
import { type DaemonContext, openContext } from './context.js';
import { checkDefaults, configuredEngine } from './engine-options.js';
import { evalsModule } from './evals/evals-module.js';
import { filesModule } from './files/files-module.js';
import { weakKey } from './http/access.js';
import { loadBrowserFiles } from './http/browser-files.js';
import { type HttpModule, httpModule } from './http/http-module.js';
import { checkPublicUrls } from './http/mount.js';
import { TlsFiles } from './http/tls.js';
import { liveModule } from './live/live-module.js';
import { mcpModule } from './mcp/mcp-module.js';
import { Media } from './media.js';
import type { DaemonModule } from './module.js';
import { nodeAddress, nodesModule, type NodesModule } from './nodes/nodes-module.js';
import { type Log, openLog } from './operations/log.js';
import { publishingModule } from './publishing/publishing-module.js';
import { operationsModule } from './operations/operations-module.js';
import { openAiModule } from './openai/openai-module.js';
import { ChatPlaces } from './talk/chat.js';
import { pluginTransports } from './talk/plugin-transports.js';
import { talkModule } from './talk/talk-module.js';

/** What a daemon tells its embedder. */
export interface DaemonListeners {
  /** Called with each event of a session. */
  onSessionEvent?: (sessionId: string, agentId: string, event: SessionEvent) => void;
  /** Called with each internal fault of parley; the daemon keeps running. */
  onError?: (error: Error) => void;
}

/** Members of the settings file; undefined = not given. */
export type DaemonSettings = { readonly [Name in keyof SettingsFile]?: SettingsFile[Name] | undefined };

/** For `Daemon.open`. */
export interface DaemonOptions extends DaemonListeners {
  /** As in the settings file, see docs/configuration.md. They override `env`. Default: all have their defaults. */
  settings?: DaemonSettings;
  /** Variables that `parley serve` reads, such as `process.env`. Default none. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Agents that are stored under their ids. One that is stored already is updated. Default none. */
  agents?: readonly HostedAgent[];
  /** Functions in code that agents name in `extensions.functions`. Default none. */
  tools?: readonly DefinedTool[];
  /** Plug-ins beside those of the settings. Default none. */
  plugins?: readonly ParleyPlugin[];
  /**
   * An engine of one's own, in place of one with the providers, functions and plug-ins of the settings, of `tools` and of
   * `plugins`. The daemon closes it.
   */
  engine?: Engine;
  /** Whether to wait until the engine has loaded. False = it loads meanwhile, `/readyz` says when. Default true. */
  warmUp?: boolean;
  /** Default: standard error, as the settings `logLevel` and `logFormat` say. */
  log?: Log;
  /** Its abort ends the opening. */
  signal?: AbortSignal;
}

/** For `Daemon.prepare`. */
export interface DaemonParts extends DaemonListeners {
  settings: Settings;
  /** The daemon closes it. */
  engine: Engine;
  /** Agents of files: `adopt` stores them under their ids. */
  agents: readonly HostedAgent[];
  /** Changes a stored configuration for use in this process. Default: no change. */
  agentInUse?: (config: AgentConfig) => AgentConfig;
  /** Default none. */
  log?: Log;
}

/** What a daemon opens before its modules are made. */
interface Opened {
  context: DaemonContext;
  files: ReturnType<typeof loadBrowserFiles>;
  tls: TlsFiles | null;
  newPrivateKey: string | null;
}

/**
 * The server: pages, endpoints and sockets over one engine. It checks requests, starts sessions and reports on them; the
 * engine holds the conversations. docs/design.md explains its modules.
 */
export class Daemon {
  readonly agents: AgentRegistry;
  /** The first private key, if this start created it; null = it exists already. It cannot be read later. */
  readonly newPrivateKey: string | null;
  readonly #agentFiles: readonly HostedAgent[];
  readonly #context: DaemonContext;
  readonly #http: HttpModule;
  readonly #nodes: NodesModule;
  /** In the order of closing: modules that make calls first, the call log and its files last. */
  readonly #modules: readonly DaemonModule[];
  #recovering: Promise<void> | null = null;
  #closing: Promise<void> | null = null;

  private constructor(
    { agents: agentFiles, agentInUse, onSessionEvent }: DaemonParts,
    { context, files, tls, newPrivateKey }: Opened,
  ) {
    this.#agentFiles = agentFiles;
    this.newPrivateKey = newPrivateKey;
    const { events, stores } = context;
    this.#context = context;
    const nodes = nodesModule(context, {
      takeOver: async (nodeId) => {
        for (const module of this.#modules.toReversed()) await module.takeOver?.(nodeId);
      },
      onDisowned: () => {
        for (const module of this.#modules) module.disown?.();
      },
    });
    const http = httpModule(context, tls, nodes.nodes);
    const media = new Media(context);
    const fileStore = filesModule(context, (session) => callLog.archive.isTraceOpen(session));
    const callLog = callLogModule(context, http, fileStore.callFiles, (session) => media.flushTrace(session));
    const operations = operationsModule(context, http, { media, files: fileStore.queue });
    events.on('session.event', ({ sessionId, agentId, event }) => onSessionEvent?.(sessionId, agentId ?? '', event));
    const agents = agentsModule(context, http, agentInUse);
    const { registry } = agents;
    const { log: calls } = callLog;
    const records: RecordStarts = { begin: (...record) => campaigns.records.begin(...record) };
    const { trunks, addMetrics } = operations;
    const callBacks: CallBacks = {
      read: (...asked) => campaigns.callBacks.read(...asked),
      add: (callBack) => campaigns.callBacks.add(callBack),
      wake: () => campaigns.callBacks.wake(),
    };
    const queueing = queuesModule(context, { log: calls, callBacks, addMetrics });
    const { queues } = queueing;
    const telephone = callsModule(context, { http, media, trunks, records, queues, agents: registry, log: calls });
    const { dialer, registered } = telephone;
    const live = liveModule(context, { http, dialer, nodes: nodes.nodes, end: telephone.end });
    const campaigns = campaignsModule(context, { dialer, agents: registry });
    const chatPlaces = new ChatPlaces(context.admission, context.settings.limits.sessions);
    const places = { chatPlaces, callQueues: queues };
    const talk = talkModule(context, { http, media, registered, files, ...places, agents: registry, log: calls });
    const { webSessions } = talk;
    const transports = pluginTransports(context, http, webSessions);
    const openAi = openAiModule(context, { http, chatPlaces, webSessions, agents: registry, log: calls });
    const evals = evalsModule(context, { agents: registry, archive: callLog.archive });
    const publishing = publishingModule(context, { agents: registry, evals });
    const mcp = mcpModule(context, http);
    this.agents = registry;
    this.#http = http;
    this.#nodes = nodes;
    this.#modules = [
      queueing,
      telephone,
      talk,
      transports,
      openAi,
      publishing,
      evals,
      mcp,
      media,
      agents,
      live,
      campaigns,
      http,
      operations,
      stores,
      callLog,
      fileStore,
      nodes,
    ];
    for (const module of this.#modules) module.routes?.(http.api);
  }

  /**
   * Opens a daemon that is ready for calls: give its requests to `handler` and `upgrade`, or let it `listen`. It reads no
   * environment, and no files but those that the settings name. A daemon that cannot be opened leaves nothing open.
   * @throws InvalidConfigError naming each invalid setting; as `prepare`, `adopt` and `warmUp`; ParleyError
   *   PLUGIN_INVALID, ARGUMENT_INVALID for `tools` and `plugins`; the signal's reason
   */
  static async open(options: DaemonOptions = {}): Promise<Daemon> {
    const { settings: values = {}, env = {}, agents = [], signal, onSessionEvent, onError } = options;
    const { settings, warnings } = await loadSettings({ env, values });
    const { log = openLog(process.stderr, settings) } = options;
    for (const warning of warnings) log.write('warn', warning);
    const engine = options.engine ?? (await openEngine(settings, options, log));
    let daemon: Daemon | null = null;
    try {
      const parts: DaemonParts = { settings, engine, agents, log };
      if (onSessionEvent !== undefined) parts.onSessionEvent = onSessionEvent;
      if (onError !== undefined) parts.onError = onError;
      daemon = await Daemon.prepare(parts);
      if (engine !== options.engine) await checkDefaults(engine, settings);
      await daemon.#recover();
      await daemon.#http.ready();
      for (const warning of await daemon.adopt()) log.write('warn', warning);
      signal?.throwIfAborted();
      const warm = daemon.#warmUpAndTell(log);
      if (options.warmUp ?? true) await warm;
      else warm.catch(daemon.#context.faults.report);
      signal?.throwIfAborted();
      return daemon;
    } catch (error) {
      await daemon?.close();
      if (engine !== options.engine) await engine.close();
      throw error;
    }
  }

  /**
   * Opens the data folder and builds the server, for those that do the rest themselves: `listen`, `adopt`, `warmUp`.
   * `open` does all of it.
   * @throws ParleyError CONFIG_INVALID for a key that is easy to guess and for addresses that contradict each other,
   *   DATA_FOLDER_IN_USE, DATABASE_…, SECRETS_UNREADABLE
   */
  static async prepare(options: DaemonParts): Promise<Daemon> {
    const { settings, engine, log, onError } = options;
    checkPrivateKey(settings, log);
    // Fails on wrong settings and missing files before it opens anything.
    nodeAddress(settings);
    checkPublicUrls(settings);
    const files = loadBrowserFiles();
    const tls = TlsFiles.of(settings);
    tls?.read();
    const context = await openContext({ settings, engine, log, onError });
    try {
      const newPrivateKey = await context.stores.firstKeys(settings);
      return new Daemon(options, { context, files, tls, newPrivateKey });
    } catch (error) {
      await context.closeDatabase();
      throw error;
    }
  }

  /** Whether the engines are warm. */
  get ready(): boolean {
    return this.#context.admission.isWarm;
  }

  /**
   * Answers a request to the server of an application: a listener for `http.createServer`, and a middleware for Express.
   * Outside of `basePath` it calls `next`, or without one answers 404.
   * @param next as in Express
   */
  readonly handler = (
    request: IncomingMessage & { originalUrl?: string },
    response: ServerResponse,
    next?: () => void,
  ): void => {
    // Express takes the path of a router away from `url`.
    this.#http.answer(request, response, request.originalUrl ?? request.url ?? '', next);
  };

  /**
   * Takes a request to open a WebSocket, from the event `upgrade` of an application's server.
   * @returns false if it is for none of the daemon's sockets: the application may take it
   */
  readonly upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): boolean =>
    this.#http.upgrades.dispatch(request, socket, head);

  /** Recovers the state of an earlier process, then starts to listen on a server of its own. Resolves with the address. */
  async listen(): Promise<string> {
    await this.#recover();
    const address = await this.#http.listen();
    this.#nodes.listens(address);
    return address;
  }

  /** Recovers the state of an earlier process. The first call counts. */
  #recover(): Promise<void> {
    this.#recovering ??= this.#doRecover();
    return this.#recovering;
  }

  async #doRecover(): Promise<void> {
    await this.#context.recoverWrites();
    for (const module of this.#modules.toReversed()) await module.recover?.();
  }

  /** Stores the agents of its options and a demo, as `AgentRegistry.adopt`. @throws ParleyError CONFIG_INVALID naming an agent */
  adopt(demo?: HostedAgent): Promise<readonly string[]> {
    return this.agents.adopt(this.#agentFiles, demo);
  }

  /** Loads the engines, as `Engine.warmUp`; `/readyz` reports when it is done. @throws ParleyError if one cannot be loaded */
  async warmUp(): Promise<readonly string[]> {
    const unreached = await Promise.all(this.#modules.map(async (module) => module.warmUp?.()));
    this.#context.admission.warm();
    for (const module of this.#modules) module.resume?.();
    return [...new Set(unreached.flatMap((reasons) => reasons ?? []))];
  }

  async #warmUpAndTell(log: Log): Promise<void> {
    for (const reason of await this.warmUp()) log.write('warn', reason);
  }

  /** The running sessions, also those in media threads: listen to them and steer them, see docs/library.md. */
  get sessions(): ReadonlySet<SessionHandle> {
    return this.#context.engine.sessions;
  }

  /** Null = no session of this id runs on this daemon. */
  session(id: string): SessionHandle | null {
    return [...this.sessions].find((session) => session.id === id) ?? null;
  }

  /** The number of sessions, phone calls and chat answers in progress. */
  get busy(): number {
    return this.#context.admission.busy;
  }

  /**
   * Refuses new calls, waits at most `drainS` seconds until the running ones have ended, and closes.
   * @param hurry its abort ends the running calls now
   */
  async drain(hurry?: AbortSignal): Promise<void> {
    const { admission, settings } = this.#context;
    this.#shut();
    await admission.drain(settings.drainS * 1000, hurry);
    await this.close();
  }

  /** Refuses new calls, ends the running ones and frees all resources. May be called twice. */
  close(): Promise<void> {
    this.#shut();
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** Takes no new calls. */
  #shut(): void {
    const { admission } = this.#context;
    if (!admission.isOpen) return;
    admission.shut();
    for (const module of this.#modules) module.drain?.();
  }

  async #close(): Promise<void> {
    for (const module of this.#modules) module.stop?.();
    for (const module of this.#modules) await module.close?.();
    await this.#context.closeDatabase();
  }
}

/** The engine of the settings, with functions and plug-ins in code. @throws as `configuredEngine` */
async function openEngine(
  settings: Settings,
  { tools = [], plugins = [], signal = new AbortController().signal }: DaemonOptions,
  log: Log,
): Promise<Engine> {
  const own = tools.length === 0 ? plugins : [...plugins, { name: 'the option tools', functions: tools }];
  const { engine: options, detection } = await configuredEngine(settings, signal, own);
  for (const { line } of detection.findings) log.write('info', line);
  for (const choice of detection.choices) log.write('info', choice);
  return new Engine({ ...options, ...engineReports(log) });
}

/** What an engine reports of itself, for the log. */
export function engineReports(log: Log): Pick<EngineOptions, 'onMcpFault' | 'onChatFault' | 'onProviderAccepted'> {
  return {
    onMcpFault: (server, reason) => log.write('warn', `mcp server ${server}: ${reason}`),
    // The reason of a tool is its reply, which may hold what is private.
    onChatFault: ({ sessionId, agentId }, name, reason) => {
      const agent = agentId ?? 'temporary agent';
      const why = name === 'tool.failed' && !reason.includes('may not be called') ? '' : `: ${reason.slice(0, 300)}`;
      log.write('warn', `${agent} ${sessionId.slice(0, 8)}: ${name}${why}`, { session: sessionId, agent, fault: name });
    },
    onProviderAccepted: (name) => log.write('info', `${name} accepts its key again`),
  };
}

/** @throws ParleyError CONFIG_INVALID if others can reach the daemon and its key is easy to guess */
function checkPrivateKey(settings: Settings, log: Log | undefined): void {
  const { fault, isExposed } = weakKey(settings);
  if (fault === null) return;
  if (isExposed) throw new ParleyError('CONFIG_INVALID', { reason: fault });
  log?.write('warn', fault);
}
