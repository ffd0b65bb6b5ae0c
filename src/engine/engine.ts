import type { Clock } from '../base/clock.js';
import { RealClock } from '../base/real-clock.js';
import { Ticker } from '../base/ticker.js';
import { namedModels } from '../settings/models.js';
import { namedVendors } from '../settings/vendor-settings.js';
import type { SessionContinuation } from '../agent/continuation.js';
import { ParleyError } from '../base/errors.js';
import { type DoNotCallList, MemoryDoNotCallList } from '../session/after-call/do-not-call.js';
import type { ChatPiece } from './chat.js';
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
import type { AgentReview, AgentWarning } from './warnings.js';
import type { EngineRuntime } from './runtime.js';

/**
 * Everything that sessions share: the clock and its ticker, the providers, the client for webhooks. One a process (or a
 * thread) is enough.
 */
export class Engine {
  readonly clock: Clock;
  readonly ticker: Ticker;
  #options: EngineParts;
  readonly #sessions = new Set<SessionHandle>();
  #runtime: Promise<EngineRuntime> | null = null;
  #closing: Promise<void> | null = null;

  /** @throws ParleyError ARGUMENT_INVALID for a model that is not an object */
  constructor(options: EngineOptions = {}) {
    this.#options = {
      ...options,
      models: namedModels(options.models),
      vendors: namedVendors(options.vendors),
      doNotCall: options.doNotCall ?? new MemoryDoNotCallList(),
    };
    this.clock = options.clock ?? new RealClock();
    this.ticker = new Ticker(this.clock);
  }

  /** Sessions that run. */
  get sessions(): ReadonlySet<SessionHandle> {
    return this.#sessions;
  }

  /** The options of the constructor, with the stores of `keepIn`. */
  get options(): Readonly<EngineParts> {
    return this.#options;
  }

  /** Numbers that the agents do not call. */
  get doNotCall(): DoNotCallList {
    return this.#options.doNotCall;
  }

  /** Sets where the engine stores what outlives a session. Call it before any other method. */
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
    >,
  ): void {
    if (this.#runtime !== null) throw new Error('keepIn() must be called before the engine is used');
    this.#options = { ...this.#options, ...stores };
  }

  /**
   * Loads the default engines, so that no first call pays for it.
   * @returns in words, those that could not be reached just now: that may pass, and calls try again
   * @throws ParleyError PROVIDER_UNKNOWN, or what a provider cannot be loaded for, a refused key for one
   */
  async warmUp(): Promise<readonly string[]> {
    return (await this.#load()).warmUp();
  }

  /**
   * Checks whether an agent could have sessions here, before it has one.
   * @param medium `writing`: providers of speech are not checked
   * @returns what will not work as the agent's author may expect
   * @throws ParleyError the first fault, as `createSession`; but a disabled agent passes
   */
  async checkAgent(request: AgentRequest, medium: Medium = 'line'): Promise<readonly AgentWarning[]> {
    const { faults, warnings } = await this.reviewAgent(request, medium);
    if (faults[0] !== undefined) throw faults[0];
    return warnings;
  }

  /**
   * Checks an agent as `checkAgent` does, and finds all faults in one pass.
   * @returns `faults`: ParleyErrors as `createSession` throws; empty = the agent could have sessions. `warnings`: what
   * will not work as the agent's author may expect, where there are no faults
   */
  async reviewAgent(request: AgentRequest, medium: Medium = 'line'): Promise<AgentReview> {
    return (await this.#load()).reviewAgent(request, medium);
  }

  /**
   * Whether a session of this agent could go on from there.
   * @param agentId null = an agent without an id
   * @throws ParleyError CONFIG_INVALID, NOT_FOUND for a session that is not known
   */
  async checkContinuation(continuation: SessionContinuation, agentId: string | null): Promise<void> {
    (await this.#load()).checkContinuation(continuation, agentId);
  }

  /**
   * A session that is ready to `run()`.
   * @throws ParleyError ARGUMENT_INVALID for a transport that is missing or in use, CONFIG_INVALID, AGENT_DISABLED,
   * PROVIDER_UNKNOWN, PROVIDER_REMOTE_IN_VIRTUAL_TIME, AUDIO_RATE_UNSUPPORTED, SESSION_CLOSED; MEDIA_THREAD_LOST and MEDIA_THREAD_SILENT
   * where the line lies in a media thread
   */
  async createSession(request: SessionRequest<SessionLine>): Promise<SessionHandle> {
    const { transport } = request;
    take(transport);
    const session = await this.#makeSession(request).catch((error: unknown) => {
      inUse.delete(transport); // nothing has used it yet
      throw error;
    });
    // The engine may have closed meanwhile, when this session was not in its list yet.
    if (this.#closing !== null) {
      await session.close();
      throw new ParleyError('SESSION_CLOSED');
    }
    this.#sessions.add(session);
    void session.finished.then(() => this.#sessions.delete(session));
    return session;
  }

  /**
   * An agent's answer to a conversation in writing, piece by piece as it comes, its tools included. It has no line, so
   * hanging up, transferring, pressing keys and changing the language are not offered to its model. It ends when all
   * that follows an `endOfSession` is done; a reader who leaves breaks it off.
   * @throws ParleyError CONFIG_INVALID, NOT_FOUND, AGENT_DISABLED, PROVIDER_UNKNOWN, PROVIDER_FAILED, PROVIDER_REFUSED,
   * PROVIDER_TIMEOUT, PROVIDER_REMOTE_IN_VIRTUAL_TIME, SESSION_CLOSED; the signal's reason when it is aborted
   */
  async *chat(request: ChatRequest): AsyncGenerator<ChatPiece, void, undefined> {
    yield* (await this.#load()).chats.answer(request);
  }

  /**
   * One reply of a language model outside any session, piece by piece as it comes. It takes real time, also where the
   * engine's clock is virtual. A reader who leaves breaks it off.
   * @throws ParleyError PROVIDER_UNKNOWN, PROVIDER_FAILED, PROVIDER_REFUSED, PROVIDER_TIMEOUT, ARGUMENT_INVALID,
   * SESSION_CLOSED; the signal's reason when it is aborted
   */
  async *complete(request: CompletionRequest): AsyncGenerator<LlmPiece, void, undefined> {
    yield* (await this.#load()).completions.answer(request);
  }

  /**
   * Does what comes after a session whose process died before it was done, from what that left behind.
   * @returns the session's report; to keep it and to send it is the caller's part
   */
  async finishSession(session: UnfinishedSession, left: LeftSession): Promise<SessionReport> {
    return (await this.#load()).finishSession(session, left);
  }

  /**
   * A text, spoken by one of the engine's voices.
   * @throws ParleyError PROVIDER_UNKNOWN, or what the voice cannot do it for
   */
  async speech(request: SpeechRequest): Promise<Speech> {
    return (await this.#load()).speech(request);
  }

  /** All voices of the providers that can be used here. */
  async voices(): Promise<EngineVoice[]> {
    return (await this.#load()).voices();
  }

  async #makeSession({ transport, ...request }: SessionRequest<SessionLine>): Promise<SessionHandle> {
    const { sessions } = await this.#load();
    return isRemote(transport) ? sessions.openRemote(transport, request) : sessions.create({ ...request, transport });
  }

  /** Ends every session and frees what they share. May be called twice. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.all([...this.#sessions].map((session) => session.close()));
    // A runtime that failed to load has rejected the calls that needed it.
    await (await this.#runtime?.catch(() => null))?.close();
  }

  /** Loaded late: importing the library should not take the time that only sessions need. */
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

/** @throws ParleyError ARGUMENT_INVALID */
function take(transport: SessionLine | undefined): void {
  const has = (name: string): boolean =>
    typeof (transport as unknown as Record<string, unknown> | null | undefined)?.[name] === 'function';
  const missing = has('openSession') ? [] : ['start', 'play', 'send', 'close'].filter((name) => !has(name));
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
