import type {
  CommandOf,
  CommandResult,
  LeaveReason,
  NewParticipant,
  ParticipantMode,
  ParticipantState,
} from '../../conversation/control/command.js';
import type { SessionEvent } from '../session-options.js';

type ParticipantCommand =
  | Omit<CommandOf<'command.join'>, 'id'>
  | Omit<CommandOf<'command.participant'>, 'id'>
  | Omit<CommandOf<'command.leave'>, 'id'>;

/** What joining needs of a session. */
interface JoinedSession {
  control(command: ParticipantCommand, signal?: AbortSignal): Promise<CommandResult>;
  on<Type extends 'participant' | 'ended'>(
    type: Type,
    listener: (event: Extract<SessionEvent, { type: Type }>) => void,
  ): () => void;
  nextParticipantId(): string;
}

export interface JoinOptions {
  /** Withdraws the command; the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Unique in the session. Default: `participant-1` and so on. */
  id?: string | undefined;
  /** What the model and the transcript call them. Default `participant`. */
  name?: string | undefined;
  /** Default `listen`. */
  mode?: ParticipantMode | undefined;
  /** The id of the participant who hears a whisper. Default: the agent's model reads it. */
  whisperTo?: string | null | undefined;
  /** How they joined, for the call's log. Default `line`. */
  channel?: string | undefined;
  /** Who let them join, for the call's log: the id of a key. Default: a program. */
  by?: string | null | undefined;
}

/** Somebody who has joined a session. Commands reject as those of a session do. */
export interface JoinedParticipant {
  readonly id: string;
  readonly name: string;
  /** Now, or as it was in the end. */
  readonly state: Readonly<ParticipantState>;
  /** Resolves when they are no longer in the call: to the reason, or to null if the call has ended. */
  readonly left: Promise<LeaveReason | null>;
  setMode(mode: ParticipantMode, options?: { whisperTo?: string | null }): Promise<void>;
  /** They hear music or (`music` false) nothing, and are not heard. */
  hold(options?: { music?: boolean }): Promise<void>;
  unhold(): Promise<void>;
  /** Nobody hears them, while they hear the call. */
  mute(on?: boolean): Promise<void>;
  /** Leaves in order: after a take-over the agent goes on. */
  leave(): Promise<void>;
}

/**
 * Joins a session. `join` carries the command out, with the line at hand.
 * @throws ParleyError COMMAND_REFUSED, SESSION_CLOSED; the signal's reason
 */
export async function joinBy(
  session: JoinedSession,
  options: JoinOptions,
  join: (participant: NewParticipant, command: () => Promise<unknown>) => Promise<unknown>,
): Promise<JoinedParticipant> {
  const { name = 'participant', mode = 'listen', whisperTo = null, channel = 'line', by = null, signal } = options;
  const id = options.id ?? session.nextParticipantId();
  signal?.throwIfAborted();
  const joined = new Joined(session, id);
  try {
    const participant = { id, name, channel, by, mode, whisperTo };
    await join(participant, () => session.control({ type: 'command.join', participant }, signal));
  } catch (error) {
    joined.stop();
    throw error;
  }
  return joined;
}

class Joined implements JoinedParticipant {
  readonly id: string;
  readonly left: Promise<LeaveReason | null>;
  readonly #session: JoinedSession;
  readonly #stops: (() => void)[];
  #state: ParticipantState | null = null;
  #resolve!: (reason: LeaveReason | null) => void;

  constructor(session: JoinedSession, id: string) {
    this.id = id;
    this.#session = session;
    this.left = new Promise((resolve) => (this.#resolve = resolve));
    this.#stops = [
      session.on('participant', ({ participant }) => {
        if (participant.id !== id) return;
        this.#state = participant;
        if (participant.toMs !== null) this.#end(participant.left);
      }),
      session.on('ended', () => this.#end(null)),
    ];
  }

  get name(): string {
    return this.state.name;
  }

  get state(): Readonly<ParticipantState> {
    if (this.#state === null) throw new Error('the participant has not joined');
    return this.#state;
  }

  setMode(mode: ParticipantMode, { whisperTo = null }: { whisperTo?: string | null } = {}): Promise<void> {
    return this.#change({ mode, whisperTo });
  }

  hold({ music = true }: { music?: boolean } = {}): Promise<void> {
    return this.#change({ held: true, music });
  }

  unhold(): Promise<void> {
    return this.#change({ held: false });
  }

  mute(on = true): Promise<void> {
    return this.#change({ muted: on });
  }

  async leave(): Promise<void> {
    await this.#session.control({ type: 'command.leave', participant: this.id, reason: 'left' });
  }

  stop(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }

  async #change(changes: object): Promise<void> {
    await this.#session.control({ type: 'command.participant', participant: this.id, ...changes });
  }

  #end(reason: LeaveReason | null): void {
    this.#resolve(reason);
    this.stop();
  }
}
