import type { QueueExitSettings, QueueSettings } from '../../agent/extensions/queue.js';
import type { Cancel } from '../../base/clock.js';
import { errorOf, ParleyError } from '../../base/errors.js';
import type { Engine } from '../../engine/engine.js';
import { setOr } from '../../schema/field.js';
import type { AgentRequest } from '../../engine/options.js';
import type { SessionLine } from '../../engine/remote-line.js';
import type { MayTransfer } from '../../session/line/line-actions.js';
import type { QueueExit, QueueFacts } from '../../session/record/call-history.js';
import type { StoredCall } from '../../store/calls.js';
import type { AgentCall } from '../../telephony/calls/agent-call.js';
import { silentStatus } from '../../telephony/calls/call-status.js';
import type { CallRefusal } from '../../telephony/carriers/carrier.js';
import type { AdmissionControl } from '../admission-control.js';
import type { CallEventBus } from '../call-event-bus.js';
import type { CallLog } from '../call-log/call-log.js';
import { type CallBacks, PromisedCall } from './call-backs.js';
import { Voicemail } from './voicemail.js';
import type { Outlook, QueuePhrases } from './queue-phrases.js';
import { isOpen, priorityOf } from './queue-rules.js';
import { type QueuedCall, WaitingCall } from './waiting-call.js';
import { CallLengths, WaitingList } from './waiting-list.js';

export interface CallQueuesOptions {
  engine: Pick<Engine, 'clock' | 'openWaiting' | 'sessions'>;
  admission: AdmissionControl;
  events: CallEventBus;
  log: CallLog;
  /** Calls people back. */
  callBacks: CallBacks;
  /** Milliseconds since 1970. */
  nowUnixMs: () => number;
  /** Of opening hours that name none, and whose agent names none. */
  timezone: string;
  onError: (error: Error) => void;
}

/** A call to an agent or a number with a queue. */
export interface JoiningCall {
  /** The session that it will get. */
  id: string;
  queueId: string;
  settings: QueueSettings;
  call: QueuedCall;
  /** When it came, by the engine's clock. */
  sinceMs: number;
  request: AgentRequest;
  mayTransfer: MayTransfer;
  /** It is in the queue: writes it to the log. */
  begin: (facts: QueueFacts) => void;
  /** A session is free for it: takes the place, before anybody else can. */
  take: () => void;
}

/** The session of a call that has waited; a voicemail says nothing and records. */
export type QueueTurn = { line: SessionLine; voicemail: Voicemail | null } | CallRefusal;

/** A queue as programs see it. */
export interface QueueState {
  id: string;
  settings: QueueSettings;
  /** Sessions of its calls. */
  active: number;
  waiting: readonly (WaitingCall | PromisedCall)[];
}

/** How often to look for a free session while calls wait. Its place is kept for them meanwhile. */
const POLL_MS = 200;
const LIMIT = 20;
const VOICEMAIL_S = 120;
const REFUSE: QueueExitSettings = { action: 'refuse' };
const MESSAGE: QueueExitSettings = { action: 'message' };

interface OpenQueue {
  settings: QueueSettings;
  /** Sessions of its calls that go on or are about to start. */
  readonly active: Set<string>;
  readonly lengths: CallLengths;
}

/** The calls of this node that wait for sessions. */
export class CallQueues {
  /** Calls that have left queues, by queue and how they left, with the seconds that they waited. */
  onLeft: (queueId: string, left: QueueExit, waitedS: number) => void = () => undefined;
  readonly #options: CallQueuesOptions;
  readonly #waiting = new WaitingList<WaitingCall | PromisedCall>();
  readonly #queues = new Map<string, OpenQueue>();
  /** Of all calls, whose sessions all queues wait for. */
  readonly #lengths = new CallLengths();
  /** Calls that have left the queue without a session and have not ended. */
  readonly #leaving = new Set<WaitingCall>();
  readonly #voicemails = new Map<string, Voicemail>();
  readonly #joined = new Set<Promise<unknown>>();
  #cancelPoll: Cancel | null = null;
  #isDraining = false;
  #isClosed = false;

  constructor(options: CallQueuesOptions) {
    this.#options = options;
    const { admission, events } = options;
    admission.count({
      waiting: (number) => this.#reservedFor(number),
      apart: () => this.#recording,
      calls: () => this.#calls + this.#leaving.size,
    });
    events.on('call.created', ({ direction, campaignId, toPhone }) => {
      if (direction === 'outbound' && campaignId !== null) this.#calledBack(campaignId, toPhone);
    });
    events.on('call.ended', (call) => this.#noteEnd(call));
  }

  /** The queues that have calls. */
  get states(): QueueState[] {
    return [...this.#queues].map(([id, { settings, active }]) => {
      return { id, settings, active: active.size, waiting: this.#waiting.of(id) };
    });
  }

  /** Whether a newcomer waits, or finds the queue closed. */
  stops(queueId: string, { agent }: AgentRequest, settings: QueueSettings): boolean {
    return !this.#isOpen(settings, agent) || this.#isFull(queueId, settings);
  }

  /** A call of the queue gets a session. `over` follows. */
  enter(queueId: string, settings: QueueSettings, sessionId: string): void {
    this.#queue(queueId, settings).active.add(sessionId);
  }

  /** The agent's call of a session. */
  answered(call: AgentCall): void {
    const { sessionId } = call;
    const voicemail = this.#voicemails.get(sessionId);
    if (voicemail !== undefined) void call.answered.then((session) => session && voicemail.listen(session));
    void call.finished.then(() => this.over(sessionId));
  }

  /** A session of `enter` is over, or there will be none. May be called twice, and for others. */
  over(sessionId: string): void {
    this.#voicemails.get(sessionId)?.close();
    this.#voicemails.delete(sessionId);
    for (const [id, { active }] of this.#queues) {
      if (active.delete(sessionId)) this.#forget(id);
    }
    this.#pump();
  }

  /**
   * Lets a call wait for its turn. Resolves with the line for its session, which counts as one of the queue's from then
   * on, or with why there is none.
   */
  join(joining: JoiningCall): Promise<QueueTurn> {
    const joined = this.#join(joining).finally(() => this.#joined.delete(joined));
    this.#joined.add(joined);
    return joined;
  }

  /** @throws ParleyError NOT_FOUND for a call that does not wait */
  prioritise(id: string, minutes: number): WaitingCall | PromisedCall {
    const waiting = this.#find(id);
    this.#waiting.prioritise(waiting, minutes);
    return waiting;
  }

  /** Ends the wait of a call: the caller is told so. @throws ParleyError NOT_FOUND */
  remove(id: string): void {
    const waiting = this.#find(id);
    this.#waiting.remove(id);
    if (waiting instanceof WaitingCall) waiting.leave('removed');
    this.#forget(waiting.queueId);
  }

  /** The place of a call and the estimated wait. */
  outlookOf(waiting: WaitingCall | PromisedCall): Outlook {
    const { admission } = this.#options;
    const position = this.#waiting.positionOf(waiting);
    const queue = this.#queues.get(waiting.queueId);
    // The queue's own limit, or else the sessions of all: whichever it waits for.
    const own = queue?.settings.max_calls ?? null;
    if (queue !== undefined && own !== null && queue.active.size >= own) {
      return { position, waitMs: queue.lengths.waitMs(position, own) };
    }
    const place = this.#waiting.all().indexOf(waiting) + 1;
    return { position, waitMs: this.#lengths.waitMs(place, admission.maxSessions) };
  }

  /** Those who wait overflow: no session will be free for them. */
  drain(): void {
    this.#isDraining = true;
    for (const waiting of Array.from(this.#waiting.all())) {
      if (waiting instanceof WaitingCall) waiting.leave('overflow');
    }
  }

  /** Ends what still waits. Resolves when the log has it. May be called twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.drain();
    this.#cancelPoll?.();
    for (const { call } of this.#leaving) call.hangUp();
    for (const voicemail of this.#voicemails.values()) voicemail.close();
    await Promise.all(this.#joined);
  }

  async #join(joining: JoiningCall): Promise<QueueTurn> {
    const { settings, queueId, call, request } = joining;
    const { from, to } = call;
    const priority = priorityOf(settings, { from, to, metadata: request.metadata ?? {} });
    const closed = this.#isOpen(settings, request.agent) ? null : 'closed';
    const isFull = this.#isDraining || this.#calling(queueId).length >= (settings.limit ?? LIMIT);
    const turnedAway = closed ?? (isFull ? 'overflow' : null);
    // Nothing is said about a call that is refused as if there were no queue.
    const { action } = this.#exitOf(settings, turnedAway ?? 'overflow');
    if (turnedAway !== null && action === 'refuse') {
      this.onLeft(queueId, turnedAway, 0);
      return turnedAway === 'closed' ? 'unavailable' : 'full';
    }
    this.#queue(queueId, settings);
    const waiting = this.#newCall(joining, priority);
    if (turnedAway === null) this.#waiting.add(waiting);
    const position = this.#waiting.positionOf(waiting);
    const facts = (left: QueueExit | null): QueueFacts => ({
      id: queueId,
      position,
      priority: waiting.priority,
      waited: left === null ? null : Math.round(this.#nowMs() - waiting.sinceMs) / 1000,
      left,
    });
    joining.begin(facts(null));
    this.#poll();
    if (turnedAway !== null) waiting.leave(turnedAway);
    const exit = await waiting.wait();
    this.#waiting.remove(waiting.id);
    const waited = facts(exit);
    const left = exit === 'answered' ? exit : await this.#depart(waiting, exit);
    this.onLeft(queueId, left, waited.waited ?? 0);
    this.#options.log.noteQueue(waiting.id, { ...waited, left });
    if (left === 'answered') return { line: waiting.line, voicemail: null };
    if (left === 'voicemail') return { line: waiting.line, voicemail: this.#newVoicemail(joining) };
    await this.#logEnd(waiting, left).catch((error: unknown) => this.#options.onError(errorOf(error)));
    return 'full';
  }

  #newCall(joining: JoiningCall, priority: number): WaitingCall {
    const { engine, callBacks, onError } = this.#options;
    const { queueId, call } = joining;
    return new WaitingCall({
      ...joining,
      priority,
      engine,
      outlook: (waiting) => this.outlookOf(waiting),
      readNumber: (text) => callBacks.read(text, call.to),
      promise: (number) => this.#promise(joining, number),
      onFault: (reason) => onError(new Error(`the queue ${queueId}: ${reason}`)),
    });
  }

  /** Carries out how a call leaves. @returns how it has left */
  async #depart(waiting: WaitingCall, exit: QueueExit): Promise<QueueExit> {
    const { onError } = this.#options;
    if (exit === 'abandoned') return exit;
    this.#leaving.add(waiting);
    if (this.#isClosed) waiting.call.hangUp('full');
    try {
      const text = (phrases: QueuePhrases): string =>
        exit === 'callback' ? phrases.promised : exit === 'closed' ? phrases.closed : phrases.full;
      return await waiting.depart(exit, this.#exitOf(waiting.settings, exit), text);
    } catch (error) {
      onError(errorOf(error));
      waiting.call.hangUp('failed');
      return 'failed';
    } finally {
      this.#leaving.delete(waiting);
      this.#forget(waiting.queueId);
    }
  }

  #exitOf({ overflow, hours }: QueueSettings, exit: QueueExit): QueueExitSettings {
    const set = exit === 'closed' ? (hours?.closed ?? MESSAGE) : exit === 'overflow' ? (overflow ?? REFUSE) : MESSAGE;
    if (
      set.action !== 'voicemail' ||
      (this.#voicemails.size < this.#options.admission.maxSessions && !this.#isDraining)
    ) {
      return set;
    }
    return MESSAGE;
  }

  async #logEnd({ id, call }: WaitingCall, left: QueueExit): Promise<void> {
    const record = call.record();
    await this.#options.log.fail(id, statusOf(call, left), null, record === null ? null : { ...record });
  }

  #newVoicemail({ id, settings }: JoiningCall): Voicemail {
    const voicemail = new Voicemail(this.#options.engine.clock, settings.voicemail_limit ?? VOICEMAIL_S);
    this.#voicemails.set(id, voicemail);
    return voicemail;
  }

  /** @returns whether the caller will be called back */
  async #promise({ id, queueId, settings, call, sinceMs, request }: JoiningCall, number: string): Promise<boolean> {
    const { callBacks, onError } = this.#options;
    const metadata = { ...request.metadata, callback_of: id };
    const campaign = settings.callback?.campaign ?? null;
    try {
      const promised = await callBacks.add({ queueId, campaign, from: call.to, to: number, metadata });
      const waiting = this.#waiting.find(id);
      // The caller keeps the place in the queue, unless the campaign calls at other times.
      if (promised.isDue && waiting !== null) {
        const { campaignId } = promised;
        const place = { id: `${id} callback`, queueId, sinceMs, priority: waiting.priority };
        this.#waiting.add(new PromisedCall({ ...place, number, campaignId }));
      }
      return true;
    } catch (error) {
      onError(errorOf(error));
      return false;
    }
  }

  /** Gives free sessions to those whose turn it is. */
  #pump(): void {
    const { admission, callBacks } = this.#options;
    for (const waiting of Array.from(this.#waiting.all())) {
      if (this.#isDue(waiting)) continue;
      if (admission.room - this.#due.length <= 0) break;
      const queue = this.#queues.get(waiting.queueId);
      if (queue === undefined || queue.active.size >= mostOf(queue)) continue;
      if (waiting instanceof PromisedCall) {
        waiting.turn(this.#nowMs());
        callBacks.wake();
      } else {
        this.#waiting.remove(waiting.id);
        if (waiting.answer()) queue.active.add(waiting.id);
      }
    }
  }

  /** Whether it is the turn of a call back, which has not been dialled yet. One that is not in time loses its place. */
  #isDue(waiting: WaitingCall | PromisedCall): boolean {
    if (!(waiting instanceof PromisedCall)) return false;
    if (waiting.isLate(this.#nowMs())) {
      this.#waiting.remove(waiting.id);
      this.#forget(waiting.queueId);
    }
    return waiting.isTurn;
  }

  get #due(): PromisedCall[] {
    return this.#waiting
      .all()
      .filter((one) => one instanceof PromisedCall)
      .filter(({ isTurn }) => isTurn);
  }

  /** A campaign calls somebody. */
  #calledBack(campaignId: string, number: string | null): void {
    for (const one of Array.from(this.#waiting.all())) {
      if (!(one instanceof PromisedCall) || one.campaignId !== campaignId || one.number !== number) continue;
      this.#waiting.remove(one.id);
      this.#forget(one.queueId);
    }
  }

  #poll(): void {
    if (this.#cancelPoll !== null || this.#isClosed) return;
    const { clock } = this.#options.engine;
    const next = (): void => {
      this.#cancelPoll = null;
      this.#pump();
      for (const waiting of this.#waiting.all()) if (waiting instanceof WaitingCall) waiting.tellPlace();
      if (this.#waiting.size > 0) this.#poll();
    };
    this.#cancelPoll = clock.schedule(clock.nowMs() + POLL_MS, next);
  }

  /**
   * Places that are kept for waiting calls which could have the next sessions.
   * @param number who is about to be called; a person who was promised that finds none taken when it is their turn
   */
  #reservedFor(number: string | null): number {
    if (number !== null && this.#due.some((promised) => promised.number === number)) return 0;
    let ready = 0;
    for (const [id, queue] of this.#queues) {
      ready += Math.max(0, Math.min(this.#waiting.of(id).length, mostOf(queue) - queue.active.size));
    }
    return ready;
  }

  get #calls(): number {
    return this.#waiting.all().filter((waiting) => waiting instanceof WaitingCall).length;
  }

  /** The calls of a queue whose callers are on the line. */
  #calling(queueId: string): WaitingCall[] {
    return this.#waiting.of(queueId).filter((waiting) => waiting instanceof WaitingCall);
  }

  /** Sessions that record messages. */
  get #recording(): number {
    if (this.#voicemails.size === 0) return 0;
    return [...this.#options.engine.sessions].filter(({ id }) => this.#voicemails.has(id)).length;
  }

  #isFull(queueId: string, { max_calls: most }: QueueSettings): boolean {
    if (most == null) return false;
    return (this.#queues.get(queueId)?.active.size ?? 0) + this.#waiting.of(queueId).length >= most;
  }

  #isOpen({ hours }: QueueSettings, { timezone }: AgentRequest['agent']): boolean {
    return hours == null || isOpen(hours, setOr(timezone, this.#options.timezone), this.#options.nowUnixMs());
  }

  #noteEnd({ sessionId, channel, item }: StoredCall): void {
    if (channel === 'chat' || item.duration <= 0 || this.#voicemails.has(sessionId)) return;
    this.#lengths.add(item.duration * 1000);
    for (const { active, lengths } of this.#queues.values()) {
      if (active.has(sessionId)) lengths.add(item.duration * 1000);
    }
  }

  #find(id: string): WaitingCall | PromisedCall {
    const waiting = this.#waiting.find(id);
    if (waiting === null) throw new ParleyError('NOT_FOUND', { what: 'waiting call', id });
    return waiting;
  }

  #queue(id: string, settings: QueueSettings): OpenQueue {
    const known = this.#queues.get(id) ?? { settings, active: new Set<string>(), lengths: new CallLengths() };
    known.settings = settings;
    this.#queues.set(id, known);
    return known;
  }

  /** Its lengths go with a queue that is limited by sessions alone: those of all calls serve. */
  #forget(id: string): void {
    const queue = this.#queues.get(id);
    if (queue === undefined || queue.active.size > 0 || queue.settings.max_calls != null) return;
    const isLeaving = [...this.#leaving].some(({ queueId }) => queueId === id);
    if (!isLeaving && this.#waiting.of(id).length === 0) this.#queues.delete(id);
  }

  #nowMs(): number {
    return this.#options.engine.clock.nowMs();
  }
}

function mostOf({ settings }: OpenQueue): number {
  return settings.max_calls ?? Number.POSITIVE_INFINITY;
}

function statusOf(call: QueuedCall, left: QueueExit): string {
  const wasAnswered = (call.record()?.answeredMs ?? null) !== null;
  if (left === 'failed') return 'failed';
  if (left !== 'abandoned') return wasAnswered ? 'agent-ended' : 'canceled';
  return silentStatus(call.end ?? { cause: 'hangup', by: 'remote', reason: '' }, wasAnswered);
}
