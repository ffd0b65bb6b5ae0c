import { FRAME_MS, samplesToMs } from '../../../audio/frame.js';
import type { AgentConfig } from '../../../agent/agent.js';
import type { Cancel, Clock } from '../../../base/clock.js';
import { errorOf, ParleyError, reasonOf } from '../../../base/errors.js';
import type { SessionHandle } from '../../../engine/remote-line.js';
import { InvalidConfigError } from '../../../schema/issues.js';
import type { LogEntry } from '../../../session/record/event-log.js';
import type { AgentChanges, SessionEvent } from '../../../session/session-options.js';
import type { DefinedTool } from '../../../tools/define-tool.js';
import { LineInput } from '../../../transports/line-input.js';
import type { TransportMessage } from '../../../transports/transport.js';
import { openAiError } from '../../http/openai-error.js';
import { AudioReader, audioBytes, rateOf } from './audio-format.js';
import {
  type ClientEvent,
  type ClientItem,
  EventRefusal,
  eventIdOf,
  parseClientEvent,
  readJson,
  refusalOf,
} from './client-events.js';
import { ClientTools } from './client-tools.js';
import { type ConversationItem, ConversationItems, type ItemPart } from './items.js';
import { RealtimeResponse, type ResponseEnd, type TokenCounts } from './response.js';
import { newId, ServerEvents } from './server-events.js';
import type { SessionConfig } from './session-config.js';
import { UserSpeech } from './user-speech.js';

/** What the engine's session gets from its client. */
export interface SessionParts {
  tools: readonly DefinedTool[];
  log: (entry: LogEntry) => void;
  observe: (event: SessionEvent) => void;
}

export interface RealtimeConversationOptions {
  clock: Clock;
  /** Of the engine's session. */
  sessionId: string;
  config: SessionConfig;
  /** The agent as it is stored. */
  agent: AgentConfig;
  /** Instructions take the place of the agent's prompt. */
  replacesPrompt: boolean;
  /** Why the client may give no instructions; null = it may. */
  whyNoInstructions: string | null;
  isBeta: boolean;
  /** Whether audio comes and goes in events. Otherwise a track carries it. */
  carriesAudio: boolean;
  send: (text: string) => void;
  /** Creates and runs the engine's session. */
  begin: (parts: SessionParts) => Promise<SessionHandle>;
  /** How many requests of the client are left. */
  requestsLeft: () => { limit: number; remaining: number; seconds: number };
  /** The session is over, or could not begin. */
  close: () => void;
  onError: (error: Error) => void;
}

/** Clients that only listen send nothing: their session begins after this long. */
const BEGIN_MS = 1_000;
/** Burst of events, and sustained events per second, that a client may send. */
const BURST = 1_000;
const PER_SECOND = 250;
/** How far a client's audio may be ahead of time. */
const MAX_AHEAD_MS = 10_000;
/** The interface refuses to commit less. */
const MIN_COMMIT_MS = 100;
/** Silence behind a turn that the client has ended, so that it counts as over at once. */
const SILENCE_MS = 2_000;
const MAX_WAITING = 1_000;
/** Members of a session that change nothing. */
const WITHOUT_EFFECT: ReadonlySet<string> = new Set(['type', 'model', 'tracing', 'include', 'truncation']);
const ANSWER_NOW = 'Go on with the conversation now: answer what was said last.';

/** One session of OpenAI's Realtime API, on a session of the engine. docs/openai-api.md says what differs. */
export class RealtimeConversation {
  /** The user's audio, where events carry it. */
  readonly input = new LineInput();
  readonly #options: RealtimeConversationOptions;
  readonly #events: ServerEvents;
  readonly #items: ConversationItems;
  readonly #user: UserSpeech;
  readonly #tools: ClientTools;
  /** Of the engine's session. */
  readonly sessionId: string;
  readonly #conversationId = newId('conv');
  #reader: AudioReader | null = null;
  #session: SessionHandle | null = null;
  #isStarting = false;
  #isReady = false;
  #isOver = false;
  #waiting: (() => void)[] = [];
  #cancelBegin: Cancel = () => undefined;
  #allowed = BURST;
  #allowedAtMs: number;
  #startMs = 0;
  #heardMs = 0;
  #audioMs = 0;
  /** Audio since the last commit of a client that ends turns itself. */
  #uncommittedMs = 0;
  #response: RealtimeResponse | null = null;
  /** The text of the engine's answer that earlier responses have had, and all of it so far. */
  #answer = { number: -1, taken: 0, text: '' };
  #queued = new Set<number>();
  #agentSpeaks = false;
  #isCancelling = false;
  /** Who has cut the agent off last. */
  #cutBy: 'turn_detected' | 'client_cancelled' = 'turn_detected';
  #unheardMs = 0;
  #tokens: TokenCounts = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };

  constructor(options: RealtimeConversationOptions) {
    const { clock, config, send, isBeta } = options;
    this.#options = options;
    this.sessionId = options.sessionId;
    this.#allowedAtMs = clock.nowMs();
    this.#events = new ServerEvents(send, isBeta);
    this.#items = new ConversationItems(this.#events);
    this.#user = new UserSpeech({
      config,
      events: this.#events,
      items: this.#items,
      audioMs: () => this.#audioMs,
    });
    this.#tools = new ClientTools(clock, (call) => this.#onCall(call));
  }

  /** The connection stands. */
  open(): void {
    const { clock, config, isBeta } = this.#options;
    this.#events.send('session.created', { session: config.wire(isBeta) });
    if (isBeta) {
      this.#events.send('conversation.created', {
        conversation: { id: this.#conversationId, object: 'realtime.conversation' },
      });
    }
    this.#cancelBegin = clock.schedule(clock.nowMs() + BEGIN_MS, () => this.#begin());
  }

  /** The client has gone. May be called twice. */
  close(error?: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelBegin();
    this.#tools.close();
    this.#waiting = [];
    this.input.end(error);
  }

  /** How much of the agent's audio the user has not heard, as the client has told. */
  unheardMs(): number {
    return this.#unheardMs;
  }

  /** An event of the client. */
  receive(text: string): void {
    if (this.#isOver) return;
    let eventId: string | null = null;
    try {
      if (!this.#mayAsk()) throw new EventRefusal('rate_limit_exceeded', 'There are too many events');
      const value = readJson(text);
      eventId = eventIdOf(value);
      this.#take(parseClientEvent(value));
    } catch (error) {
      this.#refuse(error, eventId);
    }
  }

  /** A frame of the agent's audio. */
  played(frame: Int16Array): void {
    const { config, carriesAudio } = this.#options;
    if (this.#response === null && !this.#agentSpeaks) return; // a background belongs to no response
    this.#unheardMs = 0;
    this.#responding().audio(carriesAudio ? audioBytes(config.output, frame) : null, FRAME_MS);
  }

  /** A message of the engine to the client of its line. */
  told(message: TransportMessage): void {
    if (message.type === 'ready') this.#onReady();
    else if (message.type === 'response') this.#onWords(message);
    else if (message.type === 'clear') this.#onClear();
    else if (message.type === 'ended') this.#onEnded(message.status);
  }

  #refuse(error: unknown, eventId: string | null): void {
    if (error instanceof EventRefusal) this.#events.refuse(error, eventId);
    else if (error instanceof InvalidConfigError) this.#events.refuse(refusalOf(error), eventId);
    else if (error instanceof ParleyError) {
      const { code, message, param } = openAiError(error).error;
      this.#events.refuse(new EventRefusal(code, message, param), eventId);
    } else {
      this.#options.onError(errorOf(error));
      this.#events.fail('internal_error', 'An internal error occurred; the log of parley has details');
    }
  }

  #take(event: ClientEvent): void {
    const { event_id: eventId } = event;
    switch (event.type) {
      case 'session.update':
        this.#update(event.body.session, eventId);
        break;
      case 'input_audio_buffer.append':
        this.#append(event.body.audio);
        break;
      case 'input_audio_buffer.commit':
        this.#commit();
        break;
      case 'input_audio_buffer.clear':
        this.#uncommittedMs = 0;
        this.#user.clear();
        this.#events.send('input_audio_buffer.cleared', {});
        break;
      case 'output_audio_buffer.clear':
        this.#interrupt(eventId);
        break;
      case 'conversation.item.create':
        this.#create(event.body.item, event.body.previous_item_id ?? null, eventId);
        break;
      case 'conversation.item.retrieve':
        this.#events.send('conversation.item.retrieved', { item: this.#items.get(event.body.item_id) });
        break;
      case 'conversation.item.delete':
        this.#items.get(event.body.item_id);
        throw new EventRefusal('unsupported', 'What was said stays in the conversation', 'item_id');
      case 'conversation.item.truncate':
        this.#truncate(event.body.item_id, event.body.audio_end_ms, eventId);
        break;
      case 'response.create':
        this.#respond(event.body.response ?? {}, eventId);
        break;
      case 'response.cancel':
        if (this.#response === null) {
          throw new EventRefusal('response_cancel_not_active', 'There is no response to cancel');
        }
        this.#interrupt(eventId);
    }
  }

  #update(given: unknown, eventId: string | null): void {
    const { config, agent, replacesPrompt, whyNoInstructions, isBeta } = this.#options;
    const before = { instructions: config.instructions, tools: config.offered, isManual: config.isManual };
    const tools = JSON.stringify(before.tools);
    config.update(given, { hasAudio: this.#isStarting, place: 'session' });
    if (config.instructions !== before.instructions && whyNoInstructions !== null) {
      config.instructions = before.instructions;
      this.#events.refuse(new EventRefusal('not_allowed', whyNoInstructions, 'session.instructions'), eventId);
    }
    this.#events.send('session.updated', { session: config.wire(isBeta) });
    if (!this.#isStarting) {
      // An SDK sends its settings for tracing first.
      if (Object.keys(given as object).some((name) => !WITHOUT_EFFECT.has(name))) this.#begin();
      return;
    }
    const hasOtherTools = tools !== JSON.stringify(config.offered);
    const changes: AgentChanges = {
      prompt: config.instructions === before.instructions ? undefined : config.prompt(agent, replacesPrompt),
      tools: hasOtherTools ? [...(agent.tools ?? []), ...this.#tools.of(config.offered)] : undefined,
    };
    const isChanged = changes.prompt !== undefined || hasOtherTools;
    this.#whenReady((session) => {
      if (isChanged) this.#watch(session.updateAgent(changes), eventId);
      if (config.isManual !== before.isManual) this.#watch(session.mute('agent', config.isManual), eventId);
    });
  }

  #append(audio: string): void {
    if (!this.#options.carriesAudio) throw new EventRefusal('unsupported', 'A track carries the audio', 'type');
    this.#begin();
    const { config, clock } = this.#options;
    this.#reader ??= new AudioReader(config.input);
    const samples = this.#reader.read(Buffer.from(audio, 'base64'));
    const ms = samplesToMs(samples.length, rateOf(config.input));
    const elapsedMs = clock.nowMs() - this.#startMs;
    // Time also passes for a client that pauses: it cannot send the missing audio later.
    this.#heardMs = Math.max(this.#heardMs, elapsedMs - MAX_AHEAD_MS);
    if (this.#heardMs + ms > elapsedMs + MAX_AHEAD_MS) {
      throw new EventRefusal(
        'input_audio_too_fast',
        'Audio may be ten seconds ahead of time; this was dropped',
        'audio',
      );
    }
    this.#heardMs += ms;
    this.#audioMs += ms;
    this.#uncommittedMs += ms;
    this.input.audio(samples);
  }

  #commit(): void {
    const { config, carriesAudio } = this.#options;
    if (!carriesAudio) throw new EventRefusal('unsupported', 'A track carries the audio, and turns end by themselves');
    this.#begin();
    if (config.turnDetection === null) {
      if (this.#uncommittedMs < MIN_COMMIT_MS) {
        const message = `It has less than ${String(MIN_COMMIT_MS)} ms of audio`;
        throw new EventRefusal('input_audio_buffer_commit_empty', message);
      }
      this.#user.commit();
    }
    this.#uncommittedMs = 0;
    this.input.audio(new Int16Array((rateOf(config.input) * SILENCE_MS) / 1000));
  }

  #create(given: ClientItem, previous: string | null, eventId: string | null): void {
    if (previous !== null && previous !== this.#items.last) {
      throw new EventRefusal('unsupported', 'Items are added behind all others', 'previous_item_id');
    }
    if (given.id != null && this.#items.has(given.id)) {
      throw new EventRefusal('item_exists', `There is an item "${given.id.slice(0, 100)}"`, 'item.id');
    }
    const base = { id: given.id ?? newId('item'), object: 'realtime.item', status: 'completed' } as const;
    if (given.type === 'function_call_output') {
      const { call_id: callId, output } = given;
      if (!this.#tools.answer(callId, output)) {
        throw new EventRefusal(
          'call_not_found',
          `No call "${callId.slice(0, 100)}" waits for an output`,
          'item.call_id',
        );
      }
      this.#added(Object.assign({}, base, { type: given.type, call_id: callId, output }));
      return;
    }
    const { role } = given;
    const content = given.content.map(({ type, text }, at): ItemPart & { text: string } => {
      const wanted = role === 'assistant' ? 'output_text' : 'input_text';
      if ((type !== wanted && type !== 'text') || text == null) {
        throw new EventRefusal(
          'unsupported',
          `${role} items have parts of the type ${wanted}`,
          `item.content.${String(at)}`,
        );
      }
      return { type: wanted, text };
    });
    this.#added(Object.assign({}, base, { type: given.type, role, content }));
    const text = content.map((part) => part.text).join('\n');
    this.#whenReady((session) => this.#watch(session.addMessage({ role, content: text }), eventId));
  }

  #added(item: ConversationItem): void {
    this.#items.done(item, this.#items.add(item));
  }

  #truncate(itemId: string, endMs: number, eventId: string | null): void {
    const item = this.#items.get(itemId);
    if (item.role !== 'assistant') throw new EventRefusal('invalid_value', 'It is not an item of the agent', 'item_id');
    const spoken = this.#response?.spoken ?? null;
    if (spoken?.id === itemId) {
      this.#unheardMs = Math.max(0, spoken.audioMs - endMs);
      this.#interrupt(eventId);
    }
    const place = { item_id: itemId, content_index: 0, audio_end_ms: Math.round(endMs) };
    this.#events.send('conversation.item.truncated', place);
  }

  #respond(
    given: {
      instructions?: string | null | undefined;
      metadata?: Record<string, string> | null | undefined;
      tool_choice?: string | null | undefined;
    },
    eventId: string | null,
  ): void {
    const { config, whyNoInstructions } = this.#options;
    if (this.#tools.release()) return; // the engine goes on with the results
    if (this.#response !== null) {
      const message = `The response ${this.#response.id} goes on; wait for response.done`;
      throw new EventRefusal('conversation_already_has_active_response', message);
    }
    if (given.instructions != null && whyNoInstructions !== null) {
      throw new EventRefusal('not_allowed', whyNoInstructions, 'response.instructions');
    }
    const response = this.#opened(given.metadata ?? null);
    const instructions = given.instructions ?? ANSWER_NOW;
    const tools = given.tool_choice === 'none' ? [] : undefined;
    this.#whenReady((session) => {
      if (config.isManual) this.#watch(session.mute('agent', false), eventId);
      const reply = session.generate({ instructions, tools }).then(
        ({ complete, heard }) => {
          const end: ResponseEnd = complete ? { status: 'completed' } : { status: 'cancelled', reason: this.#cutBy };
          this.#finish(end, response, complete ? undefined : heard);
        },
        (error: unknown) => this.#finish({ status: 'failed', code: codeOf(error), message: reasonOf(error) }, response),
      );
      void reply.then(() => {
        if (config.isManual) this.#watch(session.mute('agent', true), null);
      });
    });
  }

  #interrupt(eventId: string | null): void {
    this.#isCancelling = true;
    this.#cutBy = 'client_cancelled';
    this.#whenReady((session) => {
      const stopped = session.interrupt().then((wasSpeaking) => {
        this.#isCancelling = false;
        if (!wasSpeaking) this.#finish({ status: 'cancelled', reason: 'client_cancelled' });
      });
      this.#watch(stopped, eventId);
    });
  }

  /** A failure of a command is told to the client. */
  #watch(command: Promise<unknown>, eventId: string | null): void {
    void command.catch((error: unknown) => {
      if (!this.#isOver) this.#refuse(error, eventId);
    });
  }

  #mayAsk(): boolean {
    const nowMs = this.#options.clock.nowMs();
    this.#allowed = Math.min(BURST, this.#allowed + ((nowMs - this.#allowedAtMs) / 1000) * PER_SECOND);
    this.#allowedAtMs = nowMs;
    if (this.#allowed < 1) return false;
    this.#allowed--;
    return true;
  }

  #begin(): void {
    if (this.#isStarting || this.#isOver) return;
    this.#isStarting = true;
    this.#cancelBegin();
    const { config, begin, clock, close } = this.#options;
    this.#startMs = clock.nowMs();
    const tools = this.#tools.of(config.offered);
    void begin({ tools, log: (entry) => this.#onLog(entry), observe: (event) => this.#onEvent(event) }).then(
      (session) => {
        this.#session = session;
        if (this.#isReady) this.#onReady();
      },
      (error: unknown) => {
        this.#refuse(error, null);
        close();
      },
    );
  }

  #whenReady(work: (session: SessionHandle) => void): void {
    this.#begin();
    const run = (): void => {
      if (this.#session !== null && !this.#isOver) work(this.#session);
    };
    if (this.#session !== null && this.#isReady) run();
    else if (this.#waiting.length < MAX_WAITING) this.#waiting.push(run);
    else throw new EventRefusal('rate_limit_exceeded', 'The session has not begun yet');
  }

  #onReady(): void {
    this.#isReady = true;
    const session = this.#session;
    if (session === null) return;
    if (this.#options.config.isManual) this.#watch(session.mute('agent', true), null);
    for (const work of this.#waiting.splice(0)) work();
  }

  #onLog(entry: LogEntry): void {
    if (entry.kind === 'note' && entry.name === 'usage') this.#count(entry.data);
    const happened = entry.kind === 'effect' ? entry.effect : entry.kind === 'event' ? entry.event : null;
    if (happened === null) return;
    if (happened.type === 'speak') this.#queued.add(happened.utteranceId);
    else if (happened.type === 'playout.drop') this.#queued.clear();
    else if (
      happened.type === 'speak.cancel' ||
      happened.type === 'utterance.finished' ||
      happened.type === 'utterance.failed'
    ) {
      this.#queued.delete(happened.utteranceId);
      this.#finishCalls();
    }
  }

  #count(data: Readonly<Record<string, unknown>>): void {
    const number = (name: string): number => (typeof data[name] === 'number' ? data[name] : 0);
    this.#tokens.promptTokens += number('promptTokens');
    this.#tokens.cachedTokens += number('cachedTokens');
    this.#tokens.completionTokens += number('completionTokens');
  }

  #onEvent(event: SessionEvent): void {
    if (event.type === 'speaking' && event.who === 'agent') {
      this.#agentSpeaks = event.isSpeaking;
      if (this.#options.carriesAudio) return;
      const name = event.isSpeaking ? 'output_audio_buffer.started' : 'output_audio_buffer.stopped';
      this.#events.send(name, { response_id: this.#responding().id });
    } else if (event.type === 'speaking') {
      // While it is unclear whether the user interrupts, the agent is silent, but not over.
      const isResponding = (this.#response?.spoken ?? null) !== null;
      this.#user.speaks(event.isSpeaking, this.#agentSpeaks || isResponding);
    } else if (event.type === 'user') this.#user.said(event.text, event.turn);
  }

  #onWords({ text, isFinal, answer }: Extract<TransportMessage, { type: 'response' }>): void {
    if (this.#answer.number !== answer) this.#answer = { number: answer, taken: 0, text: '' };
    const state = this.#answer;
    const isCut = isFinal && text.length < state.text.length;
    if (!isFinal || text.length > state.text.length) {
      this.#responding().words(text.slice(state.text.length));
      state.text = text;
    }
    if (!isFinal) return;
    const heard = text.slice(state.taken).trim();
    const end: ResponseEnd = isCut ? { status: 'cancelled', reason: this.#cutBy } : { status: 'completed' };
    this.#finish(end, this.#response, heard);
  }

  /** The rest of the agent's speech was dropped. What was heard of it follows at once, if anything was. */
  #onClear(): void {
    const { clock, carriesAudio } = this.#options;
    const response = this.#response;
    if (!this.#isCancelling) {
      this.#cutBy = 'turn_detected';
      this.#user.interrupts();
    }
    if (!carriesAudio) this.#events.send('output_audio_buffer.cleared', { response_id: response?.id ?? null });
    const reason = this.#cutBy;
    clock.schedule(clock.nowMs(), () => {
      if (response !== null) this.#finish({ status: 'cancelled', reason }, response, '');
    });
  }

  #onEnded(status: string): void {
    const hasFailed = status === 'error';
    if (hasFailed) this.#events.fail('session_failed', 'The session has failed; the call log has the reason');
    this.#finish({ status: 'completed' });
    this.#options.close();
  }

  /** The model calls a function of the client. */
  #onCall(call: { callId: string; name: string; args: string }): void {
    const response = this.#responding();
    response.call(call);
    const { clock } = this.#options;
    // The other calls of the same round follow at once.
    clock.schedule(clock.nowMs(), () => this.#finishCalls());
  }

  /** A response with calls is over when its words have been heard: the client may wait for its end before it answers. */
  #finishCalls(): void {
    const response = this.#response;
    if (response?.hasCalls !== true || this.#queued.size > 0) return;
    this.#answer.taken = this.#answer.text.length;
    this.#finish({ status: 'completed' }, response);
  }

  #responding(): RealtimeResponse {
    return this.#response ?? this.#opened(null);
  }

  #opened(metadata: Readonly<Record<string, string>> | null): RealtimeResponse {
    const { config, carriesAudio, requestsLeft } = this.#options;
    const response = new RealtimeResponse({
      config,
      metadata,
      carriesAudio,
      events: this.#events,
      items: this.#items,
      conversationId: this.#conversationId,
    });
    this.#response = response;
    const { limit, remaining, seconds } = requestsLeft();
    const limits = [{ name: 'requests', limit, remaining, reset_seconds: seconds }];
    this.#events.send('rate_limits.updated', { rate_limits: limits });
    return response;
  }

  #finish(end: ResponseEnd, response: RealtimeResponse | null = this.#response, heard?: string): void {
    if (response === null || response.isOver) return;
    if (this.#response === response) this.#response = null;
    response.end(end, this.#tokens, heard);
    this.#tokens = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
  }
}

function codeOf(error: unknown): string {
  return error instanceof ParleyError ? error.code.toLowerCase() : 'internal_error';
}
