import {
  type CommandOutcome,
  type CommandRefusal,
  type CommandResult,
  type ConversationCommand,
  REFUSALS,
} from '../conversation/control/command.js';
import { ParleyError } from '../base/errors.js';

type Waiting = {
  command: string;
  resolve: (result: CommandResult) => void;
  reject: (error: unknown) => void;
};

/** The commands of a session whose outcome is open. */
export class OpenCommands {
  readonly #dispatch: (event: ConversationCommand) => void;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;

  constructor(dispatch: (event: ConversationCommand) => void) {
    this.#dispatch = dispatch;
  }

  /** @throws ParleyError COMMAND_REFUSED, SESSION_CLOSED; the signal's reason when it is aborted */
  async carryOut(command: ConversationCommand, signal?: AbortSignal): Promise<CommandResult> {
    signal?.throwIfAborted();
    const id = ++this.#lastId;
    const withdraw = (): void => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      this.#dispatch({ type: 'command.withdraw', id });
      waiting?.reject(signal?.reason);
    };
    signal?.addEventListener('abort', withdraw, { once: true });
    try {
      return await new Promise((resolve, reject) => {
        this.#waiting.set(id, { command: nameOf(command), resolve, reject });
        this.#dispatch(Object.assign({}, command, { id }) as ConversationCommand);
      });
    } finally {
      signal?.removeEventListener('abort', withdraw);
    }
  }

  settle(outcome: CommandOutcome): void {
    const waiting = this.#waiting.get(outcome.id);
    this.#waiting.delete(outcome.id);
    if (waiting === undefined) return;
    if (outcome.type === 'command.done') waiting.resolve(outcome.result);
    else waiting.reject(refusal(waiting.command, outcome.why, outcome.detail));
  }

  /** The session is over. */
  close(): void {
    for (const { reject } of this.#waiting.values()) reject(new ParleyError('SESSION_CLOSED'));
    this.#waiting.clear();
  }
}

export function nameOf({ type }: { type: string }): string {
  return type.replace('command.', '');
}

/** @param detail more about the reason */
export function refusal(command: string, why: CommandRefusal, detail?: string): ParleyError {
  if (why === 'ended') return new ParleyError('SESSION_CLOSED');
  const reason = detail === undefined ? REFUSALS[why] : `${REFUSALS[why]}: ${detail}`;
  return new ParleyError('COMMAND_REFUSED', { command, reason, why });
}
