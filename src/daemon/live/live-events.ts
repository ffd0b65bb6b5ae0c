import type { CallProgress } from '../../telephony/calls/call-status.js';
import type { ParticipantState } from '../../conversation/control/command.js';
import type { SessionEvent } from '../../session/session-options.js';
import type { TurnMetrics } from '../../session/record/session-metrics.js';
import type { StoredCall } from '../../store/calls.js';
import type { ShownParticipant } from './participant-shape.js';

/** An event for watchers. */
export interface LiveEvent {
  /** Grows by one with each event. */
  readonly id: number;
  /** The session of the event. */
  readonly sessionId: string;
  readonly name: string;
  /** JSON. */
  readonly data: string;
  /** Whether it happened on this node. */
  readonly isOwn: boolean;
}

/** Which events a watcher gets: those of one session, those of this node, or all. */
export type Watched = { readonly sessionId: string } | 'this node' | 'all';

/** A bounded buffer of the latest events, for clients that reconnect. */
export class EventBuffer {
  readonly #maxChars: number;
  readonly #events: LiveEvent[] = [];
  #chars = 0;
  #nextId: number;

  /**
   * @param firstId should be larger than the ids of all earlier processes
   * @param maxChars of the data of all events
   */
  constructor(firstId: number, maxChars: number) {
    this.#nextId = firstId;
    this.#maxChars = maxChars;
  }

  /** The id of the newest event; before the first event, the id before it. */
  get newestId(): number {
    return this.#nextId - 1;
  }

  /** The id of the oldest stored event, or of the next event if none is stored. */
  get oldestId(): number {
    return this.#events[0]?.id ?? this.#nextId;
  }

  add(sessionId: string, name: string, data: string, isOwn = true): LiveEvent {
    const event = { id: this.#nextId++, sessionId, name, data, isOwn };
    this.#events.push(event);
    this.#chars += data.length;
    while (this.#chars > this.#maxChars && this.#events.length > 1)
      this.#chars -= this.#events.shift()?.data.length ?? 0;
    return event;
  }

  /** The first event after an id; null = there is none. */
  after(id: number, watched: Watched): LiveEvent | null {
    for (let at = Math.max(0, id + 1 - this.oldestId); at < this.#events.length; at++) {
      const event = this.#events[at];
      if (event !== undefined && isWatched(event, watched)) return event;
    }
    return null;
  }
}

function isWatched({ sessionId, isOwn }: LiveEvent, watched: Watched): boolean {
  if (watched === 'all') return true;
  return watched === 'this node' ? isOwn : sessionId === watched.sessionId;
}

/** Statuses of calls that are not over. */
export const PROGRESS: ReadonlySet<string> = new Set<CallProgress>([
  'registered',
  'queued',
  'dispatching',
  'initiated',
  'ringing',
  'in-progress',
]);
/** Characters of stored events for clients that reconnect. */
const MAX_CHARS = 8_000_000;

/**
 * Events of calls for watchers, as `eventRoutes` describes them. They have no texts of calls whose agent opts out of data
 * collection.
 */
export class LiveEvents {
  readonly #buffer: EventBuffer;
  readonly #nowUnixMs: () => number;
  /** Running calls, with whether events may include their texts. */
  readonly #includesTexts = new Map<string, boolean>();
  readonly #closing = new AbortController();
  #waiting = new Set<() => void>();

  constructor(nowUnixMs: () => number, maxChars = MAX_CHARS) {
    this.#nowUnixMs = nowUnixMs;
    // Based on the time, so that a later process has larger ids unless a process emits over a million events a second.
    this.#buffer = new EventBuffer(Math.floor(nowUnixMs()) * 1000, maxChars);
  }

  /** Aborts when no more events follow. */
  get closed(): AbortSignal {
    return this.#closing.signal;
  }

  get newestId(): number {
    return this.#buffer.newestId;
  }

  get oldestId(): number {
    return this.#buffer.oldestId;
  }

  /** Reports that a call has started, changed its status or ended. */
  call(call: StoredCall): void {
    const { sessionId, endedUs, status, item } = call;
    // The end follows later, with all data of the call.
    if (endedUs === null && !PROGRESS.has(status)) return;
    if (endedUs === null) {
      this.#includesTexts.set(sessionId, item.agent_config.privacy_settings?.opt_out_data_collection !== true);
    } else this.#includesTexts.delete(sessionId);
    this.#add(sessionId, 'status', statusOf(call));
  }

  /** Reports an event of a session. */
  session(sessionId: string, event: SessionEvent): void {
    // An unknown session may be one that opts out.
    const includesTexts = this.#includesTexts.get(sessionId) ?? false;
    const text = (said: string): string | null => (includesTexts ? said : null);
    switch (event.type) {
      case 'transcript':
        // The turn has the final words.
        if (!event.isFinal) {
          const { turn, segment } = event;
          this.#add(sessionId, 'transcript', { ...spoken('user', text(event.text), false), turn, segment });
        }
        break;
      case 'user':
        this.#add(sessionId, 'transcript', { ...spoken('user', text(event.text), true), turn: event.turn });
        break;
      case 'agent':
        this.#add(sessionId, 'transcript', spoken('agent', text(event.text), true));
        break;
      case 'tool': {
        const { call, ok, result, tookMs } = event;
        const texts = { arguments: text(call.arguments), result: text(result) };
        this.#add(sessionId, 'tool', { id: call.id, name: call.name, ok, took_ms: tookMs, ...texts });
        break;
      }
      case 'answered':
        this.#add(sessionId, 'metrics', metricsOf(event.metrics));
        break;
      case 'speaking':
        this.#add(sessionId, 'speaking', { role: event.who, speaking: event.isSpeaking });
        break;
      case 'interrupted':
        this.#add(sessionId, 'interrupted', { by: event.by });
        break;
      case 'held':
        this.#add(sessionId, 'state', { held: event.on });
        break;
      case 'muted':
        this.#add(sessionId, 'state', event.side === 'user' ? { user_muted: event.on } : { agent_muted: event.on });
        break;
      case 'participant':
        this.participant(sessionId, shownParticipant(event.participant));
        break;
      case 'participantSaid': {
        const { participant: id, name, whispered } = event;
        const words = { role: 'participant', text: text(event.text), is_final: true };
        this.#add(sessionId, 'transcript', { ...words, participant_id: id, name, whispered });
        break;
      }
      case 'step':
        this.#add(sessionId, 'step', { step: event.step });
        break;
      case 'agentUpdated':
        this.#add(sessionId, 'state', { agent_updated: true });
        break;
      case 'handover': {
        const [from, to] = [event.from, event.to].map(({ id, name }) => ({ agent_id: id, name }));
        this.#add(sessionId, 'handover', { from, to, back: event.back });
        break;
      }
      case 'toolStarted': {
        const { id, name, arguments: given } = event.call;
        this.#add(sessionId, 'tool_started', { id, name, arguments: text(given) });
        break;
      }
      case 'toolProgress':
        this.#add(sessionId, 'tool_progress', { id: event.call.id, name: event.call.name, text: text(event.text) });
        break;
      case 'provider':
      case 'fault':
      case 'transferring':
        break;
      case 'ended':
        break; // the status of the call follows
    }
  }

  /** Reports that somebody is about to join a session, has joined, may do something else, or has left. */
  participant(sessionId: string, facts: ShownParticipant): void {
    this.#add(sessionId, 'participant', facts);
  }

  /** Adds an event of another node. */
  relay(name: string, data: string): void {
    if (this.closed.aborted) return;
    this.#buffer.add(sessionOf(data), name, data, false);
    this.#wake();
  }

  /** The first event after an id. */
  after(id: number, watched: Watched): LiveEvent | null {
    return this.#buffer.after(id, watched);
  }

  /** Resolves when there is another event, or when no more follow. */
  async next(signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.closed.aborted) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#waiting.add(done);
      signal.addEventListener('abort', done, { once: true });
    });
  }

  /** Ends all streams. */
  close(): void {
    this.#closing.abort();
    this.#wake();
  }

  #add(sessionId: string, name: string, facts: Readonly<Record<string, unknown>>): void {
    if (this.closed.aborted) return;
    const data = { session_id: sessionId, time: this.#nowUnixMs() / 1000, ...facts };
    this.#buffer.add(sessionId, name, JSON.stringify(data));
    this.#wake();
  }

  #wake(): void {
    for (const wake of Array.from(this.#waiting)) wake();
  }
}

/** The session of an event; '' = it has none, such as a gap. */
function sessionOf(data: string): string {
  const { session_id: id } = JSON.parse(data) as { session_id?: unknown };
  return typeof id === 'string' ? id : '';
}

/** A participant in the form of events and answers. */
export function shownParticipant(state: ParticipantState): ShownParticipant {
  const { id, name, channel, mode, whisperTo, held, muted, toMs, left } = state;
  return {
    participant_id: id,
    name,
    channel,
    mode,
    whisper_to: whisperTo,
    held,
    muted,
    status: toMs === null ? 'joined' : 'left',
    reason: left,
  };
}

/** The state of a call in the form of events. */
export function statusOf(call: StoredCall): Readonly<Record<string, unknown>> {
  const { callId, channel, direction, agentId, campaignId, fromPhone, toPhone, status, endedUs, item } = call;
  const data: Record<string, unknown> = {
    call_id: callId,
    call_status: status,
    ended: endedUs !== null,
    channel,
    direction,
    agent_id: agentId,
    campaign_id: campaignId,
    from: fromPhone,
    to: toPhone,
    duration: endedUs === null ? null : item.duration,
    error_message: item.error_message,
  };
  if (item.queue !== undefined) data['queue'] = item.queue;
  return data;
}

function spoken(role: 'user' | 'agent', text: string | null, isFinal: boolean) {
  return { role, text, is_final: isFinal };
}

/** Milliseconds from the end of the user's speech; null = the turn did not have this stage. */
function metricsOf(metrics: TurnMetrics) {
  return {
    turn: metrics.turn,
    utterance_latency: metrics.responseMs,
    end_of_turn: metrics.endOfTurnMs,
    llm_first: metrics.llmFirstMs,
    first_sentence: metrics.firstSentenceMs,
    tts_first: metrics.ttsFirstMs,
    interrupted: metrics.interrupted,
  };
}
