import type {
  AddedRole,
  CommandResult,
  ConversationCommand,
  HandoverOrder,
  ParticipantState,
  Side,
  SpeechTime,
} from '../conversation/control/command.js';
import { type HandoverContext, WHOLE_CONTEXT } from '../agent/flow/handover.js';
import type { Transport } from '../transports/transport.js';
import type { JoinedParticipant, JoinOptions } from './participants/joined.js';
import type { SessionReport } from './record/session-report.js';
import type { AgentChanges, SessionEvent } from './session-options.js';
import type { TapFrame, TapOptions } from './tap.js';

/** A command without its number. */
export type PlainCommand<Command> = Command extends unknown ? Omit<Command, 'id'> : never;

/** What `Session.control` carries out: plain data, also from another thread or over a network. */
export type SessionCommand =
  | PlainCommand<
      Exclude<
        ConversationCommand,
        { type: 'command.update' | 'command.handover' | 'command.withdraw' | 'command.end' | 'command.hangUp' }
      >
    >
  | { type: 'command.handover'; agent: string; order: HandoverOrder }
  | { type: 'command.update'; changes: AgentChanges };

/** What became of the agent's words. */
export interface Spoken {
  /** All of them. */
  text: string;
  /** Those that the user has heard. */
  heard: string;
  /** Whether there were words and they were heard whole. */
  complete: boolean;
}

export interface Abortable {
  /** Withdraws the command as far as it is not carried out; the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

export interface SayOptions extends Abortable {
  /** Default `next`: after all that the agent is about to say. */
  when?: SpeechTime | undefined;
  /** `false`: neither the user nor a program can cut it off. Default true. */
  interruptible?: boolean | undefined;
}

export interface ReplyOptions extends Abortable {
  /** What the model is to say; the user does not hear it. */
  instructions: string;
  when?: SpeechTime | undefined;
  /** Names of the tools that it may call. Default: all; `[]`: none. */
  tools?: readonly string[] | undefined;
}

export interface HoldOptions extends Abortable {
  /** What the user hears: music, or nothing. Default true. */
  music?: boolean | undefined;
  /** After this time the user is taken off hold. Default 15 minutes. */
  maxMs?: number | undefined;
}

export interface SessionTransferOptions extends Abortable {
  /** Whether the target is asked first. Default: as the agent is set. */
  attended?: boolean | undefined;
  /** What the target of an attended transfer hears about the user. Default: nothing. */
  summary?: string | undefined;
}

export interface SessionHandoverOptions extends Abortable {
  /** What the other agent learns of the conversation. Default `all`. */
  context?: HandoverContext['plan'] | undefined;
  /** How many messages `last` has. Default 6. */
  messages?: number | undefined;
  /** Names of metadata that it is told of. Default none. */
  variables?: readonly string[] | undefined;
  /** Said word for word first. Default: the user is not told. */
  announcement?: string | undefined;
  /** What the other agent is told. Default nothing. */
  reason?: string | undefined;
  /** Whether it may hand the conversation back. Default true. */
  mayReturn?: boolean | undefined;
}

export interface EndOptions {
  /** The agent's last words. Default: none. */
  message?: string | undefined;
}

const HOLD_MS = 15 * 60_000;

export type SessionListener<Type extends SessionEvent['type']> = (event: Extract<SessionEvent, { type: Type }>) => void;

/**
 * A running session as a program steers it. Each command is an event of the conversation: logged and replayable. Its
 * promise resolves when it is carried out. It rejects with ParleyError COMMAND_REFUSED, whose details name the reason,
 * with SESSION_CLOSED, or with the signal's reason; a rejection that nobody handles is ignored.
 */
export abstract class SteeredSession {
  readonly #listeners = new Map<string, Set<(event: never) => void>>();
  readonly #participants = new Map<string, ParticipantState>();
  #joined = 0;

  /** Carries out a command that is plain data. */
  abstract control(command: SessionCommand, signal?: AbortSignal): Promise<CommandResult>;

  /**
   * The audio of one side: what the line brought of the user, or what it really played of the agent, silence included.
   * A slow reader loses the oldest frames, and never delays the call. It ends with the session.
   */
  abstract tap(side: Side, options?: TapOptions): AsyncGenerator<TapFrame, void, undefined>;

  /**
   * Lets another person join the user and the agent, over a line of their own that has not started. From now on the
   * session closes it, unless it rejects.
   */
  abstract join(line: Transport, options?: JoinOptions): Promise<JoinedParticipant>;

  /** Who is in the call beside the user and the agent, in the order in which they joined. */
  get participants(): readonly Readonly<ParticipantState>[] {
    return [...this.#participants.values()];
  }

  /** An id that no participant has had. */
  nextParticipantId(): string {
    return `participant-${String(++this.#joined)}`;
  }

  /** Ends the call (`api-ended`), after a message. Resolves to the report. May be called twice. */
  abstract end(options?: EndOptions): Promise<SessionReport>;

  /** Makes the agent say something, word for word. Resolves when it is over, to what was heard of it. */
  say(text: string, { when, interruptible, signal }: SayOptions = {}): Promise<Spoken> {
    return this.#order({ type: 'command.say', text, when, interruptible }, spoken, signal);
  }

  /** Makes the model speak by instructions. Resolves when the reply is over, to what was heard of it. */
  generate({ instructions, when, tools, signal }: ReplyOptions): Promise<Spoken> {
    return this.#order({ type: 'command.generate', instructions, when, tools }, spoken, signal);
  }

  /** Stops the agent at once. Resolves to whether it had something to say. */
  interrupt({ signal }: Abortable = {}): Promise<boolean> {
    const isStopped = (result: CommandResult): boolean => result !== null && 'stopped' in result && result.stopped;
    return this.#order({ type: 'command.interrupt' }, isStopped, signal);
  }

  /** Adds a message to the history, which gets no answer: `system` for the model alone. */
  addMessage({ role, content }: { role: AddedRole; content: string }): Promise<void> {
    return this.#order({ type: 'command.add', role, content }, nothing);
  }

  /**
   * Changes the agent from its next reply on; a reply that is under way keeps the old settings. Resolves when they
   * apply. @throws ParleyError also for an agent that cannot have sessions, as `Engine.createSession`
   */
  updateAgent(changes: AgentChanges, { signal }: Abortable = {}): Promise<void> {
    return this.#order({ type: 'command.update', changes }, nothing, signal);
  }

  /**
   * Mutes a side, or (`on` false) unmutes it. Of a muted user nothing is heard, keys neither. A muted agent says
   * nothing, while the user is still transcribed.
   */
  mute(side: Side, on = true): Promise<void> {
    return this.#order({ type: 'command.mute', side, on }, nothing);
  }

  /** Puts the user on hold: they hear music or nothing and are not heard, and no time of inactivity counts. */
  hold({ music = true, maxMs = HOLD_MS, signal }: HoldOptions = {}): Promise<void> {
    return this.#order({ type: 'command.hold', music, maxMs }, nothing, signal);
  }

  unhold(): Promise<void> {
    return this.#order({ type: 'command.unhold' }, nothing);
  }

  /**
   * Connects the user to somebody else, once the agent has said all it was about to. Resolves when they are connected,
   * which ends the session.
   */
  transfer(target: string, { attended, summary, signal }: SessionTransferOptions = {}): Promise<void> {
    return this.#order({ type: 'command.transfer', target, attended, summary }, nothing, signal);
  }

  /**
   * Hands the conversation over to another agent, from the next reply on. Resolves when it has it.
   * @throws ParleyError NOT_FOUND for an unknown agent; also for one that cannot have sessions, as `Engine.createSession`
   */
  handOver(agentId: string, options: SessionHandoverOptions = {}): Promise<void> {
    const { context, messages, variables, announcement, reason, mayReturn, signal } = options;
    const order: HandoverOrder = {
      plan: context ?? WHOLE_CONTEXT.plan,
      messages: messages ?? WHOLE_CONTEXT.messages,
      variables: variables ?? [],
      announcement: announcement ?? null,
      reason: reason ?? null,
      mayReturn: mayReturn ?? true,
    };
    return this.#order({ type: 'command.handover', agent: agentId, order }, nothing, signal);
  }

  /** Presses keys, `w` waits half a second, once the agent has said all it was about to. */
  pressKeys(digits: string, { signal }: Abortable = {}): Promise<void> {
    return this.#order({ type: 'command.press', digits }, nothing, signal);
  }

  /** What follows is silence in the recording. */
  pauseRecording(): Promise<void> {
    return this.#order({ type: 'command.record', on: false }, nothing);
  }

  resumeRecording(): Promise<void> {
    return this.#order({ type: 'command.record', on: true }, nothing);
  }

  /** Listens to the session's events of a type. Returns a function that ends it. */
  on<Type extends SessionEvent['type']>(type: Type, listener: SessionListener<Type>): () => void {
    const listeners = this.#listeners.get(type) ?? new Set();
    this.#listeners.set(type, listeners);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }

  /** @param onError called for a listener that throws */
  protected heed(event: SessionEvent, onError: (error: unknown) => void): void {
    if (event.type === 'participant') this.#note(event.participant);
    else if (event.type === 'ended') this.#participants.clear();
    const listeners = this.#listeners.get(event.type);
    if (listeners === undefined) return;
    for (const listener of Array.from(listeners)) {
      try {
        listener(event as never);
      } catch (error) {
        onError(error);
      }
    }
  }

  #note(participant: ParticipantState): void {
    if (participant.toMs === null) this.#participants.set(participant.id, participant);
    else this.#participants.delete(participant.id);
  }

  #order<Result>(
    command: Loose<SessionCommand>,
    resultOf: (result: CommandResult) => Result,
    signal?: AbortSignal,
  ): Promise<Result> {
    const given = Object.entries(command).filter(([, value]) => value !== undefined);
    const result = this.control(Object.fromEntries(given) as SessionCommand, signal).then(resultOf);
    result.catch(() => undefined); // nobody has to wait for it
    return result;
  }
}

/** Optional members may be undefined. */
type Loose<Type> = Type extends unknown ? { [Key in keyof Type]: Type[Key] | undefined } : never;

function spoken(result: CommandResult): Spoken {
  if (result === null || !('heard' in result)) return { text: '', heard: '', complete: false };
  const { text, heard } = result;
  // Without a model, or with one that has no answer, `generate` says nothing.
  return { text, heard, complete: text !== '' && heard === text };
}

function nothing(): void {
  // A command without a result.
}
