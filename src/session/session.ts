import type { Cancel, Clock } from '../clock/clock.js';
import { Conversation } from '../conversation/conversation.js';
import type { ConversationEffect, ConversationEvent } from '../conversation/events.js';
import { historyMessages } from '../conversation/history.js';
import { reasonOf } from '../errors.js';
import type { TransportMessage } from '../transports/transport.js';
import { Acting } from './acting.js';
import { LOG_VERSION } from './event-log.js';
import { Hearing } from './hearing.js';
import { Playout } from './playout.js';
import { Recogniser } from './recogniser.js';
import type { SessionEvent, SessionOptions } from './session-options.js';
import type { SessionReport } from './session-report.js';
import { Thinking } from './thinking.js';
import { TurnClock } from './turn-metrics.js';
import { Voice } from './voice.js';

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
  readonly #hearing: Hearing;
  readonly #recogniser: Recogniser;
  readonly #thinking: Thinking;
  readonly #acting: Acting;
  readonly #playout: Playout;
  readonly #voice: Voice;
  readonly #turns: TurnClock;
  readonly #abort = new AbortController();
  readonly #events: ConversationEvent[] = [];
  readonly #texts = new Map<number, string>();
  readonly #faults: Record<string, number> = {};
  #resolveFinished!: (report: SessionReport) => void;
  #startMs = 0;
  #state: 'new' | 'running' | 'ending' | 'over' = 'new';
  #stepping = false;
  #stopTicks: Cancel = () => undefined;
  #deadline: { atMs: number; cancel: Cancel } | null = null;
  #speechEndMs: number | null = null;
  /** Text of the answer that is being spoken, as far as it has begun. */
  #answer = '';
  #tokens = { prompt: 0, completion: 0 };

  /** Prepares a session; providers should have been warmed up. */
  constructor(options: SessionOptions) {
    this.id = options.id;
    this.#options = options;
    this.#clock = options.clock;
    this.finished = new Promise((resolve) => (this.#resolveFinished = resolve));
    this.#conversation = new Conversation(options.conversation);
    const { transport, conversation, clock } = options;
    const onEvent = (event: ConversationEvent): void => {
      this.#dispatch(event);
    };
    this.#recogniser = new Recogniser({
      stt: options.stt,
      language: conversation.language,
      hints: options.hints ?? { phrases: [], texts: [], keywords: new Map() },
      clock,
      signal: this.#abort.signal,
      onTranscript: ({ segment, text, isFinal, understood }) => {
        onEvent({ type: 'transcript', segment, text, isFinal, understood });
        if (understood) this.#tell({ type: 'transcript', text, isFinal });
        if (understood) this.#observe({ type: 'transcript', text, isFinal });
      },
      onRetry: (reason) => {
        this.#fault('stt.failed', reason);
      },
      onFailed: (reason) => {
        onEvent({ type: 'ears.failed', reason });
      },
    });
    this.#hearing = new Hearing({
      inputRateHz: transport.inputRateHz,
      vad: options.vad.createDetector(),
      vadThreshold: options.vadThreshold ?? 0.5,
      stt: () => this.#recogniser.stream,
      nowMs: () => this.#nowMs(),
      onEvent,
    });
    this.#playout = new Playout(transport.outputRateHz, {
      onStarted: (utteranceId) => {
        this.#onStarted(utteranceId);
      },
      onFinished: (utteranceId) => {
        this.#turns.said(utteranceId, this.#texts.get(utteranceId) ?? '');
        onEvent({ type: 'utterance.finished', utteranceId });
        if (!this.#playout.busy && this.#conversation.state.reply === null) this.#finishAnswer('');
      },
    });
    this.#voice = new Voice({
      tts: options.tts,
      language: conversation.language,
      voiceId: options.voice?.voiceId ?? null,
      model: options.voice?.model ?? null,
      settings: options.voice?.settings ?? {},
      clock,
      playout: this.#playout,
      onEvent,
      onFirstAudio: (utteranceId) => {
        this.#turns.firstAudio(utteranceId, this.#nowMs());
      },
    });
    this.#thinking = new Thinking({
      llm: options.llm,
      model: options.model,
      temperature: options.temperature ?? 0,
      clock,
      onEvent,
      onUsage: (prompt, completion) => {
        this.#tokens.prompt += prompt;
        this.#tokens.completion += completion;
      },
    });
    this.#acting = new Acting({
      toolbox: options.toolbox ?? null,
      sessionId: options.id,
      metadata: options.metadata ?? {},
      signal: this.#abort.signal,
      nowMs: () => this.#nowMs(),
      onResult: (call, { ok, result, tookMs }) => {
        if (!ok) this.#fault('tool.failed', result);
        this.#observe({ type: 'tool', call, ok, result, tookMs });
        onEvent({ type: 'tool.result', callId: call.id, ok, content: result });
      },
    });
    this.#turns = new TurnClock((metrics) => {
      this.#observe({ type: 'answered', metrics });
      const { turn, responseMs, endOfTurnMs, llmFirstMs, firstSentenceMs, ttsFirstMs } = metrics;
      const times = { turn, responseMs, endOfTurnMs, llmFirstMs, firstSentenceMs, ttsFirstMs };
      this.#tell({ type: 'metrics', turn: times });
    });
  }

  /** Opens the line. Returns `finished`. */
  run(): Promise<SessionReport> {
    if (this.#state !== 'new') return this.finished;
    this.#state = 'running';
    this.#startMs = this.#clock.nowMs();
    const { transport, ticker, conversation } = this.#options;
    this.#options.log?.({ v: LOG_VERSION, t: 0, kind: 'start', sessionId: this.id, config: conversation });
    this.#recogniser.open();
    // Before the start, which may find the line dead already: then this is undone again.
    this.#stopTicks = ticker.subscribe(() => {
      transport.play(this.#playout.pull());
    });
    transport.start({
      audio: (samples) => {
        if (this.#state === 'running') this.#hearing.audio(samples);
      },
      digits: (digits) => {
        this.#dispatch({ type: 'digits', digits });
      },
      text: (text) => {
        this.#dispatch({ type: 'text', text });
      },
      formResult: () => undefined,
      closed: (error) => {
        this.#onLineClosed(error);
      },
    });
    this.#tell({ type: 'ready', sessionId: this.id });
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

  /** Ends the call (`api-ended`). May be called twice. */
  async close(): Promise<SessionReport> {
    if (this.#state === 'new') this.#finish();
    else this.#dispatch({ type: 'command.end' });
    return this.finished;
  }

  #nowMs(): number {
    return this.#clock.nowMs() - this.#startMs;
  }

  /** Steps the core with an event and carries out what follows; events that this raises queue up behind. */
  #dispatch(event: ConversationEvent): void {
    if (this.#state !== 'running') return;
    this.#events.push(event);
    if (this.#stepping) return;
    this.#stepping = true;
    try {
      for (let next = this.#events.shift(); next !== undefined; next = this.#events.shift()) this.#step(next);
    } finally {
      this.#stepping = false;
    }
    this.#armDeadline();
  }

  #step(event: ConversationEvent): void {
    const { log } = this.#options;
    const t = this.#nowMs();
    const position = this.#playout.position();
    log?.({ t, kind: 'event', event, position });
    this.#note(event, t);
    for (const effect of this.#conversation.step(event, t, position)) {
      log?.({ t, kind: 'effect', effect });
      this.#carryOut(effect, t);
    }
  }

  #note(event: ConversationEvent, t: number): void {
    if (event.type === 'speech.stopped') this.#speechEndMs = event.endMs;
    else if (event.type === 'llm.text' || event.type === 'llm.toolCall') this.#turns.modelSpoke(event.requestId, t);
    else if (event.type === 'utterance.failed') this.#fault('tts.failed', event.reason);
    else if (event.type === 'llm.failed') this.#fault('llm.failed', event.reason);
  }

  #carryOut(effect: ConversationEffect, t: number): void {
    switch (effect.type) {
      case 'llm.start':
        this.#turns.asked(effect.requestId);
        this.#thinking.start(effect.requestId, effect.messages, [
          ...effect.tools,
          ...(this.#options.toolbox?.specs ?? []),
        ]);
        return;
      case 'llm.cancel':
        this.#thinking.cancel(effect.requestId);
        return;
      case 'speak':
        this.#texts.set(effect.utteranceId, effect.text);
        this.#turns.spoken(effect.utteranceId, t);
        this.#voice.speak(effect.utteranceId, effect.text);
        return;
      case 'speak.cancel':
        this.#voice.cancel(effect.utteranceId);
        return;
      case 'playout.hold':
        this.#playout.hold();
        this.#tell({ type: 'pause' });
        return;
      case 'playout.resume':
        this.#playout.resume();
        this.#tell({ type: 'unpause' });
        return;
      case 'playout.drop':
        this.#drop();
        return;
      case 'tool.start':
        this.#acting.start(effect.call);
        return;
      case 'stt.endTurn':
        this.#recogniser.stream.endTurn();
        return;
      case 'user.said':
        this.#finishAnswer('');
        this.#turns.decided(effect.turn, effect.text, this.#speechEndMs, t);
        this.#speechEndMs = null;
        this.#observe({ type: 'user', text: effect.text });
        return;
      case 'line.close':
        this.#end();
        return;
      case 'trace':
        if (effect.name === 'interruption') this.#turns.interrupted();
        return;
    }
  }

  #drop(): void {
    const { utteranceId, heardChars } = this.#playout.position();
    const text = utteranceId === null ? '' : (this.#texts.get(utteranceId) ?? '');
    if (utteranceId !== null) this.#turns.said(utteranceId, text.slice(0, heardChars));
    this.#voice.drop();
    this.#tell({ type: 'clear' });
    this.#finishAnswer(text.slice(heardChars));
  }

  #onStarted(utteranceId: number): void {
    const text = this.#texts.get(utteranceId) ?? '';
    if (this.#answer === '') this.#tell({ type: 'answering' });
    this.#answer = this.#answer === '' ? text : `${this.#answer} ${text}`;
    this.#tell({ type: 'response', text: this.#answer, isFinal: false });
    this.#turns.audible(utteranceId, this.#nowMs());
    this.#dispatch({ type: 'utterance.started', utteranceId });
  }

  /** The answer is over; `unheard` is the end of its text that was never played. */
  #finishAnswer(unheard: string): void {
    const text = this.#answer.slice(0, this.#answer.length - unheard.length).trim();
    this.#answer = '';
    if (text === '') return;
    this.#tell({ type: 'response', text, isFinal: true });
    this.#observe({ type: 'agent', text });
  }

  #armDeadline(): void {
    const next = this.#state === 'running' ? this.#conversation.nextDeadlineMs : undefined;
    if (next === this.#deadline?.atMs) return;
    this.#deadline?.cancel();
    this.#deadline = null;
    if (next === undefined) return;
    const cancel = this.#clock.schedule(this.#startMs + next, () => {
      this.#deadline = null;
      this.#dispatch({ type: 'time' });
    });
    this.#deadline = { atMs: next, cancel };
  }

  /** The conversation hangs up. */
  #end(): void {
    if (this.#state !== 'running') return;
    this.#state = 'ending';
    this.#finishAnswer('');
    this.#tell({ type: 'ended', status: this.#conversation.state.ending?.status ?? 'error' });
    void this.#options.transport
      .close()
      .catch((error: unknown) => {
        this.#fault('transport.close', reasonOf(error));
      })
      .then(() => {
        this.#finish();
      });
  }

  #onLineClosed(error: Error | undefined): void {
    if (error !== undefined) this.#fault('transport.failed', error.message);
    if (this.#state !== 'running') return;
    this.#dispatch({ type: 'line.closed', error: error?.message ?? null });
    this.#state = 'ending';
    this.#finishAnswer('');
    this.#finish();
  }

  #finish(): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    const durationMs = this.#nowMs();
    this.#stopTicks();
    this.#deadline?.cancel();
    this.#abort.abort();
    this.#thinking.close();
    this.#voice.close();
    this.#hearing.close();
    const report: SessionReport = {
      sessionId: this.id,
      status: this.#conversation.state.ending?.status ?? 'api-ended',
      durationMs,
      messages: historyMessages(this.#conversation.state.history, { expected: false, keepInterrupted: true }),
      turns: this.#turns.turns,
      functionCalls: this.#acting.calls,
      ttsChars: this.#voice.chars,
      promptTokens: this.#tokens.prompt,
      completionTokens: this.#tokens.completion,
      faults: this.#faults,
    };
    void this.#recogniser
      .close()
      .catch((error: unknown) => {
        this.#fault('stt.close', reasonOf(error));
      })
      .then(() => {
        this.#observe({ type: 'ended', report });
        this.#resolveFinished(report);
      });
  }

  #tell(message: TransportMessage): void {
    this.#options.transport.send(message);
  }

  #fault(name: string, reason: string): void {
    this.#faults[name] = (this.#faults[name] ?? 0) + 1;
    this.#options.log?.({ t: this.#nowMs(), kind: 'note', name, data: { reason } });
  }

  #observe(event: SessionEvent): void {
    try {
      this.#options.observe?.(event);
    } catch (error) {
      this.#fault('observer.failed', reasonOf(error));
    }
  }
}
