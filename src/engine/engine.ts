import { randomUUID } from 'node:crypto';
import type { Clock } from '../clock/clock.js';
import { RealClock } from '../clock/real.js';
import { Ticker } from '../clock/ticker.js';
import type { AgentConfig } from '../config/agent.js';
import { type ModelRoutes, SCRIPTED_MODEL } from '../config/models.js';
import { type AgentDefaults, EMBEDDED_DEFAULTS, type ResolvedAgent, resolveAgent } from '../config/resolve.js';
import { refuseUnsupported } from '../config/unsupported.js';
import { END_CALL } from '../conversation/end-call.js';
import { ParleyError } from '../errors.js';
import { GuardedClient } from '../net/guarded-client.js';
import type { LlmProvider } from '../providers/llm/llm.js';
import type { SpeechHints, SttProvider } from '../providers/stt/stt.js';
import { chooseTts } from '../providers/tts/choose.js';
import type { TtsProvider } from '../providers/tts/tts.js';
import type { VadProvider } from '../providers/vad/vad.js';
import { conversationConfig } from '../session/conversation-config.js';
import type { LogSink } from '../session/event-log.js';
import { Session } from '../session/session.js';
import type { SessionEvent } from '../session/session-options.js';
import { AgentToolbox } from '../tools/toolbox.js';
import type { Transport } from '../transports/transport.js';
import { speechHints } from './hints.js';
import { Providers } from './providers.js';

export interface EngineOptions {
  /** Default a RealClock. A VirtualClock refuses providers that cannot run in virtual time. */
  clock?: Clock;
  /** What an agent gets where it leaves the choice open. Default: the embedded engines. */
  defaults?: Partial<AgentDefaults>;
  /** Language models beside the scripted one, by id. */
  models?: ModelRoutes;
  /** Voice activity detection: `silero` (default) or `webrtc`. */
  vad?: string;
  /** Origins or full addresses that agents may call though they are private. */
  allowUrls?: readonly string[];
}

export interface SessionRequest {
  agent: AgentConfig;
  /** Rules of the scripted model, see docs/agent-scripts.md. */
  script?: unknown;
  transport: Transport;
  /** Default a random UUID. */
  id?: string;
  metadata?: Readonly<Record<string, unknown>>;
  /** Default false. */
  includeMetadataInPrompt?: boolean;
  /** The time that the conversation begins, in milliseconds since 1970. Default now. */
  startUnixMs?: number;
  /** Providers of the embedder's own in place of what the agent names. */
  vad?: VadProvider;
  stt?: SttProvider;
  llm?: LlmProvider;
  tts?: TtsProvider;
  observe?: (event: SessionEvent) => void;
  log?: LogSink;
}

/**
 * Everything that sessions share: the clock and its ticker, the providers, the guarded client. One a process (or a
 * thread) is enough.
 */
export class Engine {
  readonly clock: Clock;
  readonly ticker: Ticker;
  readonly providers: Providers;
  readonly #options: EngineOptions;
  readonly #client: GuardedClient;
  readonly #sessions = new Set<Session>();
  #closed = false;

  constructor(options: EngineOptions = {}) {
    this.#options = options;
    this.clock = options.clock ?? new RealClock();
    this.ticker = new Ticker(this.clock);
    this.providers = new Providers({ models: options.models ?? new Map(), vad: options.vad });
    // The network's time is real also where the conversation's is not.
    const networkClock = this.clock.virtual ? new RealClock() : this.clock;
    this.#client = new GuardedClient({ clock: networkClock, allowUrls: options.allowUrls ?? [] });
  }

  /** Sessions that run. */
  get sessions(): ReadonlySet<Session> {
    return this.#sessions;
  }

  /** Loads the default engines, so that no first call pays for it. */
  async warmUp(): Promise<void> {
    const agent = resolveAgent({}, { defaults: this.#options.defaults ?? {} });
    await Promise.all([
      this.providers.vad().warmUp(),
      this.providers.stt(agent.stt.provider).warmUp(),
      this.providers.tts(agent.voice.provider).warmUp(),
      this.providers.llm(agent.llm.model, undefined).warmUp(),
    ]);
  }

  /**
   * A session that is ready to `run()`.
   * @throws ParleyError CONFIG_FIELD_UNSUPPORTED, CONFIG_INVALID, AGENT_DISABLED, PROVIDER_UNKNOWN,
   * PROVIDER_REMOTE_IN_VIRTUAL_TIME, SESSION_CLOSED
   */
  async createSession(request: SessionRequest): Promise<Session> {
    if (this.#closed) throw new ParleyError('SESSION_CLOSED');
    refuseUnsupported(request.agent);
    const agent = resolveAgent(request.agent, {
      defaults: await this.#defaults(request),
      metadata: request.metadata ?? {},
      includeMetadataInPrompt: request.includeMetadataInPrompt ?? false,
    });
    if (agent.status === 'disabled') throw new ParleyError('AGENT_DISABLED');
    const toolbox = new AgentToolbox(agent.tools, {
      client: this.#client,
      clock: this.clock,
      variables: agent.variables,
      reservedNames: [END_CALL],
    });
    const chosen = {
      vad: request.vad ?? this.providers.vad(),
      stt: request.stt ?? this.providers.stt(agent.stt.provider),
      llm: request.llm ?? this.providers.llm(agent.llm.model, request.script),
      tts: request.tts ?? this.providers.tts(agent.voice.provider),
    };
    this.#checkTime([chosen.stt, chosen.llm, chosen.tts]);
    await Promise.all([chosen.vad.warmUp(), chosen.stt.warmUp(), chosen.tts.warmUp()]);
    const session = new Session({
      ...chosen,
      id: request.id ?? randomUUID(),
      conversation: conversationConfig(agent, toolbox.speech, request.startUnixMs ?? Date.now()),
      transport: request.transport,
      vadThreshold: agent.vadThreshold,
      hints: this.#hints(agent, request.script),
      model: agent.llm.model,
      temperature: agent.llm.temperature,
      voice: agent.voice,
      toolbox,
      metadata: agent.metadata,
      clock: this.clock,
      ticker: this.ticker,
      ...(request.observe && { observe: request.observe }),
      ...(request.log && { log: request.log }),
    });
    this.#sessions.add(session);
    void session.finished.then(() => this.#sessions.delete(session));
    return session;
  }

  /** Ends every session and frees what they share. May be called twice. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await Promise.all([...this.#sessions].map((session) => session.close()));
    await Promise.all([this.providers.close(), this.#client.close()]);
  }

  /** What the agent leaves open: its own script speaks for it, and its language chooses the embedded voice. */
  async #defaults({ agent, script, tts }: SessionRequest): Promise<Partial<AgentDefaults>> {
    const defaults = { ...EMBEDDED_DEFAULTS, ...this.#options.defaults };
    if (script !== undefined && agent.llm == null) defaults.llmModel = SCRIPTED_MODEL;
    if (agent.voice == null && tts === undefined && defaults.voiceProvider === EMBEDDED_DEFAULTS.voiceProvider) {
      defaults.voiceProvider = await chooseTts(agent.language ?? defaults.language);
    }
    return defaults;
  }

  #hints(agent: ResolvedAgent, script: unknown): SpeechHints {
    return speechHints(agent, script === undefined ? [] : this.providers.scriptPhrases(script));
  }

  #checkTime(providers: readonly { name: string; virtualTime: boolean }[]): void {
    if (!this.clock.virtual) return;
    const remote = providers.find((provider) => !provider.virtualTime);
    if (remote !== undefined) throw new ParleyError('PROVIDER_REMOTE_IN_VIRTUAL_TIME', { provider: remote.name });
  }
}
