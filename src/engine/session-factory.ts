import { randomUUID } from 'node:crypto';
import { HEARING_RATE_HZ } from '../audio/frame.js';
import type { Clock } from '../base/clock.js';
import { RealClock, nowUnixMs } from '../base/real-clock.js';
import type { Ticker } from '../base/ticker.js';
import type { SessionContinuation } from '../agent/continuation.js';
import { languageName } from '../agent/language-name.js';
import { EMBEDDED_DEFAULTS, type ResolvedAgent, resolveAgent } from '../agent/resolve.js';
import { type ConversationConfig, DEFAULT_CONVERSATION } from '../conversation/config.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import { GuardedClient } from '../net/guarded-client.js';
import { LocalModels } from '../providers/local/local-models.js';
import { TTS_PROVIDERS } from '../providers/tts/registry.js';
import type { SpeechHints, SttProvider } from '../providers/stt/stt.js';
import type { TtsProvider, TtsVoiceChoice } from '../providers/tts/tts.js';
import type { AfterCallMarks } from '../session/after-call/after-call.js';
import type { SessionReport } from '../session/record/session-report.js';
import { conversationConfig } from '../session/conversation-config.js';
import {
  InProcessMemories,
  type MemoryStore,
  RecentSessions,
  type SessionMemory,
} from '../session/after-call/memory.js';
import { MemoryDoNotCallList } from '../session/after-call/do-not-call.js';
import { Session } from '../session/session.js';
import type { SessionTrace } from '../session/record/trace-folder.js';
import type { LogSink } from '../session/record/event-log.js';
import { MemoryOutboxStore } from '../tools/memory-outbox.js';
import { WebhookOutbox } from '../tools/outbox.js';
import { McpServers } from '../tools/mcp/tools.js';
import { askForPrompt } from '../tools/prompt-webhook.js';
import type { AgentToolbox } from '../tools/toolbox.js';
import { SessionRecorder, type Teller, type Told } from './session-recorder.js';
import { Chats } from './chat.js';
import { assertKnown, messagesBefore, rememberWhenOver } from './continuation.js';
import { speechHints } from './stt-hints.js';
import { chooseVoice, NO_LANGUAGE_VENDORS, spokenLanguages } from './languages.js';
import { remembering } from './memories.js';
import type { RemoteLine, SessionHandle } from './remote-line.js';
import type {
  AgentRequest,
  EngineParts,
  EngineVoice,
  Medium,
  SessionRequest,
  Speech,
  SpeechRequest,
} from './options.js';
import { type Plan, Planner } from './agent-setup.js';
import { Providers } from './providers.js';
import { Refusals } from './refusals.js';
import { sessionParts } from './session-parts.js';
import { LineDecorators } from './line-decorators.js';
import { finalWait } from './fallbacks.js';
import { finishSession, type LeftSession, type UnfinishedSession } from './unfinished.js';
import { type AgentWarning, agentWarnings } from './warnings.js';
import { withTimeout } from '../base/deadlines.js';

/** A list of voices is not waited for longer. */
const VOICES_MS = 5_000;

/** Where the engine makes its sessions: providers, toolboxes and the client, loaded when the first one is asked for. */
export class SessionFactory {
  readonly #options: EngineParts;
  readonly #clock: Clock;
  readonly #ticker: Ticker;
  readonly #providers: Providers;
  readonly #client: GuardedClient;
  readonly #sound: LineDecorators;
  /** For what the operator configured: agents cannot make it call anything else. */
  readonly #operatorClient: GuardedClient;
  readonly #aftermath: Teller;
  readonly #mcp: McpServers;
  readonly #networkClock: Clock;
  readonly #memory: SessionMemory;
  readonly #memories: MemoryStore;
  readonly #planner: Planner;
  readonly #refusals: Refusals;
  readonly chats: Chats;

  /** @throws ParleyError PROVIDER_UNKNOWN for a model whose adapter does not exist */
  constructor(options: EngineParts, clock: Clock, ticker: Ticker) {
    this.#options = options;
    this.#clock = clock;
    this.#ticker = ticker;
    const localModels = new LocalModels(options.localModels);
    this.#providers = new Providers({
      localModels,
      models: options.models ?? new Map(),
      vendors: options.vendors ?? {},
      vad: options.vad,
      turnModel: options.turnModel,
    });
    this.#memories = options.memories ?? new InProcessMemories();
    // The network's time is real also where the conversation's is not.
    const network = {
      clock: clock.virtual ? new RealClock() : clock,
      ...(options.maxToolReplyBytes !== undefined && { maxBytes: options.maxToolReplyBytes }),
    };
    this.#networkClock = network.clock;
    this.#memory = options.sessionMemory ?? new RecentSessions();
    this.#client = new GuardedClient({ ...network, allowUrls: options.allowUrls ?? [] });
    this.#operatorClient = new GuardedClient({ ...network, allowUrls: operatorUrls(options) });
    this.#mcp = new McpServers({
      servers: options.mcpServers ?? {},
      clock: network.clock,
      onFault: (server, reason) => options.onMcpFault?.(server, reason),
    });
    const { outboxStore, webhookSecret, onWebhookLost } = options;
    const outbox = new WebhookOutbox({
      store: outboxStore ?? new MemoryOutboxStore(),
      client: this.#client,
      clock: network.clock,
      nowUnixMs,
      secret: webhookSecret ?? null,
      onLost: ({ sessionId }, reason) => onWebhookLost?.(sessionId, reason),
    });
    this.#aftermath =
      options.teller ??
      new SessionRecorder({
        outbox,
        clock: network.clock,
        history: options.history ?? null,
        unfinished: options.unfinished ?? null,
      });
    this.#sound = new LineDecorators({
      clock,
      recordings: options.recordings,
      localModels,
      backgrounds: { client: this.#client, clock: network.clock, folder: options.mediaCacheDir ?? null },
    });
    this.#refusals = new Refusals(network.clock, (provider) => options.onProviderAccepted?.(provider));
    this.#planner = new Planner({
      refusalOf: (provider) => this.#refusals.of(provider),
      options,
      clock,
      networkClock: network.clock,
      providers: this.#providers,
      sound: this.#sound,
      mcp: this.#mcp,
      client: this.#client,
      operatorClient: this.#operatorClient,
    });
    this.chats = new Chats({
      options,
      clock,
      networkClock: network.clock,
      planner: this.#planner,
      mcp: this.#mcp,
      client: this.#client,
      aftermath: this.#aftermath,
      memories: this.#memories,
      sessionMemory: this.#memory,
    });
  }

  async warmUp(): Promise<readonly string[]> {
    const agent = resolveAgent({}, { defaults: this.#options.defaults ?? {} });
    languageName(agent.language);
    // Each is begun within its own promise: none is left behind where another cannot even begin.
    const begun = async (work: () => Promise<void> | undefined): Promise<null> => {
      await work();
      return null;
    };
    const reached = async <T extends { name: string }>(
      find: () => T,
      warm: (provider: T) => Promise<void>,
    ): Promise<string | null> => {
      const provider = find();
      return this.#refusals.warmUp(provider, () => warm(provider));
    };
    const problems = await Promise.all([
      begun(() => this.#providers.vad().warmUp()),
      begun(() => this.#providers.turnModel()?.warmUp()),
      begun(() => this.#sound.warmUp()),
      reached(
        () => this.#providers.stt(agent.stt.provider),
        (stt) => stt.warmUp(),
      ),
      reached(
        () => this.#providers.tts(agent.voice.provider),
        (tts) => tts.warmUp(voiceOf(agent)),
      ),
      reached(
        () => this.#providers.llm(agent.llm.model, undefined),
        (llm) => llm.warmUp(),
      ),
      begun(() => this.#mcp.warmUp()),
      begun(() => this.#client.warmUp()),
      begun(() => this.#operatorClient.warmUp()),
    ]);
    return problems.filter((problem) => problem !== null);
  }

  async check(request: AgentRequest, medium: Medium): Promise<AgentWarning[]> {
    const plan = medium === 'line' ? this.#planner.plan(request, {}) : this.#planner.mind(request, {});
    const { agent, refusal } = await plan;
    const refused =
      refusal === null
        ? []
        : [{ loc: ['llm', 'model'], msg: `${reasonOf(refusal)}. Until then its calls are refused.` }];
    return [...refused, ...agentWarnings({ request, agent, options: this.#options })];
  }

  /** @throws ParleyError CONFIG_INVALID, NOT_FOUND for a session that is not known */
  checkContinuation(continuation: SessionContinuation, agentId: string | null): void {
    assertKnown(continuation, this.#memory, agentId);
  }

  async makeSession(request: SessionRequest): Promise<Session> {
    const id = request.id ?? randomUUID();
    const startUnixMs = request.startUnixMs ?? nowUnixMs();
    const early: [name: string, reason: string][] = [];
    let made: Session | null = null;
    const onFault = (name: string, reason: string): void => {
      if (made === null) early.push([name, reason]);
      else made.noteFault(name, reason);
    };
    const plan = await this.#briefedPlan({ ...request, id }, onFault);
    const { toolbox, providers } = plan;
    const { vad, stt, tts } = providers;
    const turnModel = this.#providers.turnModel();
    const [{ agent, memory }] = await Promise.all([
      this.#remembering(plan.agent, request.agentId ?? null, id, onFault),
      vad.warmUp(),
      stt.warmUp(),
      tts.warmUp(voiceOf(plan.agent)),
      turnModel?.warmUp(),
      ...(callsOut(plan.agent) ? [this.#client.warmUp(), this.#operatorClient.warmUp()] : []),
    ]);
    const line = await this.#sound.line({
      transport: request.transport,
      sound: agent.sound,
      sessionId: id,
      onFault,
    });
    const script = request.script === undefined ? null : this.#providers.scriptHints(request.script);
    const hintsIn = (language: string): SpeechHints => speechHints(agent, script, request.direction, language);
    const languages = this.#languages(plan, hintsIn);
    const before = { agent, agentId: request.agentId ?? null, phones: request.phones ?? null };
    const parts = sessionParts({
      agent,
      request,
      sessionId: id,
      guard: this.#client.guard,
      clock: this.#networkClock,
      doNotCall: this.#options.doNotCall ?? new MemoryDoNotCallList(),
      session: () => session,
    });
    const onTraceFault = (reason: string): void => session.noteFault('trace.failed', reason);
    const { log, close: closeTrace } = sessionLog(request.log, this.#options.traces?.open(id, onTraceFault));
    const conversation = conversationConfig(agent, toolbox.speech, startUnixMs, request.direction);
    const session = new Session({
      ...providers,
      ...parts.options,
      ...languages,
      ...line,
      id,
      conversation: {
        ...conversation,
        endpointing: { ...conversation.endpointing, ...finalWait(providers.stt), ...this.#options.endpointing },
        speculation: { enabled: this.#options.speculation ?? true },
        modelHears: plan.speech?.hears ?? false,
        deadlines: toolDeadlines(toolbox),
        opening: { ...conversation.opening, resumes: request.continuation?.resume === true },
        earlier: messagesBefore(request.continuation ?? {}, this.#memory, before),
        ...parts.conversation,
      },
      vadThreshold: agent.vadThreshold,
      hints: hintsIn(languages.startLanguage ?? agent.language),
      model: parts.options.llm?.name ?? agent.llm.model,
      temperature: agent.llm.temperature,
      voice: agent.voice,
      toolbox,
      ...(turnModel !== null && { turnModel }),
      metadata: agent.metadata,
      ...(memory && { memory }),
      ...(this.#marks && { afterCallMarks: this.#marks }),
      clock: this.#clock,
      ticker: this.#ticker,
      ...(request.mayTransfer && { mayTransfer: request.mayTransfer }),
      ...(request.consult && { consult: request.consult }),
      ...(request.observe && { observe: request.observe }),
      ...(log && { log }),
    });
    made = session;
    void session.finished.then(closeTrace);
    for (const [name, reason] of early) session.noteFault(name, reason);
    const { llm } = parts.options;
    if (llm !== undefined) void session.finished.then(() => llm.close());
    void session.finished.then(() => plan.speech?.session.close());
    rememberWhenOver(session, this.#memory, before);
    this.#tellAfterwards(session, plan, request, startUnixMs);
    return session;
  }

  /** A session in the thread where its line is. It is told of here: the log is here, and how its call ended. */
  async openElsewhere(line: RemoteLine, request: SessionRequest): Promise<SessionHandle> {
    const { session, told } = await line.openSession(request);
    this.#tellOf(session, { ...told, outcome: request.outcome ?? null }, request);
    return session;
  }

  #remembering(
    agent: ResolvedAgent,
    agentId: string | null,
    sessionId: string,
    onFault: (name: string, reason: string) => void,
  ): ReturnType<typeof remembering> {
    return remembering(agent, {
      store: this.#memories,
      clock: this.#networkClock,
      agentId,
      sessionId,
      nowUnixMs,
      onFault: (reason) => onFault('memory.failed', reason),
    });
  }

  #languages(
    { agent, providers: { stt, tts } }: Plan,
    hints: (language: string) => SpeechHints,
  ): ReturnType<typeof spokenLanguages> {
    const { defaults, languageVendors = NO_LANGUAGE_VENDORS } = this.#options;
    // What the agent's user says goes to nobody whom neither the agent nor the operator has chosen.
    const names = [
      defaults?.sttProvider ?? EMBEDDED_DEFAULTS.sttProvider,
      EMBEDDED_DEFAULTS.sttProvider,
      ...languageVendors.stt,
    ];
    const otherStt = (): SttProvider[] => names.map((name) => this.#providers.stt(name));
    const otherTts = async (language: string): Promise<TtsProvider> =>
      this.#providers.tts(await chooseVoice(language, languageVendors, this.#providers));
    return spokenLanguages(
      { agent, stt, tts, hints, otherStt, otherTts },
      defaults?.language ?? EMBEDDED_DEFAULTS.language,
    );
  }

  /** Has the session's record kept, and sent where the agent wants it. */
  #tellAfterwards(session: Session, plan: Plan, request: SessionRequest, startUnixMs: number): void {
    const { config, agent } = plan;
    const to = agent.webhooks.sessionData;
    const { agentId = null, callId = null, campaignId = null, phones = null, direction = 'inbound' } = request;
    const facts = {
      agentId,
      callId,
      campaignId,
      phones,
      direction,
      startUnixMs,
      agentConfig: config,
      metadata: agent.metadata,
      recordingUrl: null,
      optOut: config.privacy_settings?.opt_out_data_collection ?? false,
    };
    this.#tellOf(session, { to, facts, outcome: request.outcome ?? null }, request);
  }

  #tellOf(
    session: SessionHandle,
    told: Told,
    { script = null, extensions = null, includeMetadataInPrompt = false }: AgentRequest,
  ): void {
    const { history, teller, unfinished } = this.#options;
    if (told.to === null && history === undefined && teller === undefined) return;
    const { to, facts } = told;
    try {
      unfinished?.put({ sessionId: session.id, to, facts, script, extensions, includeMetadataInPrompt, chat: null });
    } catch (error) {
      session.noteFault('history.failed', reasonOf(error));
    }
    void this.#aftermath.tell(session, told);
  }

  finishSession(session: UnfinishedSession, left: LeftSession): Promise<SessionReport> {
    return finishSession(session, left, {
      planner: this.#planner,
      memories: this.#memories,
      sessionMemory: this.#memory,
      clock: this.#clock,
      networkClock: this.#networkClock,
      afterCallMarks: this.#marks,
    });
  }

  get #marks(): AfterCallMarks | undefined {
    return this.#options.afterCallMarks ?? this.#options.unfinished;
  }

  async speech(request: SpeechRequest): Promise<Speech> {
    const { text, signal, voiceId = null, model = null, settings = {} } = request;
    const defaults = { ...EMBEDDED_DEFAULTS, ...this.#options.defaults };
    const language = request.language ?? defaults.language;
    const tts = this.#providers.tts(request.provider ?? defaults.voiceProvider);
    await tts.warmUp({ language, voiceId, model, settings });
    const pieces: Int16Array[] = [];
    let sampleRateHz = HEARING_RATE_HZ;
    // No conversation's time passes.
    const asked = { text, language, voiceId, model, settings, clock: new RealClock(), signal };
    for await (const audio of tts.synthesize(asked)) {
      sampleRateHz = audio.sampleRateHz;
      pieces.push(audio.samples.slice());
    }
    return { samples: joined(pieces), sampleRateHz };
  }

  /** A provider that does not list its voices in time, or is not on this machine, has none. */
  async voices(): Promise<EngineVoice[]> {
    const listed = TTS_PROVIDERS.map(async (name) => {
      const provider = this.#providers.tts(name);
      // Some list their voices only when they are asked for something.
      const asked = provider.speaks?.(EMBEDDED_DEFAULTS.language) ?? Promise.resolve(true);
      await withTimeout(this.#networkClock, VOICES_MS, () => asked);
      // espeak-ng has two entries for some.
      const ids = new Set<string>();
      const account = (await provider.accountVoices?.()) ?? [];
      const isNew = ({ id }: EngineVoice): boolean => !ids.has(id) && ids.add(id).size > 0;
      return [...account, ...provider.voices()].map((voice) => ({ ...voice, provider: name })).filter(isNew);
    });
    const found = await Promise.allSettled(listed);
    return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
  }

  async close(): Promise<void> {
    this.#refusals.close();
    await this.#sound.close();
    await this.chats.close();
    await Promise.all([this.#aftermath.close(), this.#mcp.close()]);
    await Promise.all([this.#providers.close(), this.#client.close(), this.#operatorClient.close()]);
  }

  /** The plan, with what the agent's webhook adds to its prompt and metadata; while it is asked, the engines warm up. */
  async #briefedPlan(
    request: SessionRequest & { id: string },
    onFault: (name: string, reason: string) => void,
  ): Promise<Plan> {
    await this.#mcp.warmUp();
    const plan = await this.#planner.plan(request, { onFault });
    const { agent, providers } = plan;
    if (agent.status === 'disabled') throw new ParleyError('AGENT_DISABLED');
    if (plan.refusal !== null) throw plan.refusal;
    const address = agent.webhooks.extraPrompt;
    if (address === null) return plan;
    const { id: sessionId, agentId = null, phones = null } = request;
    const { signal } = new AbortController();
    const asking = askForPrompt(this.#client, address, {
      sessionId,
      agentId,
      phones,
      metadata: agent.metadata,
      signal,
    }).catch((error: unknown) => {
      onFault('extraPromptWebhook.failed', reasonOf(error));
      return null;
    });
    const [extra] = await Promise.all([
      asking,
      providers.vad.warmUp(),
      providers.stt.warmUp(),
      providers.tts.warmUp(voiceOf(agent)),
    ]);
    if (extra === null) return plan;
    await plan.speech?.session.close(); // the one of the plan that follows has another prompt
    const metadata = { ...agent.metadata, ...extra.metadata };
    return this.#planner.plan({ ...request, metadata }, { onFault, extraPrompt: extra.extraPrompt });
  }
}

/** Where a session's event log goes: to whoever asked for it, and to where those of all sessions are kept. */
function sessionLog(
  log: LogSink | undefined,
  trace: SessionTrace | undefined,
): { log: LogSink | undefined; close: () => Promise<void> } {
  if (trace === undefined) return { log, close: async () => undefined };
  const both: LogSink = (entry) => {
    trace.log(entry);
    log?.(entry);
  };
  return { log: both, close: () => trace.close() };
}

/** Whether the session may call the agent's or the operator's servers: what that takes is not loaded during a call. */
function callsOut({ tools, serviceFunctions, appFunctions, webhooks }: ResolvedAgent): boolean {
  return tools.length + serviceFunctions.length + appFunctions.length > 0 || webhooks.sessionData !== null;
}

/** Whom the agent speaks as. */
function voiceOf({ voice, language }: ResolvedAgent): TtsVoiceChoice {
  return { ...voice, language };
}

/** What the operator's client may call beside the public internet. */
function operatorUrls({ serviceWebhooks = {}, appBaseUrls = {} }: EngineParts): string[] {
  const roots = Object.values(appBaseUrls).map((url) => new URL(url).origin);
  return [...Object.values(serviceWebhooks).map(({ url }) => url), ...roots];
}

/** A tool may answer as late as its own limit says. */
function toolDeadlines({ longestMs }: AgentToolbox): ConversationConfig['deadlines'] {
  const { deadlines } = DEFAULT_CONVERSATION;
  return { ...deadlines, toolMs: Math.max(deadlines.toolMs, longestMs + 5_000) };
}

function joined(pieces: readonly Int16Array[]): Int16Array {
  const all = new Int16Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
