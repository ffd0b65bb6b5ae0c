import { randomUUID } from 'node:crypto';
import { errorOf, ParleyError } from '../../base/errors.js';
import type { ParticipantChanges, ParticipantMode } from '../../conversation/control/command.js';
import { MAX_PARTICIPANTS } from '../../conversation/floor/participants.js';
import type { SessionHandle } from '../../engine/remote-line.js';
import type { JoinedParticipant } from '../../session/participants/joined.js';
import type { Transport } from '../../transports/transport.js';
import type { ListeningRules } from './listening-rules.js';
import { type LiveEvents, shownParticipant } from './live-events.js';
import type { ShownParticipant } from './participant-shape.js';
import type { SessionControl } from './session-control.js';

/** Somebody who is to join a session. */
export interface Guest {
  sessionId: string;
  name: string;
  mode: ParticipantMode;
  whisperTo: string | null;
  channel: 'socket' | 'webrtc' | 'phone';
  /** The id of the key that lets them join. */
  by: string;
}

/** A guest whose line is not open yet, or has failed. */
interface Pending {
  shown: ShownParticipant;
  abort: AbortController;
}

export interface CallParticipantsOptions {
  control: Pick<SessionControl, 'find'>;
  rules: ListeningRules;
  events: Pick<LiveEvents, 'participant'>;
  onError: (error: Error) => void;
}

/** The participants of this node's running sessions, with those whose line is still being opened. */
export class CallParticipants {
  readonly #options: CallParticipantsOptions;
  readonly #pending = new Map<string, Map<string, Pending>>();

  constructor(options: CallParticipantsOptions) {
    this.#options = options;
  }

  /**
   * Whether somebody may join, or do something else. Who hears the call without being heard follows the rules for
   * listening; whom the user hears needs no other permission than the key's.
   * @throws ParleyError NOT_FOUND, SESSION_CLOSED, COMMAND_REFUSED, LISTENING_REFUSED
   */
  async admit(sessionId: string, mode: ParticipantMode): Promise<SessionHandle> {
    const session = await this.#options.control.find(sessionId);
    if (mode === 'listen' || mode === 'whisper') await this.#options.rules.check(sessionId);
    return session;
  }

  /** A guest joins over an open line, after the user was told where that is necessary. The line is closed if it fails. */
  async join(guest: Guest, line: Transport, id: string = randomUUID()): Promise<JoinedParticipant> {
    const { sessionId, mode, channel, ...rest } = guest;
    try {
      const session = await this.admit(sessionId, mode);
      if (mode === 'listen' || mode === 'whisper') await this.#options.rules.announce(session);
      return await session.join(line, { ...rest, id, mode, channel });
    } catch (error) {
      await line.close();
      throw error;
    }
  }

  /**
   * A guest joins as soon as their line is open; until then they are listed.
   * @param open opens the line; its reason for not doing so is the guest's
   * @throws ParleyError as `admit`
   */
  async invite(guest: Guest, open: (signal: AbortSignal) => Promise<Transport>): Promise<ShownParticipant> {
    const { sessionId, name, mode, whisperTo, channel } = guest;
    const session = await this.admit(sessionId, mode);
    const pending = this.#pending.get(sessionId) ?? new Map<string, Pending>();
    const count = session.participants.length + Array.from(pending.values()).filter(isOpen).length;
    if (count >= MAX_PARTICIPANTS) {
      throw new ParleyError('COMMAND_REFUSED', { command: 'join', reason: 'the call has as many as it can have' });
    }
    const id = randomUUID();
    const facts = { participant_id: id, name, channel, mode, whisper_to: whisperTo, held: false, muted: false };
    const one: Pending = { shown: { ...facts, status: 'connecting', reason: null }, abort: new AbortController() };
    pending.set(id, one);
    this.#pending.set(sessionId, pending);
    this.#options.events.participant(sessionId, one.shown);
    void this.#await(guest, id, one, open);
    return one.shown;
  }

  async #await(
    guest: Guest,
    id: string,
    one: Pending,
    open: (signal: AbortSignal) => Promise<Transport>,
  ): Promise<void> {
    const { sessionId } = guest;
    const { signal } = one.abort;
    try {
      const line = await open(signal);
      if (signal.aborted) {
        await line.close();
        throw signal.reason;
      }
      await this.join(guest, line, id);
      this.#pending.get(sessionId)?.delete(id);
    } catch (error) {
      if (!(error instanceof ParleyError)) this.#options.onError(errorOf(error));
      const reason = signal.aborted ? 'removed' : error instanceof ParleyError ? reasonFor(error) : 'failed';
      one.shown = { ...one.shown, status: 'failed', reason };
      this.#options.events.participant(sessionId, one.shown);
    }
  }

  /** In the order in which they came. @throws ParleyError NOT_FOUND, SESSION_CLOSED, COMMAND_REFUSED */
  async list(sessionId: string): Promise<ShownParticipant[]> {
    const session = await this.#options.control.find(sessionId);
    const waiting = Array.from(this.#pending.get(sessionId)?.values() ?? [], ({ shown }) => shown);
    return [...session.participants.map(shownParticipant), ...waiting];
  }

  /** @throws ParleyError NOT_FOUND and as `list` */
  async get(sessionId: string, id: string): Promise<ShownParticipant> {
    const found = (await this.list(sessionId)).find((one) => one.participant_id === id);
    if (found === undefined) throw unknown(id);
    return found;
  }

  /** @throws ParleyError as `admit`, and NOT_FOUND for a participant who is not in the call */
  async change(sessionId: string, id: string, changes: ParticipantChanges): Promise<ShownParticipant> {
    const session = await this.#options.control.find(sessionId);
    const now = session.participants.find((one) => one.id === id);
    if (now === undefined) throw unknown(id);
    const { mode } = changes;
    if (mode !== undefined && mode !== now.mode) {
      await this.admit(sessionId, mode);
      if (mode === 'listen' || mode === 'whisper') await this.#options.rules.announce(session);
    }
    await session.control({ type: 'command.participant', participant: id, ...changes });
    return this.get(sessionId, id);
  }

  /** @throws ParleyError NOT_FOUND */
  async remove(sessionId: string, id: string): Promise<void> {
    const waiting = this.#pending.get(sessionId)?.get(id);
    if (waiting !== undefined) {
      waiting.abort.abort();
      this.#pending.get(sessionId)?.delete(id);
      return;
    }
    const session = await this.#options.control.find(sessionId);
    if (!session.participants.some((one) => one.id === id)) throw unknown(id);
    await session.control({ type: 'command.leave', participant: id, reason: 'removed' });
  }

  /** The session has ended. */
  forget(sessionId: string): void {
    for (const { abort } of this.#pending.get(sessionId)?.values() ?? []) abort.abort();
    this.#pending.delete(sessionId);
  }

  /** Gives up all lines that are being opened. May be called twice. */
  close(): void {
    for (const sessionId of Array.from(this.#pending.keys())) this.forget(sessionId);
  }
}

function isOpen({ shown }: Pending): boolean {
  return shown.status === 'connecting';
}

function reasonFor(error: ParleyError): string {
  const { reason } = error.details;
  return typeof reason === 'string' ? reason : error.message;
}

function unknown(id: string): ParleyError {
  return new ParleyError('NOT_FOUND', { what: 'participant', id });
}
