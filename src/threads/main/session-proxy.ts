import type { Clock } from '../../base/clock.js';
import { errorOf, ParleyError, reasonOf } from '../../base/errors.js';
import type { CommandResult, NewParticipant, ParticipantRecord, Side } from '../../conversation/control/command.js';
import { noteParticipant } from '../../conversation/control/listeners.js';
import type { SessionHandle } from '../../engine/remote-line.js';
import type { SessionRequest } from '../../engine/options.js';
import type { LogEntry } from '../../session/record/event-log.js';
import { recordingLeftIn } from '../../session/record/recording-folder.js';
import type { Consultation } from '../../session/line/line-actions.js';
import { LineTaps, type TapFrame, type TapOptions } from '../../session/tap.js';
import { type EndOptions, type SessionCommand, SteeredSession } from '../../session/steered-session.js';
import type { SessionEvent } from '../../session/session-options.js';
import { joinBy, type JoinedParticipant, type JoinOptions } from '../../session/participants/joined.js';
import type { FunctionCall, SessionReport } from '../../session/record/session-report.js';
import type { TransferOutcome, Transport } from '../../transports/transport.js';
import type { ThreadMethods } from '../wire/protocol.js';
import { type Rpc, toWire } from '../wire/rpc.js';
import type { ChatMessage } from '../../agent/chat.js';
import { type FunctionHooks, type FunctionRun, type PlainTool, plainTool, runCode } from '../../tools/code-tool.js';
import type { DefinedTool } from '../../tools/define-tool.js';
import type { ToolResult } from '../../tools/tool.js';
import { latencySummary, noSpeculations, type TurnMetrics } from '../../session/record/session-metrics.js';
import { reportWithoutText } from '../../session/record/session-report.js';

/** Longer than any command takes: words, keys, and a transfer whose target is asked. */
const COMMAND_MS = 900_000;
/** The fault of sessions whose thread has ended. */
const THREAD_LOST = 'thread.lost';

/** The facts about a session that are known outside of it: its report if its thread ends first. */
export class LostReport {
  readonly #messages: ChatMessage[] = [];
  readonly #turns: TurnMetrics[] = [];
  readonly #calls: FunctionCall[] = [];
  readonly #participants = new Map<string, ParticipantRecord>();
  /** The user's message that may still change, with its turn. */
  #latest: { turn: number; message: ChatMessage } | null = null;

  take(event: SessionEvent, nowMs: number): void {
    if (event.type === 'participant') noteParticipant(this.#participants, event.participant, nowMs);
    else if (event.type === 'user') this.#said(event.text, event.turn);
    else if (event.type === 'agent') this.#messages.push({ role: 'assistant', content: event.text });
    else if (event.type === 'answered') this.#turns.push(event.metrics);
    else if (event.type === 'tool') {
      const { call, ok, result, tookMs } = event;
      this.#calls.push({ name: call.name, arguments: call.arguments, ok, result, tookMs, runAfterCall: false });
    }
  }

  report(sessionId: string, durationMs: number, reason: string, optOut: boolean): SessionReport {
    const report: SessionReport = {
      sessionId,
      status: 'error',
      durationMs,
      messages: this.#messages,
      turns: this.#turns,
      latency: latencySummary(this.#turns),
      functionCalls: this.#calls,
      doNotCall: false,
      transfers: [],
      ttsChars: 0,
      speculation: noSpeculations(),
      promptTokens: 0,
      completionTokens: 0,
      usage: { stt: [], llm: [], tts: [] },
      playout: { underruns: 0, speechMs: 0, skippedFrames: 0 },
      line: null,
      recording: null,
      listeners: [],
      steps: [],
      participants: [...this.#participants.values()],
      agents: [],
      faults: { [THREAD_LOST]: 1 },
      faultReasons: { [THREAD_LOST]: reason },
    };
    return optOut ? reportWithoutText(report) : report;
  }

  /** The same turn again: the user had continued. */
  #said(text: string, turn: number): void {
    const message: ChatMessage = { role: 'user', content: text };
    const at = this.#latest?.turn === turn ? this.#messages.lastIndexOf(this.#latest.message) : -1;
    if (at >= 0) this.#messages[at] = message;
    else this.#messages.push(message);
    this.#latest = { turn, message };
  }
}

export interface SessionProxyOptions {
  id: string;
  rpc: Pick<Rpc<ThreadMethods>, 'tell' | 'ask'>;
  request: Omit<SessionRequest, 'transport'>;
  clock: Clock;
  /** The recordings folder of its thread; null = none. */
  recordings: string | null;
}

/** The main thread's handle of a session in a media thread. */
export class SessionProxy extends SteeredSession implements SessionHandle {
  readonly id: string;
  readonly finished: Promise<SessionReport>;
  readonly #options: SessionProxyOptions;
  readonly #known = new LostReport();
  /** Functions that the agent got while the session ran. */
  readonly #functions = new Map<string, DefinedTool>();
  readonly #taps: Readonly<Record<Side, LineTaps>> = {
    user: new LineTaps('user', 0, (on) => this.#read('user', on)),
    agent: new LineTaps('agent', 0, (on) => this.#read('agent', on)),
  };
  /** Of the people who have joined. */
  readonly #lines = new Map<string, Transport>();
  #resolve!: (report: SessionReport) => void;
  #startMs: number | null = null;
  #isOver = false;
  #logs = true;

  constructor(options: SessionProxyOptions) {
    super();
    this.id = options.id;
    this.#options = options;
    this.finished = new Promise((resolve) => (this.#resolve = resolve));
  }

  run(): Promise<SessionReport> {
    if (this.#startMs === null) {
      this.#startMs = this.#options.clock.nowMs();
      this.#options.rpc.tell('runSession', this.id);
    }
    return this.finished;
  }

  async control(command: SessionCommand, signal?: AbortSignal): Promise<CommandResult> {
    if (this.#isOver) throw new ParleyError('SESSION_CLOSED');
    signal?.throwIfAborted();
    const limits = signal === undefined ? { timeoutMs: COMMAND_MS } : { timeoutMs: COMMAND_MS, signal };
    return this.#options.rpc.ask('control', { session: this.id, ...this.#plain(command) }, limits);
  }

  tap(side: Side, options: TapOptions = {}): AsyncGenerator<TapFrame, void, undefined> {
    return this.#taps[side].open(options);
  }

  /** A frame of a tap in the thread. */
  tapped(frame: TapFrame): void {
    this.#taps[frame.side].give(frame);
  }

  async join(line: Transport, options: JoinOptions = {}): Promise<JoinedParticipant> {
    if (this.#isOver) throw new ParleyError('SESSION_CLOSED');
    return joinBy(this, options, (participant) => this.#join(line, participant, options.signal));
  }

  /** What a participant hears. */
  plays(participant: string, frame: Int16Array | null): void {
    try {
      this.#lines.get(participant)?.play(frame);
    } catch (error) {
      this.#gone(participant, errorOf(error));
    }
  }

  /** A participant is not in the call any more. */
  leaves(participant: string): void {
    const line = this.#lines.get(participant);
    this.#lines.delete(participant);
    line?.close().catch((error: unknown) => this.noteFault('participant.close', reasonOf(error)));
  }

  end(options: EndOptions = {}): Promise<SessionReport> {
    this.#options.rpc.tell('endSession', { session: this.id, options });
    return this.finished;
  }

  sendText(text: string): void {
    this.#options.rpc.tell('sendText', { session: this.id, text });
  }

  noteFault(name: string, reason: string): void {
    this.#options.rpc.tell('noteFault', { session: this.id, name, reason });
  }

  finish(target: string | null = null): void {
    this.#options.rpc.tell('finish', { session: this.id, target });
  }

  close(): Promise<SessionReport> {
    this.#options.rpc.tell('closeSession', this.id);
    return this.finished;
  }

  event(event: SessionEvent): void {
    if (this.#isOver) return;
    this.#known.take(event, this.#nowMs);
    try {
      this.#options.request.observe?.(event);
    } catch (error) {
      this.noteFault('observer.failed', reasonOf(error));
    }
    this.heed(event, (error) => this.noteFault('observer.failed', reasonOf(error)));
  }

  log(entry: LogEntry): void {
    try {
      if (this.#logs) this.#options.request.log?.(entry);
    } catch {
      this.#logs = false; // a log that cannot be written must not end the call
      this.noteFault('log.failed', 'its sink threw');
    }
  }

  /** The session is over; the first reason counts. */
  over(report: SessionReport): void {
    if (this.#isOver) return;
    this.event({ type: 'ended', report });
    this.#isOver = true;
    for (const taps of Object.values(this.#taps)) taps.close();
    for (const participant of Array.from(this.#lines.keys())) this.leaves(participant);
    this.#resolve(report);
  }

  lost(reason: string): void {
    const { request, recordings } = this.#options;
    const optOut = request.agent.privacy_settings?.opt_out_data_collection === true;
    const report = this.#known.report(this.id, this.#nowMs, reason, optOut);
    // The recording is complete up to now, and must be found when the call is erased.
    this.over({ ...report, recording: recordings === null ? null : recordingLeftIn(recordings, this.id) });
  }

  /** Since the session began. */
  get #nowMs(): number {
    return this.#startMs === null ? 0 : this.#options.clock.nowMs() - this.#startMs;
  }

  /** The line stays here: its audio goes to the thread. */
  async #join(line: Transport, participant: NewParticipant, signal: AbortSignal | undefined): Promise<void> {
    const { id } = participant;
    const { inputRateHz, outputRateHz } = line;
    const { rpc } = this.#options;
    const limits = signal === undefined ? { timeoutMs: COMMAND_MS } : { timeoutMs: COMMAND_MS, signal };
    await rpc.ask('join', { session: this.id, participant, rates: { inputRateHz, outputRateHz } }, limits);
    this.#lines.set(id, line);
    line.start({
      audio: (samples) => {
        rpc.tell('participantAudio', { session: this.id, participant: id, samples: samples.slice() });
      },
      digits: () => undefined,
      text: () => undefined,
      formResult: () => undefined,
      closed: (error) => this.#gone(id, error),
    });
  }

  #gone(participant: string, error: Error | undefined): void {
    if (!this.#lines.has(participant)) return;
    const told = { session: this.id, participant, error: error === undefined ? null : toWire(error) };
    this.#options.rpc.tell('participantGone', told);
  }

  #read(side: Side, on: boolean): void {
    if (!this.#isOver) this.#options.rpc.tell('tap', { session: this.id, side, on });
  }

  /** The code of functions stays here: the thread asks for their calls. */
  #plain(command: SessionCommand): { command: SessionCommand; functions: readonly PlainTool[] } {
    if (command.type !== 'command.update' || command.changes.tools === undefined) return { command, functions: [] };
    const { tools, ...changes } = command.changes;
    const functions = tools.flatMap((tool) => ('execute' in tool ? [tool] : []));
    for (const tool of functions) this.#functions.set(tool.name, tool);
    const others = tools.flatMap((tool) => ('execute' in tool ? [] : [tool]));
    return {
      command: { type: 'command.update', changes: { ...changes, tools: others } },
      functions: functions.map(plainTool),
    };
  }

  /** Runs a function of the session's request or of a change of it, or else of a plug-in. */
  async callFunction(
    name: string,
    others: ReadonlyMap<string, DefinedTool>,
    about: FunctionRun,
    hooks: Omit<FunctionHooks, 'session'>,
  ): Promise<ToolResult> {
    const { request, clock } = this.#options;
    const own = this.#functions.get(name) ?? request.tools?.find((one) => one.name === name);
    const tool = own ?? others.get(name);
    if (tool === undefined) return { ok: false, content: `There is no function ${name}.` };
    return runCode(tool, clock, about, { ...hooks, session: about.callId === null ? null : this });
  }

  /** Why the call must not be transferred; null = it may. */
  async mayTransfer(target: string): Promise<string | null> {
    return (await this.#options.request.mayTransfer?.(target)) ?? null;
  }

  async consult(about: Consultation, signal: AbortSignal): Promise<TransferOutcome> {
    return (await this.#options.request.consult?.(about, signal)) ?? { ok: false, reason: 'unsupported' };
  }
}
