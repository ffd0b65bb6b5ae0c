import { isDeepStrictEqual } from 'node:util';
import type { Engine } from '../../engine/engine.js';
import type { SessionHandle } from '../../engine/remote-line.js';
import { ParleyError } from '../../base/errors.js';
import type { CallStore } from '../../store/calls.js';
import { carryOut, type CommandResultBody, type RequestedCommand } from './commands.js';

export interface SessionControlOptions {
  engine: Pick<Engine, 'sessions'>;
  calls: Pick<CallStore, 'get'>;
  /** Ends a session in any state, after a message. @throws ParleyError NOT_FOUND, SESSION_CLOSED */
  end: (sessionId: string, message: string | null) => Promise<void>;
}

/** A client and its key for one command. */
export interface CommandKey {
  /** The id of its API key: each client has its own keys. */
  client: string;
  key: string;
}

interface Given {
  command: RequestedCommand;
  result: Promise<CommandResultBody>;
}

/** Commands of one session whose keys are remembered. */
const MAX_KEYS = 1_000;

/** Carries out commands to the running sessions of this node. A command with a known key is carried out once. */
export class SessionControl {
  readonly #options: SessionControlOptions;
  readonly #given = new Map<string, Map<string, Given>>();

  constructor(options: SessionControlOptions) {
    this.#options = options;
  }

  /** @throws ParleyError NOT_FOUND, SESSION_CLOSED, COMMAND_REFUSED if its line is not open yet */
  async find(sessionId: string): Promise<SessionHandle> {
    const { engine, calls } = this.#options;
    for (const session of engine.sessions) if (session.id === sessionId) return session;
    const stored = await calls.get(sessionId);
    if (stored === null) throw new ParleyError('NOT_FOUND', { what: 'session', id: sessionId });
    if (stored.endedUs !== null) throw new ParleyError('SESSION_CLOSED');
    throw new ParleyError('COMMAND_REFUSED', { command: 'any', reason: 'the line is not open yet', why: 'notStarted' });
  }

  /**
   * Resolves when the command is carried out.
   * @throws ParleyError NOT_FOUND, SESSION_CLOSED, COMMAND_REFUSED, IDEMPOTENCY_KEY_REUSED
   */
  carryOut(sessionId: string, command: RequestedCommand, by: CommandKey | null): Promise<CommandResultBody> {
    const before = by === null ? undefined : this.#given.get(sessionId)?.get(nameOf(by));
    if (before !== undefined) {
      if (!isDeepStrictEqual(before.command, command)) throw new ParleyError('IDEMPOTENCY_KEY_REUSED');
      return before.result;
    }
    const result = this.#carryOut(sessionId, command);
    result.catch(() => undefined); // a client may have left
    if (by !== null) this.#remember(sessionId, nameOf(by), { command, result });
    return result;
  }

  async #carryOut(sessionId: string, command: RequestedCommand): Promise<CommandResultBody> {
    if (command.type === 'end') {
      const message = command.message?.trim() ?? '';
      await this.#options.end(sessionId, message === '' ? null : message);
      return null;
    }
    return carryOut(await this.find(sessionId), command);
  }

  #remember(sessionId: string, name: string, given: Given): void {
    let keys = this.#given.get(sessionId);
    if (keys === undefined) {
      keys = new Map();
      this.#given.set(sessionId, keys);
    }
    keys.set(name, given);
    const [oldest] = keys.keys();
    if (keys.size > MAX_KEYS && oldest !== undefined) keys.delete(oldest);
  }

  /** A session has ended: its keys are of no use any more. */
  forget(sessionId: string): void {
    this.#given.delete(sessionId);
  }
}

function nameOf({ client, key }: CommandKey): string {
  return `${client} ${key}`;
}
