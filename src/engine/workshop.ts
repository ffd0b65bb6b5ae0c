import { randomUUID } from 'node:crypto';
import { HEARING_RATE_HZ } from '../audio/frame.js';
import type { Clock } from '../clock/clock.js';
import { RealClock, unixNow } from '../clock/real.js';
import type { Ticker } from '../clock/ticker.js';
import type { AgentConfig } from '../config/agent.js';
import { knownModels, SCRIPTED_MODEL } from '../config/models.js';
import { type AgentConfigRules, parseAgentConfig } from '../config/parse.js';
import { type AgentDefaults, EMBEDDED_DEFAULTS, type ResolvedAgent, resolveAgent } from '../config/resolve.js';
import { ACTION_NAMES } from '../conversation/actions.js';
import { type ConversationConfig, DEFAULT_CONVERSATION } from '../conversation/config.js';
import { ParleyError, reasonOf } from '../errors.js';
import { GuardedClient } from '../net/guarded-client.js';
import { FallbackLlmProvider } from '../providers/llm/fallback.js';
import type { LlmProvider } from '../providers/llm/llm.js';
import { STT_PROVIDERS } from '../providers/stt/registry.js';
import { chooseTts } from '../providers/tts/choose.js';
import { TTS_PROVIDERS } from '../providers/tts/registry.js';
import type { SpeechHints, SttProvider } from '../providers/stt/stt.js';
import type { TtsProvider } from '../providers/tts/tts.js';
import { conversationConfig } from '../session/conversation-config.js';
import { InProcessMemories, type MemoryStore } from '../session/memory.js';
import { MemoryDoNotCallList } from '../session/do-not-call.js';
import { Session } from '../session/session.js';
import { RecentSessions, type SessionMemory } from '../session/session-memory.js';
import type { SessionOptions } from '../session/session-options.js';
import { MemoryOutboxStore } from '../tools/memory-outbox.js';
import { WebhookOutbox } from '../tools/outbox.js';
import { McpServers } from '../tools/mcp/tools.js';
import { askForPrompt } from '../tools/prompt-webhook.js';
import { AgentToolbox } from '../tools/toolbox.js';
import { Aftermath } from './aftermath.js';
import { agentTools } from './agent-tools.js';
import { checkCustomLlm } from './custom-llm.js';
import { messagesBefore, rememberWhenOver } from './earlier.js';
import { speechHints } from './hints.js';
import { checkStt, spokenLanguages } from './languages.js';
import { knowledgeTools } from './knowledge.js';
import { remembering } from './memories.js';
import type { AgentRequest, EngineOptions, SessionRequest, Speech, SpeechRequest } from './options.js';
import { Providers } from './providers.js';
import { sessionParts } from './session-parts.js';
import { Sound } from './sound.js';

/** What a session needs of its agent. */
interface Plan {
  config: AgentConfig;
  agent: ResolvedAgent;
  toolbox: AgentToolbox;
  providers: Pick<SessionOptions, 'vad' | 'stt' | 'llm' | 'tts'>;
}

/** Where the engine makes its sessions: providers, toolboxes and the client, loaded when the first one is asked for. */
export class Workshop {
  readonly #options: EngineOptions;
  readonly #clock: Clock;
  readonly #ticker: Ticker;
  readonly #providers: Providers;
  readonly #client: GuardedClient;
  readonly #sound: Sound;
  /** For what the operator configured: agents cannot make it call anything else. */
  readonly #operatorClient: GuardedClient;
  readonly #aftermath: Aftermath;
  readonly #mcp: McpServers;
  readonly #networkClock: Clock;
  readonly #memory: SessionMemory;
  readonly #memories: MemoryStore;

  /** @throws ParleyError PROVIDER_UNKNOWN for a model whose adapter does not exist */
  constructor(options: EngineOptions, clock: Clock, ticker: Ticker) {
    this.#options = options;
    this.#clock = clock;
    this.#ticker = ticker;
    this.#providers = new Providers({
      models: options.models ?? new Map(),
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
      ...{ servers: options.mcpServers ?? {}, clock: network.clock },
      onFault: (server, reason) => options.onMcpFault?.(server, reason),
    });
    const { outboxStore, webhookSecret, onWebhookLost } = options;
    const outbox = new WebhookOutbox({
      store: outboxStore ?? new MemoryOutboxStore(),
      ...{ client: this.#client, clock: network.clock, unixMs: unixNow, secret: webhookSecret ?? null },
      onLost: ({ sessionId }, reason) => onWebhookLost?.(sessionId, reason),
    });
    this.#aftermath = new Aftermath({ outbox, clock: network.clock });
    this.#sound = new Sound({
      clock,
      recordings: options.recordings,
      backgrounds: { client: this.#client, clock: network.clock, folder: options.mediaCacheDir ?? null },
    });
  }

  async warmUp(): Promise<void> {
    const agent = resolveAgent({}, { defaults: this.#options.defaults ?? {} });
    await Promise.all([
      this.#providers.vad().warmUp(),
      this.#providers.turnModel()?.warmUp(),
      this.#providers.stt(agent.stt.provider).warmUp(),
      this.#providers.tts(agent.voice.provider).warmUp(),
      this.#providers.llm(agent.llm.model, undefined).warmUp(),
      this.#mcp.warmUp(),
    ]);
  }

  async check(request: AgentRequest): Promise<void> {
    await this.#plan(request, () => undefined);
  }

  async makeSession(request: SessionRequest): Promise<Session> {
    const id = request.id ?? randomUUID();
    const startUnixMs = request.startUnixMs ?? unixNow();
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
      this.#remembering(plan.agent, request.agentId, id, onFault),
      ...[vad.warmUp(), stt.warmUp(), tts.warmUp(), turnModel?.warmUp()],
    ]);
    const line = await this.#sound.line({
      ...{ transport: request.transport, sound: agent.sound, sessionId: id },
      onFault: (name, reason) => session.noteFault(name, reason),
    });
    const script = request.script === undefined ? null : this.#providers.scriptHints(request.script);
    const hintsIn = (language: string): SpeechHints => speechHints(agent, script, request.direction, language);
    const languages = this.#languages(plan, hintsIn);
    const before = { agent, agentId: request.agentId ?? null, phones: request.phones ?? null };
    const parts = sessionParts({
      ...{ agent, request, sessionId: id, guard: this.#client.guard, clock: this.#networkClock },
      ...{ doNotCall: this.#options.doNotCall ?? new MemoryDoNotCallList(), session: () => session },
    });
    const session = new Session({
      ...providers,
      ...parts.options,
      ...languages,
      ...line,
      id,
      conversation: {
        ...conversationConfig(agent, toolbox.speech, startUnixMs, request.direction),
        speculation: { enabled: this.#options.speculation ?? true },
        deadlines: toolDeadlines(toolbox),
        earlier: messagesBefore(request.continuation ?? {}, this.#memory, before),
        ...parts.conversation,
      },
      vadThreshold: agent.vadThreshold,
      hints: hintsIn(languages.startLanguage ?? agent.language),
      model: agent.llm.model,
      temperature: agent.llm.temperature,
      voice: agent.voice,
      toolbox,
      ...(turnModel !== null && { turnModel }),
      metadata: agent.metadata,
      ...(memory && { memory }),
      clock: this.#clock,
      ticker: this.#ticker,
      ...(request.observe && { observe: request.observe }),
      ...(request.log && { log: request.log }),
    });
    made = session;
    for (const [name, reason] of early) session.noteFault(name, reason);
    const { llm } = parts.options;
    if (llm !== undefined) void session.finished.then(() => llm.close());
    rememberWhenOver(session, this.#memory, before);
    this.#tellAfterwards(session, plan, request, startUnixMs);
    return session;
  }

  #remembering(
    agent: ResolvedAgent,
    agentId = '',
    sessionId: string,
    onFault: (name: string, reason: string) => void,
  ): ReturnType<typeof remembering> {
    return remembering(agent, {
      ...{ store: this.#memories, clock: this.#networkClock, agentId, sessionId, nowUnixMs: unixNow },
      onFault: (reason) => onFault('memory.failed', reason),
    });
  }

  #languages(
    { agent, providers: { stt, tts } }: Plan,
    hints: (language: string) => SpeechHints,
  ): ReturnType<typeof spokenLanguages> {
    const { defaults } = this.#options;
    const names = [defaults?.sttProvider ?? EMBEDDED_DEFAULTS.sttProvider, ...STT_PROVIDERS];
    const otherStt = (): SttProvider[] => names.map((name) => this.#providers.stt(name));
    const embeddedTts = (name: string): TtsProvider => this.#providers.tts(name);
    return spokenLanguages(
      { agent, stt, tts, hints, otherStt, embeddedTts },
      defaults?.language ?? EMBEDDED_DEFAULTS.language,
    );
  }

  /** Has the session's record sent where the agent wants it. */
  #tellAfterwards(session: Session, plan: Plan, request: SessionRequest, startUnixMs: number): void {
    const { config, agent, providers } = plan;
    const to = agent.webhooks.sessionData;
    if (to === null) return;
    const { agentId = null, callId = null, campaignId = null, phones = null, direction = 'inbound' } = request;
    const { stt, llm, tts } = providers;
    this.#aftermath.tell(session, {
      to,
      facts: {
        ...{ agentId, callId, campaignId, phones, direction, startUnixMs, agentConfig: config },
        ...{ metadata: agent.metadata, model: agent.llm.model, recordingUrl: null },
        providers: { stt: stt.name, llm: llm.name, tts: tts.name },
        optOut: config.privacy_settings?.opt_out_data_collection ?? false,
      },
      outcome: request.outcome ?? null,
    });
  }

  async speech(request: SpeechRequest): Promise<Speech> {
    const { text, signal, voiceId = null } = request;
    const defaults = { ...EMBEDDED_DEFAULTS, ...this.#options.defaults };
    const language = request.language ?? defaults.language;
    const tts = this.#providers.tts(request.provider ?? defaults.voiceProvider);
    await tts.warmUp();
    const pieces: Int16Array[] = [];
    let sampleRateHz = HEARING_RATE_HZ;
    // No conversation's time passes.
    const asked = { text, language, voiceId, model: null, settings: {}, clock: new RealClock(), signal };
    for await (const audio of tts.synthesize(asked)) {
      sampleRateHz = audio.sampleRateHz;
      pieces.push(audio.samples.slice());
    }
    return { samples: joined(pieces), sampleRateHz };
  }

  async close(): Promise<void> {
    this.#sound.close();
    await Promise.all([this.#aftermath.close(), this.#mcp.close()]);
    await Promise.all([this.#providers.close(), this.#client.close(), this.#operatorClient.close()]);
  }

  /** The plan, with what the agent's webhook adds to its prompt and metadata; while it is asked, the engines warm up. */
  async #briefedPlan(
    request: SessionRequest & { id: string },
    onFault: (name: string, reason: string) => void,
  ): Promise<Plan> {
    const onFallback = (reason: Error): void => onFault('llm.fallback', reason.message);
    await this.#mcp.warmUp();
    const plan = await this.#plan(request, onFallback);
    const { agent, providers } = plan;
    if (agent.status === 'disabled') throw new ParleyError('AGENT_DISABLED');
    const address = agent.webhooks.extraPrompt;
    if (address === null) return plan;
    const { id: sessionId, agentId = null, phones = null } = request;
    const { signal } = new AbortController();
    const asking = askForPrompt(this.#client, address, {
      ...{ sessionId, agentId, phones, metadata: agent.metadata, signal },
    }).catch((error: unknown) => {
      onFault('extraPromptWebhook.failed', reasonOf(error));
      return null;
    });
    const [extra] = await Promise.all([asking, providers.vad.warmUp(), providers.stt.warmUp(), providers.tts.warmUp()]);
    if (extra === null) return plan;
    const metadata = { ...agent.metadata, ...extra.metadata };
    return this.#plan({ ...request, metadata }, onFallback, extra.extraPrompt);
  }

  async #plan(request: AgentRequest, onFallback: (reason: Error) => void, extraPrompt = ''): Promise<Plan> {
    const config = parseAgentConfig(request.agent, this.#rules(request));
    const agent = resolveAgent(config, {
      defaults: await this.#defaults(request),
      metadata: request.metadata ?? {},
      includeMetadataInPrompt: request.includeMetadataInPrompt ?? false,
      fromPhone: request.phones?.from ?? null,
      toPhone: request.phones?.to ?? null,
      extraPrompt,
    });
    if (request.script !== undefined) this.#providers.scriptHints(request.script);
    const providers = {
      vad: request.vad ?? this.#providers.vad(),
      stt: request.stt ?? this.#providers.stt(agent.stt.provider),
      llm: request.llm ?? this.#model(agent.llm.model, request.script, onFallback),
      tts: request.tts ?? this.#providers.tts(agent.voice.provider),
    };
    this.#sound.check(agent.sound);
    providers.tts.checkSettings?.(agent.voice.settings, agent.voice.voiceId);
    checkStt(agent, providers.stt);
    if (agent.customLlm !== null) checkCustomLlm(agent.customLlm, this.#client.guard, this.#clock);
    this.#checkTime([providers.stt, providers.llm, providers.tts]);
    const toolbox = new AgentToolbox(agent.tools, {
      client: this.#client,
      clock: this.#clock,
      variables: agent.variables,
      reservedNames: ACTION_NAMES,
      tools: [
        ...agentTools(agent, {
          clock: this.#clock,
          operatorClient: this.#operatorClient,
          ...{ mcp: this.#mcp, agentId: request.agentId ?? null, options: this.#options },
          hasScreen: 'transport' in request && (request as SessionRequest).transport.showsForms === true,
        }),
        ...(await knowledgeTools(agent, {
          ...{ knowledge: this.#options.knowledge ?? null, agentId: request.agentId ?? null },
          ...{ clock: this.#clock, networkClock: this.#networkClock },
        })),
      ],
    });
    return { config, agent, toolbox, providers };
  }

  /** What an agent may name here; where the embedder brings a provider, its name is the embedder's business. */
  #rules({ llm, stt, tts }: AgentRequest): AgentConfigRules {
    const { models = new Map(), maxPromptChars } = this.#options;
    return {
      ...(llm === undefined && { llmModels: [...new Set([...knownModels(models), SCRIPTED_MODEL])] }),
      ...(stt === undefined && { sttProviders: STT_PROVIDERS }),
      ...(tts === undefined && { voiceProviders: TTS_PROVIDERS }),
      ...(maxPromptChars !== undefined && { maxPromptChars }),
    };
  }

  /** What the agent leaves open: its own script speaks for it, and its language chooses the embedded voice. */
  async #defaults({ agent, script, tts }: AgentRequest): Promise<AgentDefaults> {
    const defaults = { ...EMBEDDED_DEFAULTS, ...this.#options.defaults };
    if (script !== undefined && agent.llm == null) defaults.llmModel = SCRIPTED_MODEL;
    if (agent.voice == null && tts === undefined && defaults.voiceProvider === EMBEDDED_DEFAULTS.voiceProvider) {
      defaults.voiceProvider = await chooseTts(agent.language ?? defaults.language);
    }
    return defaults;
  }

  /** The agent's model; its script stands in for one that is not on this machine. */
  #model(model: string, script: unknown, onFallback: (reason: Error) => void): LlmProvider {
    const primary = this.#providers.llm(model, script);
    if (primary.virtualTime || script === undefined) return primary;
    const secondary = this.#providers.llm(SCRIPTED_MODEL, script);
    return new FallbackLlmProvider({ primary, secondary, secondaryModel: SCRIPTED_MODEL, onFallback });
  }

  #checkTime(providers: readonly { name: string; virtualTime: boolean }[]): void {
    if (!this.#clock.virtual) return;
    const remote = providers.find((provider) => !provider.virtualTime);
    if (remote !== undefined) throw new ParleyError('PROVIDER_REMOTE_IN_VIRTUAL_TIME', { provider: remote.name });
  }
}

/** What the operator's client may call beside the public internet. */
function operatorUrls({ serviceWebhooks = {}, appBaseUrls = {} }: EngineOptions): string[] {
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
