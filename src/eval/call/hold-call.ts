import { msToSamples } from '../../audio/frame.js';
import { ToneGenerator } from '../../audio/tones/tones.js';
import { type Cancel, type Clock, delay } from '../../base/clock.js';
import { reasonOf } from '../../base/errors.js';
import { VirtualClock } from '../../base/virtual-clock.js';
import type { Engine } from '../../engine/engine.js';
import type { SessionRequest } from '../../engine/options.js';
import type { SessionReport } from '../../session/record/session-report.js';
import type { TransferFailure, TransferOutcome, TransportMessage } from '../../transports/transport.js';
import {
  type SimulatedCaller,
  type CallerAudio,
  CallerError,
  type CallerMove,
  type BargeIn,
  type CallerView,
} from '../caller/caller.js';
import type { EvalMode } from '../suite/suite-schema.js';
import { CallLines } from './call-lines.js';
import type { CallerLine, CallerLineEvents } from './caller-line.js';
import type { SessionEvent } from '../../session/session-options.js';

export interface HoldCallOptions {
  engine: Engine;
  mode: EvalMode;
  request: Omit<SessionRequest, 'transport' | 'observe' | 'consult'>;
  /** @param nowMs time of the call */
  caller: (nowMs: () => number) => SimulatedCaller;
  /** Called once; the call releases the line. */
  openLine: (events: CallerLineEvents) => CallerLine;
  /** Speaks what the caller says; null = the line carries text. */
  speak: ((move: Extract<CallerMove, { say: string }>) => Promise<CallerAudio>) | null;
  /** What becomes of a transfer, `ok` or why it fails. */
  transferOutcome: (target: string) => 'ok' | TransferFailure;
  /** The caller hangs up after this long. */
  maxDurationMs: number;
  /** The lines of the call, for whoever watches it; the same list until the end. */
  onLines?: (lines: CallLines) => void;
  signal: AbortSignal;
}

export interface HeldCall {
  lines: CallLines;
  report: SessionReport;
  /** What the agent failed to do that the caller waited for; null = nothing. */
  failure: string | null;
  /** The caller is broken; null = they are not. */
  error: string | null;
  /** The call was still going on after `maxDurationMs`. */
  reachedLimit: boolean;
}

/** How long somebody rings, in virtual or real time. */
const RING_MS = 2_000;
/** How long someone who has called waits for the first word; people who are called speak first. */
const FIRST_WORD_MS = 5_000;
const HELLO_MS = 400;
/** What is done after a call may take this long. */
const AFTER_CALL_MS = 120_000;

/**
 * Holds one call between an agent and a simulated caller, in the engine's time.
 * @throws ParleyError as `Engine.createSession`; the signal's reason when it is aborted
 */
export async function holdCall(options: HoldCallOptions): Promise<HeldCall> {
  return new HeldCallRun(options).run();
}

class HeldCallRun {
  readonly #options: HoldCallOptions;
  readonly #clock: Clock;
  readonly #lines: CallLines;
  readonly #turns: CallerTurns;
  readonly #line: CallerLine;
  readonly #caller: SimulatedCaller;
  #startMs = 0;
  #endedBy: 'agent' | 'caller' | 'limit' = 'agent';
  #turn = 0;
  #failure: string | null = null;
  #error: string | null = null;

  constructor(options: HoldCallOptions) {
    this.#options = options;
    this.#clock = options.engine.clock;
    const nowMs = (): number => this.#clock.nowMs() - this.#startMs;
    this.#lines = new CallLines(options.mode, nowMs);
    options.onLines?.(this.#lines);
    this.#turns = new CallerTurns(this.#clock, this.#lines);
    this.#line = options.openLine({
      onMessage: (message) => {
        this.#lines.message(message);
        this.#turns.message(message);
      },
      onDigits: (keys) => this.#lines.keys('agent', keys),
      onTransfer: (target) => this.#transfer(target),
      onAgentSpeaks: (isSpeaking, agoMs) => this.#lines.agentSpeaks(isSpeaking, agoMs),
    });
    this.#caller = options.caller(nowMs);
  }

  async run(): Promise<HeldCall> {
    const { engine, request, mode, signal, maxDurationMs } = this.#options;
    signal.throwIfAborted();
    const session = await engine.createSession({
      ...request,
      transport: this.#line.transport,
      consult: ({ target }) => this.#transfer(target),
      observe: (event) => {
        this.#lines.event(event);
        if (mode === 'text' && event.type === 'speaking' && event.who === 'agent') {
          this.#lines.agentSpeaks(event.isSpeaking);
        }
        this.#turns.event(event);
      },
    });
    this.#startMs = this.#clock.nowMs();
    const stop = (): void => void session.close();
    signal.addEventListener('abort', stop, { once: true });
    let cancelLimit: Cancel = () => undefined;
    try {
      let report: SessionReport | null = null;
      const running = session.run().then((done) => (report = done));
      this.#line.connect();
      cancelLimit = this.#clock.schedule(this.#startMs + maxDurationMs, () => this.#hangUp('limit'));
      let isCalling = true;
      const calling = this.#call()
        .catch((error: unknown) => this.#onCallerFailed(error))
        .finally(() => (isCalling = false));
      await this.#pass(() => report !== null);
      const done = await running;
      this.#turns.over();
      // The call may end during a pause of the caller's.
      await this.#pass(() => !isCalling);
      await calling;
      signal.throwIfAborted();
      if (done.status === 'timeout' && this.#endedBy === 'agent') this.#endedBy = 'limit';
      this.#lines.end(done, this.#endedBy);
      return {
        lines: this.#lines,
        report: done,
        failure: this.#failure,
        error: this.#error,
        reachedLimit: this.#endedBy === 'limit' && done.status !== 'timeout',
      };
    } finally {
      cancelLimit();
      signal.removeEventListener('abort', stop);
      await this.#line.release();
      await session.close();
    }
  }

  /** Lets time pass until the call is over. */
  async #pass(isOver: () => boolean): Promise<void> {
    const clock = this.#clock;
    if (!(clock instanceof VirtualClock)) return;
    const limitMs = this.#startMs + this.#options.maxDurationMs + AFTER_CALL_MS;
    if (await clock.runUntil(isOver, limitMs)) return;
    this.#error ??= 'the call does not end';
    this.#line.hangUp();
    await clock.runUntil(isOver);
  }

  async #call(): Promise<void> {
    const { request } = this.#options;
    const caller = this.#caller;
    this.#turns.onAgentStarts = () => caller.bargeIn?.(this.#turns.view(this.#turn, false)) ?? null;
    let patienceMs = firstPatienceMs(caller, request.direction === 'outbound');
    let isSilent = false;
    for (;;) {
      const reason = isSilent && !this.#turns.isOver ? 'agent silent' : await this.#turns.wait(caller, patienceMs);
      isSilent = false;
      patienceMs = caller.patienceMs;
      if (reason === 'call over') return;
      if (reason === 'barge-in') {
        await this.#interrupt();
        continue;
      }
      const view = this.#turns.view(this.#turn, reason === 'agent silent');
      const moves = await this.#decided(caller.next(view, this.#options.signal));
      if (moves.length > 0) this.#turns.answer();
      for (const move of moves) {
        if (this.#turns.isOver) return;
        await this.#do(move);
      }
      if (moves.length === 0) isSilent = await this.#listenOn(view.agentSaid);
    }
  }

  /** A caller who says nothing hears more, or waits for a while. Resolves to whether that was in vain. */
  async #listenOn(agentSaid: string): Promise<boolean> {
    const untilMs = this.#clock.nowMs() + this.#caller.reactionMs + this.#caller.patienceMs;
    while (!this.#turns.isOver && this.#turns.agentSaid === agentSaid && this.#clock.nowMs() < untilMs) {
      await this.#sleep(100);
    }
    return this.#turns.agentSaid === agentSaid && this.#turns.isQuiet;
  }

  /** Deciding takes no time of the call. */
  #decided<T>(work: T | Promise<T>): Promise<T> {
    return this.#clock.settle(Promise.resolve(work), this.#clock.nowMs());
  }

  async #interrupt(): Promise<void> {
    const bargeIn = this.#turns.takeBargeIn();
    if (bargeIn === null) return;
    await this.#sleep(bargeIn.afterMs);
    if (this.#turns.isOver) return;
    this.#turns.answer();
    await this.#do({ say: bargeIn.say });
  }

  async #do(move: CallerMove): Promise<void> {
    if ('hangUp' in move) this.#hangUp('caller');
    else if ('waitMs' in move) await this.#wait(move.waitMs);
    else if ('press' in move) await this.#press(move.press);
    else if ('beep' in move) await this.#beep();
    else if ('play' in move) await this.#say(move.text, () => Promise.resolve(move.play));
    else {
      if (move.afterMs !== undefined) await this.#sleep(move.afterMs);
      const { speak } = this.#options;
      await this.#say(move.say, speak === null ? null : () => speak(move));
    }
  }

  async #say(text: string, sound: (() => Promise<CallerAudio>) | null): Promise<void> {
    const audio = sound === null || this.#options.speak === null ? null : await this.#decided(sound());
    if (this.#turns.isOver) return;
    this.#turn++;
    const finished = this.#lines.callerSpeaks(text);
    await this.#line.say({ text, audio });
    finished();
    this.#turns.answer();
  }

  async #press(keys: string): Promise<void> {
    this.#turn++;
    this.#lines.keys('caller', keys);
    await this.#line.press(keys);
    this.#turns.answer();
  }

  async #beep(): Promise<void> {
    if (this.#options.speak !== null) await this.#line.say({ text: '', audio: BEEP });
  }

  async #wait(ms: number): Promise<void> {
    this.#lines.callerIsSilent();
    await this.#sleep(ms);
  }

  async #sleep(ms: number): Promise<void> {
    const untilMs = this.#clock.nowMs() + ms;
    // In pieces, so that the end of the call ends the wait.
    while (!this.#turns.isOver && this.#clock.nowMs() < untilMs) {
      await delay(this.#clock, Math.min(500, untilMs - this.#clock.nowMs()));
    }
  }

  #hangUp(by: 'caller' | 'limit'): void {
    if (this.#turns.isOver) return;
    this.#endedBy = by;
    this.#line.hangUp();
  }

  async #transfer(target: string): Promise<TransferOutcome> {
    const outcome = this.#options.transferOutcome(target);
    await delay(this.#clock, RING_MS);
    this.#lines.transfer(target, outcome);
    return outcome === 'ok' ? { ok: true } : { ok: false, reason: outcome };
  }

  #onCallerFailed(error: unknown): void {
    if (error instanceof CallerError && error.kind === 'failed') this.#failure = error.message;
    else if (!this.#options.signal.aborted) this.#error = reasonOf(error);
    this.#hangUp('caller');
  }
}

function firstPatienceMs({ speaksAtOnce, patienceMs }: SimulatedCaller, isCalled: boolean): number {
  if (speaksAtOnce === true) return 0;
  return isCalled ? HELLO_MS : Math.min(FIRST_WORD_MS, patienceMs);
}

const BEEP_RATE_HZ = 8_000;
const BEEP_MS = 500;
const BEEP = beep();

/** The tone of a mailbox. */
function beep(): CallerAudio {
  const samples = new Int16Array(msToSamples(BEEP_MS, BEEP_RATE_HZ));
  new ToneGenerator(BEEP_RATE_HZ, { frequenciesHz: [1_000], levelDbfs: -12, cadenceMs: [BEEP_MS], repeat: false }).read(
    samples,
  );
  return { sampleRateHz: BEEP_RATE_HZ, samples };
}

/** Why the caller's turn has come. */
export type TurnReason = 'agent finished' | 'agent silent' | 'barge-in' | 'call over';

/** An answer that was announced and does not come is given up after this long, in ms. */
const ANNOUNCED_MS = 10_000;

/**
 * Watches the agent on the caller's behalf: when it speaks, when it works, and when its turn is over. A caller does not
 * answer while a tool runs or an answer is on its way: people wait after "one moment".
 */
export class CallerTurns {
  readonly #clock: Clock;
  readonly #lines: CallLines;
  readonly #tools = new Set<string>();
  #isSpeaking = false;
  #quietFromMs: number;
  #announcedMs: number | null = null;
  #bargeIn: BargeIn | null = null;
  #isOver = false;
  /** Up to here the agent's words have been answered: the number of an answer, and characters of it. */
  #answered = { answer: -1, chars: 0 };
  #changed: () => void = () => undefined;
  /** Asked when the agent begins to speak. */
  onAgentStarts: (() => BargeIn | null) | null = null;

  constructor(clock: Clock, lines: CallLines) {
    this.#clock = clock;
    this.#lines = lines;
    this.#quietFromMs = clock.nowMs();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The agent does not speak, and nothing that it does lets the caller expect that it will. */
  get isQuiet(): boolean {
    return !this.#isSpeaking && this.#readyMs <= this.#clock.nowMs();
  }

  event(event: SessionEvent): void {
    if (event.type === 'toolStarted') this.#tools.add(event.call.id);
    else if (event.type === 'tool') {
      this.#tools.delete(event.call.id);
      this.#quietFromMs = Math.max(this.#quietFromMs, this.#clock.nowMs());
    } else if (event.type === 'speaking' && event.who === 'agent') this.#speaks(event.isSpeaking);
    else if (event.type === 'ended') this.over();
    this.#changed();
  }

  message(message: TransportMessage): void {
    if (message.type === 'answering') this.#announcedMs = this.#clock.nowMs();
    else if (message.type === 'clear') this.#announcedMs = null;
    this.#changed();
  }

  over(): void {
    this.#isOver = true;
    this.#changed();
  }

  /** What the agent has said since the caller's last move. */
  get agentSaid(): string {
    return this.#lines.answers
      .filter(([number]) => number >= this.#answered.answer)
      .map(([number, { text }]) => (number === this.#answered.answer ? text.slice(this.#answered.chars) : text))
      .join(' ')
      .trim();
  }

  /** The caller answers what the agent has said so far. */
  answer(): void {
    const last = this.#lines.answers.at(-1);
    if (last !== undefined) this.#answered = { answer: last[0], chars: last[1].text.length };
    this.#quietFromMs = Math.max(this.#quietFromMs, this.#clock.nowMs());
  }

  /** What the caller says over the agent. Null = nothing; asked once. */
  takeBargeIn(): BargeIn | null {
    const bargeIn = this.#bargeIn;
    this.#bargeIn = null;
    return bargeIn;
  }

  /**
   * Resolves when the caller's turn has come.
   * @param patienceMs how long the agent may say nothing
   */
  async wait({ reactionMs }: Pick<SimulatedCaller, 'reactionMs'>, patienceMs: number): Promise<TurnReason> {
    const fromMs = this.#clock.nowMs();
    for (;;) {
      const nowMs = this.#clock.nowMs();
      if (this.#isOver) return 'call over';
      if (this.#bargeIn !== null) return 'barge-in';
      const finishedMs = this.agentSaid === '' ? Number.POSITIVE_INFINITY : this.#quietFromMs + reactionMs;
      const silentMs = Math.max(fromMs, this.#quietFromMs) + patienceMs;
      const readyMs = this.#readyMs;
      if (!this.#isSpeaking && nowMs >= Math.max(finishedMs, readyMs)) return 'agent finished';
      if (!this.#isSpeaking && nowMs >= Math.max(silentMs, readyMs)) return 'agent silent';
      const dueMs = Math.max(Math.min(finishedMs, silentMs), readyMs);
      await this.#next(this.#isSpeaking || !Number.isFinite(dueMs) ? null : dueMs);
    }
  }

  /** When the agent can be expected to be done: at once, unless it works or has announced an answer. */
  get #readyMs(): number {
    if (this.#tools.size > 0) return Number.POSITIVE_INFINITY;
    return this.#announcedMs === null ? 0 : this.#announcedMs + ANNOUNCED_MS;
  }

  view(turn: number, agentIsSilent: boolean): CallerView {
    const transcript = this.#lines.lines.flatMap((line) =>
      line.type === 'agent' || line.type === 'caller' ? [{ who: line.type, text: line.text }] : [],
    );
    return { agentSaid: this.agentSaid, transcript, turn, agentIsSilent };
  }

  #speaks(isSpeaking: boolean): void {
    const begins = isSpeaking && !this.#isSpeaking;
    this.#isSpeaking = isSpeaking;
    if (isSpeaking) this.#announcedMs = null;
    else this.#quietFromMs = this.#clock.nowMs();
    if (begins) this.#bargeIn ??= this.onAgentStarts?.() ?? null;
  }

  /** Resolves at the next change, or at `dueMs`; null = at a change only. */
  #next(dueMs: number | null): Promise<void> {
    return new Promise((resolve) => {
      const cancel = dueMs === null ? () => undefined : this.#clock.schedule(dueMs, () => this.#changed());
      this.#changed = () => {
        cancel();
        this.#changed = () => undefined;
        resolve();
      };
    });
  }
}
