import type { QueueSettings } from '../../agent/extensions/queue.js';
import type { Cancel } from '../../base/clock.js';
import { errorOf } from '../../base/errors.js';
import type { Engine } from '../../engine/engine.js';
import type { AgentRequest } from '../../engine/options.js';
import type { SessionLine } from '../../engine/remote-line.js';
import type { QueueExit, QueueFacts } from '../../session/record/call-history.js';
import type { StoredCall } from '../../store/calls.js';
import { silentStatus } from '../../telephony/calls/call-status.js';
import type { CallRefusal, CarrierCall } from '../../telephony/carriers/carrier.js';
import type { AdmissionControl } from '../admission-control.js';
import type { CallEventBus } from '../call-event-bus.js';
import type { CallLog } from '../call-log/call-log.js';
import type { Outlook } from './queue-phrases.js';
import { WaitingCall } from './waiting-call.js';
import { CallLengths, WaitingList } from './waiting-list.js';

export interface CallQueuesOptions {
  engine: Pick<Engine, 'clock' | 'openWaiting'>;
  admission: AdmissionControl;
  events: CallEventBus;
  log: CallLog;
  onError: (error: Error) => void;
}

/** A call that finds no free session. */
export interface JoiningCall {
  /** The session that it will get. */
  id: string;
  queueId: string;
  settings: QueueSettings;
  call: CarrierCall<SessionLine>;
  /** When it came, by the engine's clock. */
  sinceMs: number;
  request: AgentRequest;
  /** It is in the queue: writes it to the log. */
  begin: (facts: QueueFacts) => void;
  /** A session is free for it: takes the place, before anybody else can. */
  take: () => void;
}

/** How often to look for a free session while calls wait. Its place is kept for them meanwhile. */
const POLL_MS = 200;
const LIMIT = 20;

interface OpenQueue {
  settings: QueueSettings;
  /** Sessions of its calls that go on or are about to start. */
  readonly active: Set<string>;
  readonly lengths: CallLengths;
}

/** The calls of this node that wait for sessions. */
export class CallQueues {
  readonly #options: CallQueuesOptions;
  readonly #waiting = new WaitingList<WaitingCall>();
  readonly #queues = new Map<string, OpenQueue>();
  /** Of all calls, whose sessions all queues wait for. */
  readonly #lengths = new CallLengths();
  /** Calls that have left the queue without a session and have not ended. */
  readonly #leaving = new Set<WaitingCall>();
  #cancelPoll: Cancel | null = null;
  readonly #joined = new Set<Promise<unknown>>();
  #isDraining = false;
  #isClosed = false;

  constructor(options: CallQueuesOptions) {
    this.#options = options;
    const { admission, events } = options;
    admission.count({ waiting: () => this.#ready, calls: () => this.#waiting.size + this.#leaving.size });
    events.on('call.ended', (call) => this.#noteEnd(call));
  }

  /** Whether a newcomer finds all calls of the queue's agent taken. */
  isFull(queueId: string, { max_calls: most }: QueueSettings): boolean {
    if (most == null) return false;
    return (this.#queues.get(queueId)?.active.size ?? 0) + this.#waiting.of(queueId).length >= most;
  }

  /** A call of the queue gets a session. `over` follows. */
  enter(queueId: string, settings: QueueSettings, sessionId: string): void {
    this.#queue(queueId, settings).active.add(sessionId);
  }

  /** A session of `enter` is over, or there will be none. May be called twice, and for others. */
  over(sessionId: string): void {
    for (const [id, { active }] of this.#queues) {
      if (active.delete(sessionId)) this.#forget(id);
    }
    this.#pump();
  }

  /**
   * Lets a call wait for its turn. Resolves with the line for its session, which counts as one of the queue's from then
   * on, or with why there is none.
   */
  join(joining: JoiningCall): Promise<{ line: SessionLine } | CallRefusal> {
    const joined = this.#join(joining).finally(() => this.#joined.delete(joined));
    this.#joined.add(joined);
    return joined;
  }

  async #join(joining: JoiningCall): Promise<{ line: SessionLine } | CallRefusal> {
    const { settings, queueId, begin } = joining;
    if (this.#isDraining || this.#waiting.of(queueId).length >= (settings.limit ?? LIMIT)) return 'full';
    this.#queue(queueId, settings);
    const { engine, onError } = this.#options;
    const waiting = new WaitingCall({
      ...joining,
      priority: 0,
      engine,
      outlook: (call) => this.#outlookOf(call),
      onFault: (reason) => onError(new Error(`the queue ${queueId}: ${reason}`)),
    });
    this.#waiting.add(waiting);
    const position = this.#waiting.positionOf(waiting);
    const facts = (left: QueueExit | null): QueueFacts => ({
      id: queueId,
      position,
      priority: waiting.priority,
      waited: left === null ? null : Math.round(engine.clock.nowMs() - waiting.sinceMs) / 1000,
      left,
    });
    begin(facts(null));
    this.#poll();
    const exit = await waiting.wait();
    this.#waiting.remove(waiting.id);
    this.#options.log.noteQueue(waiting.id, facts(exit));
    if (exit === 'answered') return { line: waiting.line };
    await this.#leave(waiting, exit).catch((error: unknown) => onError(errorOf(error)));
    return 'full';
  }

  /** Those who wait are told so: no session will be free for them. */
  drain(): void {
    this.#isDraining = true;
    for (const waiting of Array.from(this.#waiting.all())) waiting.leave('overflow');
  }

  /** Ends what still waits. Resolves when the log has it. May be called twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.drain();
    this.#cancelPoll?.();
    for (const { call } of this.#leaving) call.hangUp();
    await Promise.all(this.#joined);
  }

  async #leave(waiting: WaitingCall, exit: QueueExit): Promise<void> {
    const { call } = waiting;
    this.#leaving.add(waiting);
    if (this.#isClosed) call.hangUp('full');
    const wasAnswered = call.state === 'answered' || call.record().answeredMs !== null;
    if (exit !== 'abandoned') await waiting.end(exit === 'failed' ? 'failed' : 'full', (phrases) => phrases.full);
    this.#leaving.delete(waiting);
    this.#forget(waiting.queueId);
    const status = statusOf(waiting, exit, wasAnswered);
    await this.#options.log.fail(waiting.id, status, null, { ...call.record() });
  }

  /** Gives free sessions to those whose turn it is. */
  #pump(): void {
    const { admission } = this.#options;
    for (const waiting of Array.from(this.#waiting.all())) {
      if (!admission.hasRoom) break;
      const queue = this.#queues.get(waiting.queueId);
      if (queue === undefined || queue.active.size >= mostOf(queue)) continue;
      this.#waiting.remove(waiting.id);
      if (waiting.answer()) queue.active.add(waiting.id);
    }
  }

  #poll(): void {
    if (this.#cancelPoll !== null) return;
    const { clock } = this.#options.engine;
    const next = (): void => {
      this.#cancelPoll = null;
      this.#pump();
      if (this.#waiting.size > 0) this.#poll();
    };
    this.#cancelPoll = clock.schedule(clock.nowMs() + POLL_MS, next);
  }

  /** Waiting calls that could have the next sessions. */
  get #ready(): number {
    let ready = 0;
    for (const [id, queue] of this.#queues) {
      ready += Math.max(0, Math.min(this.#waiting.of(id).length, mostOf(queue) - queue.active.size));
    }
    return ready;
  }

  #outlookOf(waiting: WaitingCall): Outlook {
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

  #noteEnd({ sessionId, channel, item }: StoredCall): void {
    if (channel === 'chat' || item.duration <= 0) return;
    this.#lengths.add(item.duration * 1000);
    for (const { active, lengths } of this.#queues.values()) {
      if (active.has(sessionId)) lengths.add(item.duration * 1000);
    }
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
    if (this.#waiting.of(id).length === 0) this.#queues.delete(id);
  }
}

function mostOf({ settings }: OpenQueue): number {
  return settings.max_calls ?? Number.POSITIVE_INFINITY;
}

function statusOf({ call }: WaitingCall, exit: QueueExit, wasAnswered: boolean): string {
  if (exit === 'failed') return 'failed';
  if (exit !== 'abandoned') return wasAnswered ? 'agent-ended' : 'canceled';
  const end = call.end ?? { cause: 'hangup', by: 'remote', reason: '' };
  return silentStatus(end, wasAnswered);
}
