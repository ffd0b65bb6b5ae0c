import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { CallLineEvents } from '../../telephony/carriers/sip/call-media-host.js';
import type { Clock } from '../../base/clock.js';
import { waitAtMost } from '../../base/deadlines.js';
import { nowUnixMs } from '../../base/real-clock.js';
import type { RemoteSession } from '../../engine/remote-line.js';
import type { EngineOptions, NamedAgent, SessionRequest } from '../../engine/options.js';
import { errorOf, ParleyError } from '../../base/errors.js';
import { functionsOf } from '../../engine/plugin.js';
import { plainTool } from '../../tools/code-tool.js';
import { workerFile } from '../../package-files.js';
import type { StoredVoice } from '../../store/voices.js';
import type { CodecName } from '../../transports/rtp/media-codec.js';
import type { RtpStats } from '../../transports/rtp/media.js';
import type { PeerSettings } from '../../transports/webrtc/peer.js';
import { PhoneLineProxy } from './phone-line-proxy.js';
import type { WaitingRequest } from '../../engine/waiting.js';
import type {
  LineFacts,
  MainMethods,
  RemoteSessionRequest,
  RemoteWaitingRequest,
  ThreadMethods,
  ThreadSettings,
} from '../wire/protocol.js';
import type { McpGrant } from '../../tools/mcp/oauth/grant.js';
import { Rpc, fromWire } from '../wire/rpc.js';
import { type LineProxy, WebRtcLineProxy, type LineChannel } from './line-proxy.js';
import { SessionProxy } from './session-proxy.js';

export interface MediaThreadOptions {
  /** Counted from 1. */
  number: number;
  settings: ThreadSettings;
  stores: Pick<
    EngineOptions,
    'knowledge' | 'memories' | 'doNotCall' | 'sessionMemory' | 'onMcpFault' | 'mcpTokens' | 'plugins'
  >;
  /** The custom voices. */
  voices: () => readonly StoredVoice[];
  clock: Clock;
  /** A fault outside of its sessions. */
  onFault: (error: Error) => void;
  /** It has ended; its sessions and lines are notified. */
  onGone: (reason: string) => void;
}

/** Deadline for loading the engines, possibly with models of hundreds of megabytes. */
const WARM_UP_MS = 300_000;
/**
 * Deadline for preparing a session, including the agent's own webhooks and servers, which have deadlines of their own.
 */
const OPEN_MS = 60_000;
const ANSWER_MS = 30_000;
const FLUSH_MS = 10_000;
/** The longest announcement to a waiting caller, with those before it. */
const SAY_MS = 600_000;
const NO_GRANT: McpGrant = { kind: 'none' };
/** Its sessions are closed before: only connections to vendors remain. */
const CLOSE_MS = 8_000;

/** The main thread's side of a media thread: a worker thread with an engine, its sessions and their lines. */
export class MediaThread implements LineChannel {
  readonly number: number;
  readonly #options: MediaThreadOptions;
  readonly #worker: Worker;
  readonly #rpc: Rpc<ThreadMethods>;
  readonly #lines = new Map<string, LineProxy>();
  readonly #sessions = new Map<string, SessionProxy>();
  #isWarm = false;
  #isGone = false;
  #closing: Promise<void> | null = null;

  constructor(options: MediaThreadOptions) {
    this.#options = options;
    this.number = options.number;
    const { settings, stores, clock, onFault } = options;
    const worker = new Worker(workerFile('threads/worker/worker'), {
      workerData: settings,
      execArgv: [],
      name: `media ${String(options.number)}`,
    });
    this.#worker = worker;
    const [lines, sessions] = [this.#lines, this.#sessions];
    const methods = mainMethods({
      stores,
      lines,
      sessions,
      onFault,
      onFinished: ({ id }) => sessions.delete(id),
      onProgress: (run, text) => this.#rpc.tell('functionProgress', { run, text }),
    });
    this.#rpc = new Rpc({ post: (message) => worker.postMessage(message), methods, clock, onFault });
    let why = 'it has ended';
    worker.on('message', (message) => this.#rpc.receive(message));
    worker.on('error', (error) => {
      why = errorOf(error).message;
      onFault(errorOf(error));
    });
    worker.on('exit', () => this.#gone(why));
  }

  /** Whether it can run new sessions. */
  get isUp(): boolean {
    return this.#isWarm && !this.#isGone && this.#closing === null;
  }

  /** Number of open lines. */
  get load(): number {
    return this.#lines.size;
  }

  /** Its event loop. */
  get eventLoop(): Worker['performance'] {
    return this.#worker.performance;
  }

  /** Loads the engine, like `Engine.warmUp`. @throws its error, MEDIA_THREAD_LOST */
  async warmUp(): Promise<readonly string[]> {
    const unreached = await this.#rpc.ask('warmUp', null, { timeoutMs: WARM_UP_MS });
    this.#isWarm = true;
    return unreached;
  }

  /** @throws ParleyError MEDIA_THREAD_LOST */
  async openWebRtc(peers: PeerSettings): Promise<WebRtcLineProxy> {
    const line = new WebRtcLineProxy(randomUUID(), this);
    this.#lines.set(line.id, line);
    try {
      await this.#rpc.ask('openWebRtc', { line: line.id, peers }, { timeoutMs: ANSWER_MS });
    } catch (error) {
      this.#lines.delete(line.id);
      throw error;
    }
    return line;
  }

  answerOffer(line: string, sdp: string): Promise<string> {
    return this.#rpc.ask('answerOffer', { line, sdp }, { timeoutMs: ANSWER_MS });
  }

  /** May be called twice. */
  closeLine(line: string): void {
    if (this.#lines.delete(line)) this.#rpc.tell('closeLine', line);
  }

  openPhone(rateHz: number, events: CallLineEvents): PhoneLineProxy {
    const line = new PhoneLineProxy(randomUUID(), this, rateHz, events);
    this.#lines.set(line.id, line);
    return line;
  }

  tell: Rpc<ThreadMethods>['tell'] = (method, argument) => this.#rpc.tell(method, argument);

  openSocket(line: string, address: string, port: number): Promise<number> {
    return this.#rpc.ask('openSocket', { line, address, port }, { timeoutMs: ANSWER_MS });
  }

  /** Also resolves if the thread, and with it the socket, has ended. */
  async closeSocket(line: string, port: number): Promise<void> {
    await this.#rpc.ask('closeSocket', { line, port }, { timeoutMs: ANSWER_MS }).catch(() => undefined);
  }

  openMedia(line: string, ports: { rtp: number; rtcp: number }, codecs: readonly CodecName[]): Promise<void> {
    return this.#rpc.ask('openMedia', { line, ports, codecs }, { timeoutMs: ANSWER_MS });
  }

  factsOf(line: string, areLast: boolean): Promise<LineFacts> {
    return this.#rpc.ask('callFacts', { line, areLast }, { timeoutMs: ANSWER_MS });
  }

  closeMedia(line: string): Promise<RtpStats> {
    return this.#rpc.ask('closeMedia', line, { timeoutMs: ANSWER_MS });
  }

  /** Relays the audio of two of its calls to each other until it is closed. */
  bridge(first: PhoneLineProxy, second: PhoneLineProxy): { close: () => void } {
    const bridge = randomUUID();
    this.tell('bridge', { bridge, first: first.id, second: second.id });
    return { close: () => this.tell('unbridge', bridge) };
  }

  has(line: LineProxy): boolean {
    return this.#lines.get(line.id) === line;
  }

  /** The line has closed in the thread. */
  forgetLine(line: string): void {
    this.#lines.delete(line);
  }

  async openSession(
    line: Parameters<LineChannel['openSession']>[0],
    request: Omit<SessionRequest, 'transport'>,
  ): Promise<RemoteSession> {
    const id = request.id ?? randomUUID();
    const startUnixMs = request.startUnixMs ?? nowUnixMs();
    const { clock, settings } = this.#options;
    const { recordings = null } = settings.options;
    const session = new SessionProxy({ id, rpc: this.#rpc, request, clock, recordings });
    // The thread may end from now on.
    this.#sessions.set(id, session);
    try {
      this.#rpc.tell('voices', this.#options.voices());
      const asked = { line: line.id, request: plainRequest(request, id, startUnixMs) };
      const record = await this.#rpc.ask('openSession', asked, { timeoutMs: OPEN_MS });
      void session.finished.then(() => line.sessionOver());
      return { session, record };
    } catch (error) {
      this.#sessions.delete(id);
      throw error;
    }
  }

  async openWaiting(line: string, request: Omit<WaitingRequest, 'transport' | 'events'>): Promise<string> {
    this.#rpc.tell('voices', this.#options.voices());
    const wanted = { line, request: plainWaiting(request) };
    return this.#rpc.ask('openWaiting', wanted, { timeoutMs: OPEN_MS });
  }

  sayWaiting(line: string, text: string | null): Promise<boolean> {
    return this.#rpc.ask('sayWaiting', { line, text }, { timeoutMs: SAY_MS }).catch(() => false);
  }

  /** Resolves when all entries of a session of this thread so far are in its log file: with whether it may get more. */
  flushTrace(session: string): Promise<boolean> {
    return this.#rpc.ask('flushTrace', session, { timeoutMs: FLUSH_MS }).catch(() => false);
  }

  /** Ends its sessions and the thread. May be called twice. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#isGone) return;
    await this.#rpc.ask('close', null, { timeoutMs: CLOSE_MS }).catch(() => undefined);
    await this.terminate();
  }

  /** Kills the thread with everything in progress. May be called twice. */
  async terminate(): Promise<void> {
    if (this.#isGone) return;
    const ended = once(this.#worker, 'exit');
    void this.#worker.terminate();
    await waitAtMost(this.#options.clock, CLOSE_MS, ended);
  }

  #gone(why: string): void {
    if (this.#isGone) return;
    this.#isGone = true;
    const error = new ParleyError('MEDIA_THREAD_LOST', { reason: why });
    this.#rpc.close(error);
    const [sessions, lines] = [[...this.#sessions.values()], [...this.#lines.values()]];
    this.#sessions.clear();
    this.#lines.clear();
    for (const session of sessions) session.lost(why);
    for (const line of lines) line.lost(error);
    this.#options.onGone(why);
  }
}

/** @throws TypeError for the embedder's own providers, which stay on their thread */
function plainRequest(
  request: Omit<SessionRequest, 'transport'>,
  id: string,
  startUnixMs: number,
): RemoteSessionRequest {
  const { vad, stt, llm, tts, tools, mayTransfer, consult, log, agents, ...rest } = request;
  const { outcome: _asked, observe: _observe, ...plain } = rest;
  if ([vad, stt, llm, tts].some((provider) => provider !== undefined)) {
    throw new TypeError('a session in a media thread cannot have providers of its embedder');
  }
  return {
    ...plain,
    id,
    startUnixMs,
    agents:
      agents == null ? null : Object.fromEntries(Object.entries(agents).map(([name, one]) => [name, plainAgent(one)])),
    functions: (tools ?? []).map(plainTool),
    logs: log !== undefined,
    asks: { mayTransfer: mayTransfer !== undefined, consult: consult !== undefined },
  };
}

/** An agent without functions in code of its own, which stay on their thread. */
function plainAgent<Agent extends NamedAgent | null>(agent: Agent): Agent {
  return agent === null ? agent : { ...agent, tools: null };
}

/** @throws TypeError for the embedder's own providers, which stay on their thread */
function plainWaiting(request: Omit<WaitingRequest, 'transport' | 'events'>): RemoteWaitingRequest {
  const { vad, stt, llm, tts, tools: _tools, interceptTool: _intercept, ...plain } = request;
  if ([vad, stt, llm, tts].some((provider) => provider !== undefined)) {
    throw new TypeError('a caller in a media thread cannot have providers of its embedder');
  }
  return plain;
}

interface MainMethodsOptions {
  /** The stores of the main thread's engine. */
  stores: Pick<
    EngineOptions,
    | 'agents'
    | 'knowledge'
    | 'memories'
    | 'doNotCall'
    | 'sessionMemory'
    | 'unfinished'
    | 'onMcpFault'
    | 'mcpTokens'
    | 'plugins'
  >;
  lines: ReadonlyMap<string, LineProxy>;
  sessions: ReadonlyMap<string, SessionProxy>;
  /** A session is over. */
  onFinished: (session: SessionProxy) => void;
  /** A function that runs here reports progress. */
  onProgress: (run: string, text: string) => void;
  onFault: (error: Error) => void;
}

/** Methods of the main thread for a media thread and its sessions: all writes to stores, and all questions. */
function mainMethods({ stores, lines, sessions, onFinished, onProgress, onFault }: MainMethodsOptions): MainMethods {
  const functions = functionsOf(stores.plugins ?? []);
  const { knowledge, memories, doNotCall, sessionMemory, unfinished } = stores;
  const known = (id: string): SessionProxy => {
    const session = sessions.get(id);
    if (session === undefined) throw new ParleyError('SESSION_CLOSED');
    return session;
  };
  return {
    connected: (id) => {
      const line = lines.get(id);
      if (line instanceof WebRtcLineProxy) line.isConnected();
    },
    notConnected: ({ line, error }) => lines.get(line)?.lost(fromWire(error)),
    lineLeft: ({ line: id, facts }) => {
      const line = lines.get(id);
      if (line instanceof PhoneLineProxy) line.left(facts);
    },
    mediaLost: ({ line: id, error }) => {
      const line = lines.get(id);
      if (line instanceof PhoneLineProxy) line.mediaLost(fromWire(error));
    },
    mediaAnnounced: ({ line: id, what }) => {
      const line = lines.get(id);
      if (line instanceof PhoneLineProxy) line.mediaAnnounced(what);
    },
    waitingKeys: ({ line, keys }) => lines.get(line)?.waitingEvents?.keys(keys),
    waitingWords: ({ line, text }) => lines.get(line)?.waitingEvents?.words(text),
    waitingClosed: (line) => lines.get(line)?.waitingEvents?.closed(),
    waitingFault: ({ line, name, reason }) => lines.get(line)?.waitingEvents?.fault(name, reason),
    transfer: async ({ line, target }, signal) =>
      lines.get(line)?.transferTo(target, signal) ?? { ok: false, reason: 'failed' },
    event: ({ session, event }) => sessions.get(session)?.event(event),
    tapped: async ({ session, frame }) => known(session).tapped(frame),
    participantFrame: ({ session, participant, frame }) => sessions.get(session)?.plays(participant, frame),
    participantClosed: ({ session, participant }) => sessions.get(session)?.leaves(participant),
    log: ({ session, entry }) => sessions.get(session)?.log(entry),
    finished: (report) => {
      const session = sessions.get(report.sessionId);
      if (session === undefined) return;
      onFinished(session);
      session.over(report);
    },
    mayTransfer: async ({ session, target }) => known(session).mayTransfer(target),
    consult: async ({ session, about }, signal) => known(session).consult(about, signal),
    callFunction: async ({ run, name, about }, signal) =>
      known(about.sessionId).callFunction(name, functions, about, {
        signal,
        progress: (text) => onProgress(run, text),
      }),
    isOnDoNotCall: async (number) => (await doNotCall?.has(number)) ?? false,
    listDoNotCall: async () => (await doNotCall?.list()) ?? [],
    sessionById: async ({ id, agentId }) => (await sessionMemory?.byId(id, agentId)) ?? null,
    latestSession: async ({ identifier, value, agentId }) =>
      (await sessionMemory?.latest(identifier, value, agentId)) ?? null,
    doNotCall: (entry) => {
      doNotCall?.add(entry).catch((error: unknown) => {
        // As with a local list: the call continues, and its log has the fault.
        sessions.get(entry.sessionId ?? '')?.noteFault('doNotCall.failed', String(error));
      });
    },
    // The session is over: no one can act on an error, and no call is lost.
    remember: (session) => void sessionMemory?.keep(session).catch(() => undefined),
    findAgent: async (id) => plainAgent((await stores.agents?.get(id)) ?? null),
    knownFiles: async (ids) => knowledge?.known(ids) ?? [],
    filesOf: async (agentId) => knowledge?.filesOf(agentId) ?? [],
    search: async (query, signal) => knowledge?.search({ ...query, signal }) ?? [],
    recall: async ({ agentId, user, limit }) => memories?.recall(agentId, user, limit) ?? [],
    keepMemory: async (memory) => memories?.keep(memory),
    startAfterCall: async ({ session, name }) => (await unfinished?.start(session, name)) ?? true,
    finishAfterCall: async ({ session, call }) => unfinished?.finish(session, call),
    fault: (error) => onFault(fromWire(error)),
    mcpFault: ({ server, reason }) => stores.onMcpFault?.(server, reason),
    mcpGrant: async (server, signal) => (await stores.mcpTokens?.grant(server, signal)) ?? NO_GRANT,
    mcpRenew: async ({ server, refusal }, signal) =>
      (await stores.mcpTokens?.renew(server, refusal, signal)) ?? NO_GRANT,
  };
}
