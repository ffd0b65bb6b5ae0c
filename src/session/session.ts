import type { ChatMessage, ToolCall } from '../agent/chat.js';
import { UNNAMED_AGENT } from '../agent/flow/handover.js';
import { Conversation } from '../conversation/conversation.js';
import type { ConversationEffect, ConversationEvent } from '../conversation/events.js';
import { firstPassed } from '../conversation/steps/steps.js';
import { forModel, historyMessages } from '../conversation/speech/history.js';
import { failureOf, ParleyError, reasonOf } from '../base/errors.js';
import type { ProviderOutcome } from '../providers/outcome.js';
import { ToolRunner } from './tool-runner.js';
import type { ToolResult } from '../tools/tool.js';
import { afterCall, ownMarks } from './after-call/after-call.js';
import { Alarm, momentAfter } from './alarm.js';
import { Notifier } from './line/notifier.js';
import { closeInTime } from '../base/deadlines.js';
import { LOG_VERSION } from './record/event-log.js';
import { Hearing } from './hearing/hearing.js';
import { EventLogWriter } from './record/event-log-writer.js';
import { CardListener } from './record/cards.js';
import { SessionMetrics } from './record/session-metrics.js';
import { LanguageSwitch } from './hearing/language-providers.js';
import { LineActions } from './line/line-actions.js';
import { LineSink, ClientForms } from './line/line-sink.js';
import { Pacer } from './speech/pacer.js';
import { joinBy, type JoinedParticipant, type JoinOptions } from './participants/joined.js';
import { Participants } from './participants/participants.js';
import { Recogniser } from './hearing/recogniser.js';
import { type FunctionCall, reportOf, type SessionReport } from './record/session-report.js';
import type { SessionContext } from './session-context.js';
import { PreparedChanges } from './agent-changes.js';
import { SessionAgents } from './session-agents.js';
import type { SessionAgent, SessionOptions } from './session-options.js';
import { nameOf, OpenCommands, refusal } from './open-commands.js';
import { type EndOptions, type SessionCommand, SteeredSession } from './steered-session.js';
import type { CommandResult, Side } from '../conversation/control/command.js';
import { bothTaps, type LineTaps, type TapFrame, type TapOptions } from './tap.js';
import type { Transport } from '../transports/transport.js';
import { noHints, type SttTranscript } from '../providers/stt/stt.js';
import { LlmRequests } from './llm-requests.js';
import { PauseNotes } from './hearing/pause-notes.js';
import { together, TurnJudge } from './hearing/turn-judge.js';
import { tokensNote } from './record/usage.js';
import { type SpeechHandlers, SpeechOutput } from './speech-output.js';

/** Executes each effect of the conversation. An effect without a handler does not compile. */
type EffectHandlers = {
  readonly [Type in ConversationEffect['type']]: (effect: Extract<ConversationEffect, { type: Type }>) => void;
};

/**
 * One conversation on one line: the shell around the pure core. It owns the transport, the providers' streams and the
 * timers, turns their results into events, and executes the resulting effects.
 */
export class Session extends SteeredSession {
  readonly id: string;
  /** Resolves when the session is over and all of its work is done. Never rejects. */
  readonly finished: Promise<SessionReport>;
  #options: SessionOptions;
  readonly #context: SessionContext;
  readonly #conversation: Conversation;
  readonly #log: EventLogWriter;
  readonly #notifier: Notifier;
  readonly #hearing: Hearing;
  readonly #sink: LineSink;
  readonly #recogniser: Recogniser;
  readonly #turnJudge: TurnJudge | null;
  readonly #pauseNotes: PauseNotes | null;
  readonly #llmRequests: LlmRequests;
  readonly #forms = new ClientForms((message) => this.#notifier.tell(message));
  readonly #toolRunner: ToolRunner;
  readonly #lineActions: LineActions;
  readonly #speech: SpeechOutput;
  readonly #pacer: Pacer;
  readonly #languageSwitch: LanguageSwitch;
  readonly #metrics: SessionMetrics;
  readonly #alarm: Alarm;
  readonly #taps: Readonly<Record<Side, LineTaps>>;
  readonly #participants: Participants;
  readonly #cards: CardListener;
  readonly #commands = new OpenCommands((event) => this.#dispatch(event));
  readonly #abort = new AbortController();
  readonly #agents: SessionAgents;
  #changes: PreparedChanges;
  readonly #events: ConversationEvent[] = [];
  readonly #handlers: EffectHandlers;
  #resolveFinished!: (report: SessionReport) => void;
  #startMs = 0;
  #state: 'new' | 'running' | 'ending' | 'over' = 'new';
  #stepping = false;
  /** The limit that has ended the conversation. */
  #limit: 'idle' | 'duration' | null = null;

  /**
   * Prepares a session; providers should be warm.
   * @throws ParleyError AUDIO_RATE_UNSUPPORTED for a transport with unsupported rates
   */
  constructor(options: SessionOptions) {
    super();
    const { id, transport, conversation, llm, model, toolbox, clock, languages = null } = options;
    this.id = id;
    this.#options = options;
    this.finished = new Promise((resolve) => (this.#resolveFinished = resolve));
    const context = this.#newContext();
    this.#context = context;
    const language = (): string => this.#conversation.state.language ?? this.#agents.current.conversation.language;
    this.#alarm = new Alarm(clock, () => context.emit({ type: 'time' }));
    this.#conversation = new Conversation(conversation);
    this.#cards = this.#newCards(conversation);
    this.#log = new EventLogWriter(context, options, (event) => this.#notifier.observe(event));
    this.#notifier = this.#newNotifier();
    this.#taps = bothTaps(transport);
    this.#agents = this.#newAgents(context);
    this.#changes = new PreparedChanges(options.change ?? null, clock, this.#abort.signal);
    this.#metrics = new SessionMetrics((metrics) => this.#notifier.answered(metrics));
    this.#recogniser = new Recogniser(context, {
      stt: options.stt,
      language: options.startLanguage ?? conversation.language,
      ...options.sttOptions,
      hints: options.hints ?? noHints(),
      signal: this.#abort.signal,
      onTranscript: (transcript) => this.#onTranscript(transcript),
      onListener: (who) => context.usage({ stage: 'stt', ...who }),
      onOutcome: this.#outcomesOf('stt'),
    });
    this.#turnJudge = options.turnModel ? new TurnJudge(context, { model: options.turnModel, language }) : null;
    this.#pauseNotes = options.notePauses === true && options.optOut !== true ? new PauseNotes(context) : null;
    const listeners = [this.#recogniser, this.#turnJudge, this.#pauseNotes].filter((listener) => listener !== null);
    this.#hearing = new Hearing(context, {
      inputRateHz: transport.inputRateHz,
      hearsFax: transport.showsForms !== true,
      hearsAnnouncements: conversation.direction === 'outbound',
      vad: options.vad.createDetector({ mayWait: true }),
      vadThreshold: options.vadThreshold ?? 0.5,
      denoising: options.denoising,
      ownTones: () => this.#lineActions.ownTones,
      hearsBeeps: () => conversation.voicemail !== null && this.#conversation.state.voicemail !== null,
      stt: listeners.length === 1 ? this.#recogniser : together(...listeners),
    });
    this.#participants = new Participants(context, options, this.#conversation, () => this.#pacer.wake());
    this.#sink = this.#newSink();
    this.#speech = new SpeechOutput(context, options, {
      conversation: this.#conversation,
      notifier: this.#notifier,
      metrics: this.#metrics,
      onSpoke: (who, chars) => context.usage({ stage: 'tts', ...who, chars }),
      onOutcome: this.#outcomesOf('tts'),
      onPlayable: () => this.#pacer.hurry(),
      isLive: () => this.#participants.isHeard,
    });
    const { voice } = this.#speech;
    const hearsAndSpeaks = { recogniser: this.#recogniser, voice };
    this.#languageSwitch = new LanguageSwitch(context, { languages, current: language, ...hearsAndSpeaks });
    this.#llmRequests = new LlmRequests(context, {
      llm,
      model,
      temperature: options.temperature ?? 0,
      toolbox,
      voice,
      onOutcome: this.#outcomesOf('llm'),
      onUsage: (tokens) => context.usage(tokensNote(this.#agents.asked, tokens)),
    });
    this.#lineActions = new LineActions(context, {
      transport,
      messages: () => this.#messages(),
      mayTransfer: options.mayTransfer,
      consult: options.consult,
      tell: (message) => this.#notifier.tell(message),
      onSound: () => this.#pacer.wake(),
    });
    this.#pacer = this.#newPacer();
    this.#toolRunner = this.#newToolRunner(context);
    this.#handlers = { ...this.#otherHandlers, ...this.#speech.handlers };
  }

  #newAgents(context: SessionContext): SessionAgents {
    const { agent, conversation, others = null } = this.#options;
    return new SessionAgents(context, {
      first: { ...this.#options, agent: agent ?? conversation.agent ?? UNNAMED_AGENT },
      others,
      messages: () => forModel(this.#messages()),
      signal: this.#abort.signal,
    });
  }

  #newCards(conversation: SessionOptions['conversation']): CardListener {
    const isAsked = (): boolean => this.#conversation.asksForCard;
    return new CardListener(conversation, this.#options.clock, isAsked, (event) => this.#dispatch(event));
  }

  #newSink(): LineSink {
    const onClosed = (error: unknown): void => this.#onLineClosed(error);
    const ear = this.#participants.ear('user', this.#taps.user);
    return new LineSink(this.#context, { hearing: this.#hearing, forms: this.#forms, onClosed, ear });
  }

  #newPacer(): Pacer {
    const source = this.#participants.source(this.#speech.playout, this.#lineActions);
    const ear = this.#participants.ear('agent', this.#taps.agent);
    return new Pacer(this.#options.transport, source, (error) => this.#onLineClosed(error), ear);
  }

  #newToolRunner(context: SessionContext): ToolRunner {
    const { id, toolbox, metadata } = this.#options;
    return new ToolRunner(context, {
      toolbox: toolbox === undefined ? null : this.#cards.toolbox(toolbox),
      sessionId: id,
      metadata: metadata ?? {},
      screen: this.#forms,
      history: () => this.#messages(),
      session: this,
      onResult: (call, record, result) => this.#onToolResult(call, record, result),
      onProgress: (call, text, isSaid) => this.#onToolProgress(call, text, isSaid),
    });
  }

  #newNotifier(): Notifier {
    return new Notifier(this.#context, this.#options, (event) => {
      this.heed(event, (error) => {
        const { reason, cause } = failureOf(error);
        this.#log.fault('observer.failed', reason, cause);
      });
    });
  }

  #newContext(): SessionContext {
    return {
      clock: this.#options.clock,
      nowMs: () => this.#nowMs(),
      emit: (event) => this.#dispatch(event),
      fault: (name, reason, cause) => this.#log.fault(name, reason, cause),
      log: (name, data) => this.#log.note(name, data),
      usage: (note) => {
        if (this.#metrics.used(note, this.#nowMs())) this.#log.note('usage', note);
      },
    };
  }

  /** Opens the line. Returns `finished`. */
  run(): Promise<SessionReport> {
    if (this.#state !== 'new') return this.finished;
    this.#state = 'running';
    this.#startMs = this.#options.clock.nowMs();
    const { ticker, conversation, transport } = this.#options;
    this.#log.write({ v: LOG_VERSION, t: 0, kind: 'start', sessionId: this.id, config: conversation });
    this.#notifier.started();
    this.#recogniser.open();
    try {
      transport.start(this.#sink);
    } catch (error) {
      this.#onLineClosed(error);
    }
    if (!this.#isRunning) return this.finished; // the user has hung up already
    this.#pacer.start(ticker);
    this.#notifier.tell({ type: 'ready', sessionId: this.id });
    this.#agents.warmUp();
    this.#dispatch({ type: 'line.opened' });
    return this.finished;
  }

  async control(command: SessionCommand, signal?: AbortSignal): Promise<CommandResult> {
    if (this.#state === 'new') throw refusal(nameOf(command), 'notStarted');
    if (!this.#isRunning) throw new ParleyError('SESSION_CLOSED');
    if (command.type === 'command.record' && this.#options.recording == null) {
      throw refusal('record', 'unsupported', 'it is not recorded');
    }
    const { type } = command;
    if (type === 'command.update') {
      const changes = this.#changes;
      const ready = await changes.prepare(command.changes, signal);
      if (changes !== this.#changes) throw refusal('update', 'handingOver'); // it was for another agent
      return this.#commands.carryOut(ready, signal);
    }
    if (type === 'command.handover') {
      return this.#commands.carryOut(await this.#agents.order(command.agent, command.order), signal);
    }
    return this.#commands.carryOut(command, signal);
  }

  tap(side: Side, options: TapOptions = {}): AsyncGenerator<TapFrame, void, undefined> {
    return this.#taps[side].open(options);
  }

  async join(line: Transport, options: JoinOptions = {}): Promise<JoinedParticipant> {
    return joinBy(this, options, ({ id }, command) => this.#participants.join(id, line, command));
  }

  /** A message that the user typed; handled like speech. */
  sendText(text: string): void {
    this.#dispatch({ type: 'text', text });
  }

  /** Counts and logs a fault outside of the session, which continues. */
  noteFault(name: string, reason: string): void {
    this.#log.fault(name, reason);
  }

  /**
   * The agent ends the call (`agent-ended`), or connects the user to `target`, when all queued speech has been heard.
   */
  finish(target: string | null = null): void {
    this.#dispatch(target === null ? { type: 'command.hangUp' } : { type: 'command.transfer', target });
  }

  async end({ message }: EndOptions = {}): Promise<SessionReport> {
    if (this.#state === 'new') void this.#finish();
    else this.#dispatch(message === undefined ? { type: 'command.end' } : { type: 'command.end', message });
    return this.finished;
  }

  /** Ends the call (`api-ended`) at once. May be called twice, and before `run`. */
  close(): Promise<SessionReport> {
    return this.end();
  }

  get #isRunning(): boolean {
    return this.#state === 'running';
  }

  #nowMs(): number {
    return this.#state === 'new' ? 0 : this.#options.clock.nowMs() - this.#startMs;
  }

  /** Steps the core with an event and executes the effects; events that this causes are queued. */
  #dispatch(given: ConversationEvent): void {
    const event = this.#cards.take(given);
    if (!this.#isRunning || event === null) return;
    this.#events.push(event);
    if (this.#stepping) return;
    this.#stepping = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) this.#step(next);
    } finally {
      this.#stepping = false;
    }
    const dueMs = this.#conversation.nextDeadlineMs;
    if (this.#isRunning) this.#alarm.set(dueMs === undefined ? undefined : momentAfter(this.#startMs, dueMs));
  }

  #step(event: ConversationEvent): void {
    const t = this.#nowMs();
    const position = this.#speech.playout.position();
    this.#notifier.happened(event, this.#hearing.speechLevelDbfs);
    this.#log.event(event, t, position);
    this.#metrics.onEvent(event, t);
    for (const effect of this.#conversation.step(event, t, position)) {
      this.#log.effect(effect, t);
      this.#metrics.onEffect(effect, t);
      (this.#handlers[effect.type] as (effect: ConversationEffect) => void)(effect);
    }
  }

  readonly #otherHandlers: Omit<EffectHandlers, keyof SpeechHandlers> = {
    'llm.start': (request) => {
      const { llm, model } = this.#agents.current;
      this.#context.usage({ stage: 'llm', provider: llm.name, model });
      this.#llmRequests.start(request);
    },
    // Nothing to do: the request is running.
    'llm.confirm': () => undefined,
    'llm.cancel': ({ requestId }) => this.#llmRequests.cancel(requestId),
    'tool.start': ({ call }) => {
      this.#notifier.observe({ type: 'toolStarted', call });
      this.#toolRunner.start(call);
    },
    'digits.send': ({ callId, digits }) => this.#lineActions.press(callId, digits),
    'language.switch': ({ callId, language }) => this.#languageSwitch.switch(callId, language),
    doNotCall: ({ by }) => {
      const note = (error: unknown): void => this.noteFault('doNotCall.failed', reasonOf(error));
      this.#options.listDoNotCall?.(by).catch(note);
    },
    'line.transfer': ({ callId, target, attended }) => {
      this.#lineActions.transfer(callId, target, attended);
      this.#notifier.observe({ type: 'transferring', on: true });
    },
    'line.transfer.cancel': () => {
      this.#lineActions.cancelTransfer();
      this.#notifier.observe({ type: 'transferring', on: false });
    },
    'line.mute': ({ side, on }) => {
      this.#listen();
      this.#notifier.observe({ type: 'muted', side, on });
    },
    'line.hold': ({ music }) => {
      this.#lineActions.hold(music);
      this.#recogniser.pause();
      this.#listen();
      this.#notifier.observe({ type: 'held', on: true });
    },
    'line.unhold': () => {
      this.#lineActions.unhold();
      this.#recogniser.resume();
      this.#listen();
      this.#notifier.observe({ type: 'held', on: false });
    },
    'line.participant': ({ participant }) => {
      this.#participants.apply(participant);
      this.#notifier.observe({ type: 'participant', participant });
    },
    'participant.words': (words) => this.#notifier.observe({ ...words, type: 'participantSaid' }),
    'agent.update': ({ update }) => this.#use(update),
    'agent.prepare': (wanted) => this.#agents.prepare(wanted),
    'agent.prepare.cancel': ({ callId }) => this.#agents.cancel(callId),
    'agent.handover': ({ from, to, back }) => {
      this.#continueWith(this.#agents.become(to));
      this.#notifier.observe({ type: 'handover', from, to, back });
    },
    'recording.pause': ({ on }) => {
      if (on) this.#options.recording?.pause();
      else this.#options.recording?.resume();
    },
    'command.done': (outcome) => this.#commands.settle(outcome),
    'command.refused': (outcome) => this.#commands.settle(outcome),
    'stt.endTurn': () => {
      this.#recogniser.endTurn();
      this.#turnJudge?.endTurn();
      this.#pauseNotes?.endTurn();
    },
    'stt.expect': ({ answer }) => this.#recogniser.expect(answer),
    'user.said': ({ text, turn }) => {
      this.#notifier.turnEnded();
      this.#languageSwitch.heard(text);
      this.#notifier.observe({ type: 'user', text, turn });
    },
    'line.close': () => void this.#finish(),
    // What the observer, and at the end the client, learn about the conversation's decisions.
    trace: ({ name, data }) => {
      if (name === 'interruption') this.#notifier.observe({ type: 'interrupted', by: 'user' });
      if (name === 'stopped') this.#notifier.observe({ type: 'interrupted', by: 'program' });
      if (name === 'step') this.#notifier.observe({ type: 'step', step: String(data['step']) });
      if (name === 'limit') this.#limit = data['limit'] === 'idle' ? 'idle' : 'duration';
    },
  };

  /** Hears the user, unless they are muted or on hold. */
  #listen(): void {
    const { muted, hold } = this.#conversation.state;
    this.#hearing.deafen(muted.user || hold !== null);
  }

  /** Another agent speaks from now on. */
  #continueWith(next: SessionAgent): void {
    const { conversation, stt, sttOptions, hints = noHints(), languages = null, startLanguage, toolbox } = next;
    const { language } = conversation;
    this.#cards.use(conversation);
    this.#toolRunner.use({
      toolbox: toolbox === undefined ? null : this.#cards.toolbox(toolbox),
      metadata: next.metadata ?? {},
    });
    this.#llmRequests.use({ llm: next.llm, model: next.model, temperature: next.temperature ?? 0, toolbox });
    const { voiceId = null, model = null, settings = {}, pronunciation = null } = next.voice ?? {};
    this.#speech.voice.use({ tts: next.tts, language, voiceId, model, settings, pronunciation });
    this.#languageSwitch.use(languages);
    const heard = { stt, hints, language: startLanguage ?? language };
    this.#recogniser.use({ ...heard, model: sttOptions?.model, multilingual: sttOptions?.multilingual });
    this.#changes = new PreparedChanges(next.change ?? null, this.#options.clock, this.#abort.signal);
    this.#agents.warmUp();
  }

  /** The agent was changed. */
  #use(update: number): void {
    const changed = this.#changes.take(update);
    if (changed === null) return;
    const { toolbox, metadata, model, voice } = changed;
    this.#toolRunner.use({ toolbox: this.#cards.toolbox(toolbox), metadata });
    this.#llmRequests.use(Object.assign({ toolbox }, model));
    if (voice !== null) {
      const language = this.#conversation.state.language ?? this.#agents.current.conversation.language;
      this.#speech.voice.use(Object.assign({ language }, voice));
    }
    const { systemPrompt } = this.#conversation;
    const conversation = Object.assign({}, this.#agents.current.conversation, { systemPrompt });
    const speaks = voice === null ? {} : { tts: voice.tts, voice };
    this.#agents.change(Object.assign({ toolbox, metadata, conversation }, model, speaks));
    this.#notifier.observe({ type: 'agentUpdated' });
  }

  #onTranscript({ segment, text: said, isFinal, understood }: SttTranscript): void {
    const text = this.#cards.heard(segment, said);
    // The client first: the answer may start as soon as the conversation knows.
    const { number: turn } = this.#conversation.state.turn;
    if (understood && this.#isRunning) this.#notifier.transcribed({ text, isFinal, turn, segment });
    this.#dispatch({ type: 'transcript', segment, text, isFinal, understood });
    if (understood && isFinal) this.#languageSwitch.heard(text);
  }

  #onToolProgress(call: ToolCall, text: string, isSaid: boolean): void {
    this.#notifier.observe({ type: 'toolProgress', call, text });
    if (isSaid) this.#dispatch({ type: 'tool.progress', callId: call.id, text });
  }

  #onToolResult(call: ToolCall, { ok, result, tookMs }: FunctionCall, { fault, cause }: ToolResult): void {
    if (!ok) this.#log.fault(fault ?? 'tool.failed', result, cause);
    this.#notifier.observe({ type: 'tool', call, ok, result, tookMs });
    this.#dispatch({ type: 'tool.result', callId: call.id, ok, content: result });
  }

  #outcomesOf(stage: 'stt' | 'llm' | 'tts'): (outcome: ProviderOutcome) => void {
    return (outcome) => {
      if (this.#isRunning) this.#notifier.observe({ type: 'provider', stage, ...outcome });
    };
  }

  #onLineClosed(error: unknown): void {
    const reason = error === undefined ? null : reasonOf(error);
    if (reason !== null) this.noteFault('transport.failed', reason);
    if (!this.#isRunning) return;
    this.#dispatch({ type: 'line.closed', error: reason });
    void this.#finish();
  }

  /** The conversation is over: releases all resources, does the after-call work, and reports. */
  async #finish(): Promise<void> {
    if (this.#state === 'ending' || this.#state === 'over') return;
    const wasOpen = this.#isRunning;
    const durationMs = this.#nowMs();
    this.#state = 'ending';
    if (this.#speech.playout.held) this.#speech.drop();
    this.#notifier.answerEnded();
    const status = this.#conversation.state.ending?.status ?? 'api-ended';
    if (wasOpen) this.#notifier.tell({ type: 'ended', status, limit: this.#limit ?? undefined });
    this.#sink.stop();
    this.#pacer.stop();
    this.#alarm.set(undefined);
    this.#cards.close();
    this.#abort.abort();
    this.#commands.close();
    for (const taps of Object.values(this.#taps)) taps.close();
    this.#llmRequests.close();
    this.#toolRunner.close();
    this.#lineActions.close();
    const participants = this.#participants.close();
    this.#languageSwitch.close();
    const { transport, clock } = this.#options;
    const closed = (name: string, close: () => Promise<void>): Promise<void> =>
      closeInTime(clock, close, (reason) => this.noteFault(name, reason));
    await closed('transport.close', () => transport.close());
    this.#speech.voice.close();
    this.#turnJudge?.close();
    this.#hearing.close(); // not before: audio that it was processing may have led here
    const hearing = closed('stt.close', () => this.#recogniser.close());
    await Promise.all([hearing, participants, this.#options.recording?.close()]);
    const calls = wasOpen ? await this.#afterCall() : [];
    this.#state = 'over';
    const report = this.#report(durationMs, calls);
    this.#notifier.observe({ type: 'ended', report });
    this.#resolveFinished(report);
  }

  /** Each agent that has spoken does its own work. */
  async #afterCall(): Promise<readonly FunctionCall[]> {
    const said = forModel(this.#messages());
    const { afterCallMarks } = this.#options;
    const work = this.#agents.all.map(({ agent, toolbox, metadata, llm, model, memory, conversation }, at) => {
      const marks = at === 0 ? afterCallMarks : ownMarks(agent, afterCallMarks);
      const own = { toolbox, metadata, llm, model, memory, afterCallMarks: marks };
      const options = { ...this.#options, ...own, usage: this.#metrics.usage };
      const messages: ChatMessage[] = [{ role: 'system', content: conversation.systemPrompt }, ...said];
      return afterCall(options, messages, this.#toolRunner.calls, this.#context.fault);
    });
    return (await Promise.all(work)).flat();
  }

  #messages(): SessionReport['messages'] {
    return historyMessages(this.#conversation.state.history, { expected: false, keepInterrupted: true });
  }

  #report(durationMs: number, later: readonly FunctionCall[]): SessionReport {
    const { optOut = false, recording } = this.#options;
    return reportOf({
      sessionId: this.id,
      status: this.#conversation.state.ending?.status ?? 'api-ended',
      durationMs,
      optOut,
      metrics: this.#metrics,
      messages: this.#messages(),
      functionCalls: [...this.#toolRunner.calls, ...later],
      doNotCall: this.#conversation.state.doNotCall,
      transfers: this.#lineActions.transfers,
      ttsChars: this.#speech.voice.chars,
      playout: this.#speech.playout.stats,
      line: this.#options.transport.lineStats?.() ?? null,
      recording: recording?.path ?? null,
      steps: firstPassed(this.#conversation.state),
      listeners: this.#conversation.state.listeners,
      participants: this.#conversation.state.participants,
      faults: this.#log.faults,
      faultReasons: this.#log.faultReasons,
      faultCauses: this.#log.faultCauses,
    });
  }
}
