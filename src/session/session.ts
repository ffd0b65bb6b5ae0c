import type { Clock } from '../base/clock.js';
import { Conversation } from '../conversation/conversation.js';
import type { ConversationEffect, ConversationEvent } from '../conversation/events.js';
import { historyMessages } from '../conversation/reply/history.js';
import { reasonOf } from '../base/errors.js';
import type { ProviderOutcome } from '../providers/outcome.js';
import { ToolRunner } from './tool-runner.js';
import { afterCall } from './after-call/after-call.js';
import { Alarm, momentAfter } from './alarm.js';
import { Notifier } from './line/notifier.js';
import { ClientForms } from './line/client-forms.js';
import { closeInTime } from '../base/deadlines.js';
import { LOG_VERSION } from './record/event-log.js';
import { Hearing } from './hearing/hearing.js';
import { EventLogWriter } from './record/event-log-writer.js';
import { SessionMetrics } from './record/session-metrics.js';
import { LanguageSwitch } from './hearing/language-providers.js';
import { LineActions } from './line/line-actions.js';
import { LineSink } from './line/line-sink.js';
import { Pacer } from './speech/pacer.js';
import { Playout } from './speech/playout.js';
import { Recogniser } from './hearing/recogniser.js';
import { type FunctionCall, reportOf, type SessionReport } from './record/session-report.js';
import type { SessionOptions } from './session-options.js';
import { LlmRequests } from './llm-requests.js';
import { together, type TurnJudge, turnJudge } from './hearing/turn-judge.js';
import { tokensNote, type UsageNote } from './record/usage.js';
import { Voice } from './speech/voice.js';

/**
 * One conversation on one line: the shell around the pure core. It owns the transport, the providers' streams and the
 * timers, turns what they bring into events, and carries out the effects that come back.
 */
export class Session {
  readonly id: string;
  /** Resolves when the session is over and nothing of it runs any more. Never rejects. */
  readonly finished: Promise<SessionReport>;
  readonly #options: SessionOptions;
  readonly #clock: Clock;
  readonly #conversation: Conversation;
  readonly #journal: EventLogWriter;
  readonly #notifier: Notifier;
  readonly #hearing: Hearing;
  readonly #recogniser: Recogniser;
  readonly #judge: TurnJudge | null;
  readonly #thinking: LlmRequests;
  readonly #forms = new ClientForms((message) => this.#notifier.tell(message));
  readonly #acting: ToolRunner;
  readonly #line: LineActions;
  readonly #playout: Playout;
  readonly #pacer: Pacer;
  readonly #voice: Voice;
  readonly #languages: LanguageSwitch;
  readonly #ledger: SessionMetrics;
  readonly #alarm: Alarm;
  readonly #abort = new AbortController();
  readonly #events: ConversationEvent[] = [];
  #resolveFinished!: (report: SessionReport) => void;
  #startMs = 0;
  #state: 'new' | 'running' | 'ending' | 'over' = 'new';
  #stepping = false;
  /** The limit that has ended the conversation. */
  #limit: 'idle' | 'duration' | null = null;

  /**
   * Prepares a session; providers should have been warmed up.
   * @throws ParleyError AUDIO_RATE_UNSUPPORTED for a transport whose rates are none
   */
  constructor(options: SessionOptions) {
    this.id = options.id;
    this.#options = options;
    this.#clock = options.clock;
    this.finished = new Promise((resolve) => (this.#resolveFinished = resolve));
    const { transport, conversation, clock, llm, model, temperature = 0, toolbox } = options;
    const nowMs = (): number => this.#nowMs();
    const onEvent = (event: ConversationEvent): void => this.#dispatch(event);
    const onJudged = (probability: number): void => onEvent({ type: 'turn.judged', probability });
    this.#alarm = new Alarm(clock, () => onEvent({ type: 'time' }));
    this.#conversation = new Conversation(conversation);
    this.#journal = new EventLogWriter(options, nowMs, (event) => this.#notifier.observe(event));
    this.#notifier = new Notifier(transport, options.observe, this.#journal);
    this.#ledger = new SessionMetrics((metrics) => this.#notifier.answered(metrics));
    this.#recogniser = new Recogniser({
      stt: options.stt,
      language: options.startLanguage ?? conversation.language,
      ...options.sttOptions,
      hints: options.hints ?? { phrases: [], texts: [], keywords: new Map() },
      clock,
      signal: this.#abort.signal,
      onTranscript: ({ segment, text, isFinal, understood }) => {
        // The client first: the answer may begin as soon as the conversation knows.
        const { number: turn } = this.#conversation.state.turn;
        if (understood && this.#isRunning) this.#notifier.transcribed({ text, isFinal, turn, segment });
        onEvent({ type: 'transcript', segment, text, isFinal, understood });
        if (understood && isFinal) this.#languages.heard(text);
      },
      onTurnEnds: onJudged,
      onListener: (who) => this.#used({ stage: 'stt', ...who }),
      onOutcome: this.#outcomesOf('stt'),
      onRetry: (reason, cause) => this.#journal.fault('stt.failed', reason, cause),
      onFailed: (reason, cause) => onEvent({ type: 'ears.failed', reason, ...(cause !== undefined && { cause }) }),
    });
    const language = (): string => this.#conversation.state.language ?? conversation.language;
    this.#judge = turnJudge(options.turnModel, {
      language,
      clock,
      onJudged,
      onFault: this.#faultAs('turnModel.failed'),
    });
    this.#hearing = new Hearing({
      inputRateHz: transport.inputRateHz,
      hearsFax: transport.showsForms !== true,
      hearsAnnouncements: conversation.direction === 'outbound',
      vad: options.vad.createDetector({ mayWait: true }),
      vadThreshold: options.vadThreshold ?? 0.5,
      denoising: options.denoising,
      ownTones: () => this.#line.ownTones,
      ...(conversation.voicemail && { hearsBeeps: () => this.#conversation.state.voicemail !== null }),
      stt: this.#judge === null ? this.#recogniser : together(this.#recogniser, this.#judge),
      nowMs,
      onEvent,
    });
    this.#playout = new Playout(transport, {
      onStarted: (utteranceId) => {
        this.#notifier.speaks('agent', true);
        this.#notifier.utteranceStarted(utteranceId);
        this.#ledger.turns.audible(utteranceId, this.#nowMs());
        onEvent({ type: 'utterance.started', utteranceId });
      },
      onFinished: (utteranceId) => {
        this.#ledger.turns.said(utteranceId, this.#notifier.textOf(utteranceId));
        onEvent({ type: 'utterance.finished', utteranceId });
        if (!this.#playout.busy) this.#notifier.speaks('agent', false);
        if (!this.#playout.busy && this.#conversation.state.reply === null) this.#notifier.answerEnded();
      },
      onSupply: (utteranceId, isDry) => onEvent({ type: isDry ? 'utterance.starved' : 'utterance.fed', utteranceId }),
      onPlayable: () => this.#pacer.hurry(),
    });
    const voice = (skipped: number): Int16Array | null => this.#playout.pull(skipped);
    const pull = (skipped: number): Int16Array | null => this.#line.pull(voice, skipped);
    const rests = (): boolean => this.#playout.rests && this.#line.rests;
    const ahead = {
      count: () => this.#playout.aheadFrames,
      ready: () => this.#line.rests && this.#playout.readyAhead,
      pull: () => this.#playout.pullAhead(),
      hear: () => this.#playout.hear(),
    };
    const source = { pull, playable: () => this.#playout.playable, rests, ahead };
    this.#pacer = new Pacer(transport, source, (error) => this.#onLineClosed(error));
    this.#voice = new Voice({
      tts: options.tts,
      language: conversation.language,
      voiceId: options.voice?.voiceId ?? null,
      model: options.voice?.model ?? null,
      settings: options.voice?.settings ?? {},
      clock,
      playout: this.#playout,
      onEvent,
      onSpoke: (who, chars) => this.#used({ stage: 'tts', ...who, chars }),
      onOutcome: this.#outcomesOf('tts'),
      onFirstAudio: (utteranceId) => {
        this.#ledger.turns.firstAudio(utteranceId, this.#nowMs());
        this.#journal.note('voice.first', { utteranceId });
      },
    });
    this.#languages = new LanguageSwitch({
      languages: options.languages ?? null,
      current: language,
      clock,
      onEvent,
      recogniser: this.#recogniser,
      voice: this.#voice,
      onFault: this.#faultAs('language.missing'),
    });
    this.#thinking = new LlmRequests({
      llm,
      model,
      temperature,
      toolbox,
      clock,
      onEvent,
      voice: this.#voice,
      onOutcome: this.#outcomesOf('llm'),
      onUsage: (tokens) => this.#used(tokensNote({ provider: llm.name, model }, tokens)),
    });
    this.#line = new LineActions({
      transport,
      clock,
      onEvent,
      messages: () => this.#messages(),
      mayTransfer: options.mayTransfer,
      consult: options.consult,
      onFault: (name, reason) => this.noteFault(name, reason),
      tell: (message) => this.#notifier.tell(message),
      onSound: () => this.#pacer.wake(),
    });
    this.#acting = new ToolRunner({
      toolbox: options.toolbox ?? null,
      sessionId: options.id,
      metadata: options.metadata ?? {},
      screen: this.#forms,
      nowMs,
      onResult: (call, { ok, result, tookMs }) => {
        if (!ok) this.noteFault('tool.failed', result);
        this.#notifier.observe({ type: 'tool', call, ok, result, tookMs });
        onEvent({ type: 'tool.result', callId: call.id, ok, content: result });
      },
    });
  }

  /** Opens the line. Returns `finished`. */
  run(): Promise<SessionReport> {
    if (this.#state !== 'new') return this.finished;
    this.#state = 'running';
    this.#startMs = this.#clock.nowMs();
    const { ticker, conversation, transport } = this.#options;
    this.#journal.write({ v: LOG_VERSION, t: 0, kind: 'start', sessionId: this.id, config: conversation });
    this.#recogniser.open();
    try {
      const onEvent = (event: ConversationEvent): void => this.#dispatch(event);
      const onClosed = (error: unknown): void => this.#onLineClosed(error);
      transport.start(new LineSink({ hearing: this.#hearing, forms: this.#forms, onEvent, onClosed }));
    } catch (error) {
      this.#onLineClosed(error);
    }
    if (!this.#isRunning) return this.finished; // the user had gone already
    this.#pacer.start(ticker);
    this.#notifier.tell({ type: 'ready', sessionId: this.id });
    this.#dispatch({ type: 'line.opened' });
    return this.finished;
  }

  /** Has the agent say something after what it is saying. */
  say(text: string): void {
    this.#dispatch({ type: 'command.say', text });
  }

  /** A message that the user typed, as if it had been spoken. */
  sendText(text: string): void {
    this.#dispatch({ type: 'text', text });
  }

  /** Counts and logs a fault of something around the session that it goes on in spite of. */
  noteFault(name: string, reason: string): void {
    this.#journal.fault(name, reason);
  }

  /** Has the agent end the call (`agent-ended`), or connect the user to somebody else, when all has been said. */
  finish(target: string | null = null): void {
    this.#dispatch(target === null ? { type: 'command.hangUp' } : { type: 'command.transfer', target });
  }

  /** Ends the call (`api-ended`). May be called twice, and before `run`. */
  async close(): Promise<SessionReport> {
    if (this.#state === 'new') void this.#end();
    else this.#dispatch({ type: 'command.end' });
    return this.finished;
  }

  #used(note: UsageNote): void {
    if (this.#ledger.usage.take(note, this.#nowMs())) this.#journal.note('usage', note);
  }

  #outcomesOf(stage: 'stt' | 'llm' | 'tts'): (outcome: ProviderOutcome) => void {
    return (outcome) => {
      if (this.#isRunning) this.#notifier.observe({ type: 'provider', stage, ...outcome });
    };
  }

  #faultAs(name: string): (reason: string) => void {
    return (reason) => this.noteFault(name, reason);
  }

  get #isRunning(): boolean {
    return this.#state === 'running';
  }

  #nowMs(): number {
    return this.#state === 'new' ? 0 : this.#clock.nowMs() - this.#startMs;
  }

  /** Steps the core with an event and carries out what follows; events that this raises queue up behind. */
  #dispatch(event: ConversationEvent): void {
    if (!this.#isRunning) return;
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
    const position = this.#playout.position();
    this.#journal.event(event, t, position);
    this.#ledger.onEvent(event, t);
    if (event.type === 'speech.started' || event.type === 'speech.stopped') {
      this.#notifier.speaks('user', event.type === 'speech.started');
    }
    for (const effect of this.#conversation.step(event, t, position)) {
      this.#journal.effect(effect, t);
      this.#ledger.onEffect(effect, t);
      this.#carryOut(effect);
    }
  }

  #carryOut(effect: ConversationEffect): void {
    switch (effect.type) {
      case 'llm.start':
        this.#used({ stage: 'llm', provider: this.#options.llm.name, model: this.#options.model });
        this.#thinking.start(effect.requestId, effect.messages, effect.tools);
        return;
      case 'llm.cancel':
        this.#thinking.cancel(effect.requestId);
        return;
      case 'speak.prepare':
        this.#voice.prepare(effect.utteranceId, effect.text);
        return;
      case 'speak':
        this.#notifier.expect(effect.utteranceId, effect.text);
        this.#voice.speak(effect.utteranceId, effect.text, effect.requestId);
        return;
      case 'speak.more':
        this.#notifier.expectMore(effect.utteranceId, effect.text);
        this.#playout.addText(effect.utteranceId, effect.text);
        return;
      case 'speak.pause':
        this.#voice.pause(effect.utteranceId, effect.pauseMs);
        return;
      case 'language.switch':
        this.#languages.switch(effect.callId, effect.language);
        return;
      case 'speak.cancel':
        this.#voice.cancel(effect.utteranceId);
        return;
      case 'playout.hold':
        this.#playout.hold();
        this.#notifier.speaks('agent', false);
        this.#notifier.pause();
        return;
      case 'playout.resume':
        this.#notifier.unpause();
        this.#playout.resume();
        if (this.#playout.position().utteranceId !== null) this.#notifier.speaks('agent', true);
        return;
      case 'playout.drop':
        this.#drop();
        return;
      case 'tool.start':
        this.#notifier.observe({ type: 'toolStarted', call: effect.call });
        this.#acting.start(effect.call);
        return;
      case 'stt.endTurn':
        this.#recogniser.endTurn();
        this.#judge?.endTurn();
        return;
      case 'user.said':
        this.#notifier.turnEnded();
        this.#languages.heard(effect.text);
        this.#notifier.observe({ type: 'user', text: effect.text, turn: effect.turn });
        return;
      case 'digits.send':
        this.#line.press(effect.callId, effect.digits);
        return;
      case 'line.transfer':
        this.#line.transfer(effect.callId, effect.target, effect.attended);
        return;
      case 'line.transfer.cancel':
        this.#line.cancelTransfer();
        return;
      case 'line.close':
        void this.#end();
        return;
      case 'trace':
        if (effect.name === 'interruption') this.#notifier.observe({ type: 'interrupted' });
        if (effect.name === 'limit') this.#limit = effect.data['limit'] === 'idle' ? 'idle' : 'duration';
        return;
      case 'llm.confirm':
      case 'doNotCall':
        return; // for the ledger and the log
    }
  }

  #drop(): void {
    const { utteranceId, heardChars } = this.#playout.position();
    const text = utteranceId === null ? '' : this.#notifier.textOf(utteranceId);
    if (utteranceId !== null) this.#ledger.turns.said(utteranceId, text.slice(0, heardChars));
    this.#voice.drop();
    this.#notifier.speaks('agent', false);
    this.#notifier.clear();
    this.#notifier.answerEnded(text.slice(heardChars));
  }

  #onLineClosed(error: unknown): void {
    const reason = error === undefined ? null : reasonOf(error);
    if (reason !== null) this.noteFault('transport.failed', reason);
    if (!this.#isRunning) return;
    this.#dispatch({ type: 'line.closed', error: reason });
    void this.#end();
  }

  /** The conversation is over: lets go of everything, does what comes after the call, and reports. */
  async #end(): Promise<void> {
    if (this.#state === 'ending' || this.#state === 'over') return;
    const wasOpen = this.#isRunning;
    const durationMs = this.#nowMs();
    this.#state = 'ending';
    if (this.#playout.held) this.#drop();
    this.#notifier.answerEnded();
    const limit = this.#limit;
    if (wasOpen) this.#notifier.tell({ type: 'ended', status: this.#status, ...(limit !== null && { limit }) });
    this.#hearing.stop();
    this.#pacer.stop();
    this.#alarm.set(undefined);
    this.#abort.abort();
    this.#thinking.close();
    this.#acting.close();
    this.#line.close();
    this.#languages.close();
    const { transport } = this.#options;
    await closeInTime(this.#clock, () => transport.close(), this.#faultAs('transport.close'));
    this.#voice.close();
    this.#judge?.close();
    this.#hearing.close(); // not before: it may have been in the middle of some audio that led here
    const hearing = closeInTime(this.#clock, () => this.#recogniser.close(), this.#faultAs('stt.close'));
    await Promise.all([hearing, this.#options.recording?.close()]);
    const calls = wasOpen ? await this.#afterCall() : [];
    this.#state = 'over';
    const report = this.#report(durationMs, calls);
    this.#notifier.observe({ type: 'ended', report });
    this.#resolveFinished(report);
  }

  #afterCall(): Promise<readonly FunctionCall[]> {
    const options = { ...this.#options, usage: this.#ledger.usage };
    const told = [{ role: 'system', content: options.conversation.systemPrompt } as const, ...this.#messages()];
    return afterCall(options, told, this.#acting.calls, (name, reason) => this.noteFault(name, reason));
  }

  get #status(): SessionReport['status'] {
    return this.#conversation.state.ending?.status ?? 'api-ended';
  }

  #messages(): SessionReport['messages'] {
    return historyMessages(this.#conversation.state.history, { expected: false, keepInterrupted: true });
  }

  #report(durationMs: number, later: readonly FunctionCall[]): SessionReport {
    const { optOut = false, recording } = this.#options;
    return reportOf({
      sessionId: this.id,
      status: this.#status,
      durationMs,
      optOut,
      ledger: this.#ledger,
      messages: this.#messages(),
      functionCalls: [...this.#acting.calls, ...later],
      doNotCall: this.#conversation.state.doNotCall,
      transfers: this.#line.transfers,
      ttsChars: this.#voice.chars,
      playout: this.#playout.stats,
      line: this.#options.transport.lineStats?.() ?? null,
      recording: recording?.path ?? null,
      faults: this.#journal.faults,
      faultReasons: this.#journal.faultReasons,
      faultCauses: this.#journal.faultCauses,
    });
  }
}
