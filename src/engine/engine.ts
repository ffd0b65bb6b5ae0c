import type { Clock } from '../base/clock.js';
import { RealClock } from '../base/real-clock.js';
import { Ticker } from '../base/ticker.js';
import { namedModels } from '../settings/models.js';
import { namedVendors } from '../settings/vendor-settings.js';
import type { SessionContinuation } from '../agent/continuation.js';
import { ParleyError } from '../base/errors.js';
import { type DoNotCallList, MemoryDoNotCallList } from '../session/after-call/do-not-call.js';
import type { ChatPiece } from './chat.js';
import { reachableAgents } from './handover.js';
import { isRemote, type SessionHandle, type SessionLine } from './remote-line.js';
import type { LlmPiece } from '../providers/llm/llm.js';
import type {
  AgentRequest,
  ChatRequest,
  CompletionRequest,
  EngineOptions,
  EngineParts,
  EngineVoice,
  Medium,
  SessionRequest,
  Speech,
  SpeechRequest,
} from './options.js';
import type { SessionReport } from '../session/record/session-report.js';
import type { LeftSession, UnfinishedSession } from './unfinished-session.js';
import type { WaitingCaller, WaitingRequest } from './waiting.js';
import type { AgentReview, AgentWarning } from './warnings.js';
import type { EngineRuntime } from './runtime.js';

/**
 * Everything that sessions share: the clock and its ticker, the providers, the client for webhooks. Use one per process
 * or thread.
 */
export class Engine {
  readonly clock: Clock;
  readonly ticker: Ticker;
  #options: EngineParts;
  readonly #sessions = new Set<SessionHandle>();
  #runtime: Promise<EngineRuntime> | null = null;
  #closing: Promise<void> | null = null;

  /**
   * @param given members that are undefined count as left out
   * @throws ParleyError ARGUMENT_INVALID for a model that is not an object
   */
  constructor(given: { readonly [Name in keyof EngineOptions]?: EngineOptions[Name] | undefined } = {}) {
    const options = Object.fromEntries(
      Object.entries(given).filter(([, value]) => value !== undefined),
    ) as EngineOptions;
    this.#options = {
      ...options,
      models: namedModels(options.models),
      vendors: namedVendors(options.vendors),
      doNotCall: options.doNotCall ?? new MemoryDoNotCallList(),
    };
    this.clock = options.clock ?? new RealClock();
    this.ticker = new Ticker(this.clock);
  }

  /** The running sessions. */
  get sessions(): ReadonlySet<SessionHandle> {
    return this.#sessions;
  }

  /** The options of the constructor, with the stores of `keepIn`. */
  get options(): Readonly<EngineParts> {
    return this.#options;
  }

  /** The numbers that agents must not call. */
  get doNotCall(): DoNotCallList {
    return this.#options.doNotCall;
  }

  /** Sets the stores of what outlives a session. Call it before any other method. */
  keepIn(
    stores: Pick<
      EngineOptions,
      | 'knowledge'
      | 'memories'
      | 'outboxStore'
      | 'onWebhookLost'
      | 'doNotCall'
      | 'sessionMemory'
      | 'history'
      | 'traces'
      | 'unfinished'
      | 'voices'
      | 'mcpTokens'
      | 'agents'
    >,
  ): void {
    if (this.#runtime !== null) throw new Error('keepIn() must be called before the engine is used');
    this.#options = { ...this.#options, ...stores };
  }

  /**
   * Loads the default providers, so that the first call is not slower.
   * @returns messages about providers that cannot be reached now; calls try again
   * @throws ParleyError PROVIDER_UNKNOWN, or the reason why a provider cannot be loaded, such as a refused key
   */
  async warmUp(): Promise<readonly string[]> {
    return (await this.#load()).warmUp();
  }

  /**
   * Checks whether an agent can have sessions.
   * @param medium `writing`: speech providers are not checked
   * @returns what will not work as the agent's author may expect
   * @throws ParleyError the first fault, as `createSession`; but a disabled agent passes
   */
  async checkAgent(request: AgentRequest, medium: Medium = 'line'): Promise<readonly AgentWarning[]> {
    const { faults, warnings } = await this.reviewAgent(request, medium);
    if (faults[0] !== undefined) throw faults[0];
    return warnings;
  }

  /**
   * Checks an agent like `checkAgent`, and finds all faults in one pass.
   * @returns `faults`: the ParleyErrors that `createSession` would throw; empty = the agent can have sessions.
   * `warnings`: if there are no faults, what will not work as the agent's author may expect
   */
  async reviewAgent(request: AgentRequest, medium: Medium = 'line'): Promise<AgentReview> {
    return (await this.#load()).reviewAgent(request, medium);
  }

  /**
   * Checks whether a session of this agent can continue there.
   * @param agentId null = an agent without an id
   * @throws ParleyError CONFIG_INVALID, NOT_FOUND for an unknown session
   */
  async checkContinuation(continuation: SessionContinuation, agentId: string | null): Promise<void> {
    await (await this.#load()).checkContinuation(continuation, agentId);
  }

  /**
   * A session that is ready to `run()`.
   * @throws ParleyError ARGUMENT_INVALID for a transport that is missing or in use, or a provider without its methods, CONFIG_INVALID, AGENT_DISABLED,
   * PROVIDER_UNKNOWN, PROVIDER_REMOTE_IN_VIRTUAL_TIME, AUDIO_RATE_UNSUPPORTED, SESSION_CLOSED; MEDIA_THREAD_LOST and
   * MEDIA_THREAD_SILENT if the line is in a media thread
   */
  async createSession(request: SessionRequest<SessionLine>): Promise<SessionHandle> {
    const { transport } = request;
    checkProviders(request);
    take(transport);
    const session = await this.#makeSession(request).catch((error: unknown) => {
      inUse.delete(transport); // unused so far
      throw error;
    });
    // The engine may have closed before this session was in its list.
    if (this.#closing !== null) {
      await session.close();
      throw new ParleyError('SESSION_CLOSED');
    }
    this.#sessions.add(session);
    void session.finished.then(() => this.#sessions.delete(session));
    return session;
  }

  /**
   * The line of a caller who waits for an agent: music and announcements in the agent's voice, without a session. A
   * session of the returned line takes over without a gap.
   * @throws ParleyError as `checkAgent`, SESSION_CLOSED; MEDIA_THREAD_LOST and MEDIA_THREAD_SILENT if the line is in a
   * media thread
   */
  async openWaiting(request: WaitingRequest<SessionLine>): Promise<WaitingCaller & { readonly line: SessionLine }> {
    const { transport, ...rest } = request;
    if (isRemote(transport)) return { ...(await transport.openWaiting(rest)), line: transport };
    return (await this.#load()).waitingRoom.open({ ...rest, transport });
  }

  /**
   * An agent's answer in a text conversation, piece by piece, including its tools. Without a line its model cannot hang
   * up, transfer, press keys or change the language. It ends when all work after an `endOfSession` is done; a reader
   * who stops reading aborts it.
   * @throws ParleyError CONFIG_INVALID, NOT_FOUND, AGENT_DISABLED, PROVIDER_UNKNOWN, PROVIDER_FAILED, PROVIDER_REFUSED,
   * PROVIDER_TIMEOUT, PROVIDER_REMOTE_IN_VIRTUAL_TIME, SESSION_CLOSED; the signal's reason when it is aborted
   */
  async *chat(request: ChatRequest): AsyncGenerator<ChatPiece, void, undefined> {
    yield* (await this.#load()).chats.answer(await this.#withAgents(request));
  }

  /**
   * One reply of a language model outside a session, piece by piece. It takes real time, even if the engine's clock is
   * virtual. A reader who stops reading aborts it.
   * @throws ParleyError PROVIDER_UNKNOWN, PROVIDER_FAILED, PROVIDER_REFUSED, PROVIDER_TIMEOUT, ARGUMENT_INVALID,
   * SESSION_CLOSED; the signal's reason when it is aborted
   */
  async *complete(request: CompletionRequest): AsyncGenerator<LlmPiece, void, undefined> {
    yield* (await this.#load()).completions.answer(request);
  }

  /**
   * Completes the work after a session whose process died, from what it left behind.
   * @returns the session's report; the caller stores and sends it
   */
  async finishSession(session: UnfinishedSession, left: LeftSession): Promise<SessionReport> {
    return (await this.#load()).finishSession(session, left);
  }

  /**
   * Speaks a text with one of the engine's voices.
   * @throws ParleyError PROVIDER_UNKNOWN, or the voice's error
   */
  async speech(request: SpeechRequest): Promise<Speech> {
    return (await this.#load()).speech(request);
  }

  /** All voices of the available providers. */
  async voices(): Promise<EngineVoice[]> {
    return (await this.#load()).voices();
  }

  async #makeSession({ transport, ...request }: SessionRequest<SessionLine>): Promise<SessionHandle> {
    const { sessions } = await this.#load();
    const whole = await this.#withAgents(request);
    return isRemote(transport) ? sessions.openRemote(transport, whole) : sessions.create({ ...whole, transport });
  }

  /** A conversation keeps the agents that it can reach as they are when it begins. */
  async #withAgents<Request extends AgentRequest>(request: Request): Promise<Request> {
    if (request.extensions?.handover == null) return request;
    return { ...request, agents: await reachableAgents(request, this.#options.agents ?? null) };
  }

  /** Ends all sessions and frees shared resources. May be called twice. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#sessions].map((session) => session.close()));
    // A runtime that failed to load has rejected the calls that needed it.
    await (await this.#runtime?.catch(() => null))?.close();
  }

  /** Loaded late, so that importing the library stays fast. */
  #load(): Promise<EngineRuntime> {
    if (this.#closing !== null) return Promise.reject(new ParleyError('SESSION_CLOSED'));
    this.#runtime ??= import('./runtime.js').then(
      ({ EngineRuntime }) => new EngineRuntime(this.#options, this.clock, this.ticker),
    );
    return this.#runtime;
  }
}

/** Transports that have a session, of any engine. */
const inUse = new WeakSet<SessionLine>();

/** What a provider of an embedder's own must have. */
const PROVIDER_METHODS = {
  vad: ['warmUp', 'createDetector'],
  stt: ['warmUp', 'open', 'close'],
  tts: ['warmUp', 'synthesize', 'close'],
  llm: ['warmUp', 'complete', 'close'],
} as const;

/** @throws ParleyError ARGUMENT_INVALID for a provider without its methods */
function checkProviders(request: Pick<SessionRequest, keyof typeof PROVIDER_METHODS>): void {
  for (const kind of ['vad', 'stt', 'tts', 'llm'] as const) {
    const missing = request[kind] == null ? [] : missingMethods(request[kind], PROVIDER_METHODS[kind]);
    if (missing.length === 0) continue;
    const reason = `it has no method ${missing.join(', ')}; see the type in @parley-voice/parley/providers`;
    throw new ParleyError('ARGUMENT_INVALID', { argument: `SessionRequest.${kind}`, reason });
  }
}

function missingMethods(value: unknown, names: readonly string[]): string[] {
  const members = value as Readonly<Record<string, unknown>> | null | undefined;
  return names.filter((name) => typeof members?.[name] !== 'function');
}

/** @throws ParleyError ARGUMENT_INVALID */
function take(transport: SessionLine | undefined): void {
  const isInThread = missingMethods(transport, ['openSession']).length === 0;
  const missing = isInThread ? [] : missingMethods(transport, ['start', 'play', 'send', 'close']);
  if (transport === undefined || missing.length > 0) {
    const reason = `a Transport is expected, such as new MemoryTransport() (missing: ${missing.join(', ')})`;
    throw new ParleyError('ARGUMENT_INVALID', { argument: 'SessionRequest.transport', reason });
  }
  if (inUse.has(transport)) {
    const reason = 'this transport has had a session already; each session needs one of its own';
    throw new ParleyError('ARGUMENT_INVALID', { argument: 'SessionRequest.transport', reason });
  }
  inUse.add(transport);
}
