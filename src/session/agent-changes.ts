import { raceAbort } from '../base/deadlines.js';
import type { Clock } from '../base/clock.js';
import { ParleyError } from '../base/errors.js';
import { Queue } from '../base/queues.js';
import type { CommandOf } from '../conversation/control/command.js';
import { refusal } from './open-commands.js';
import type { AgentChanges, ChangeAgent, ChangedAgent } from './session-options.js';

/** Changes of a session's agent: prepared one after the other, and kept until the conversation applies them. */
export class PreparedChanges {
  readonly #change: ChangeAgent | null;
  readonly #clock: Clock;
  readonly #session: AbortSignal;
  readonly #prepared = new Map<number, ChangedAgent>();
  readonly #queue = new Queue();
  #last = 0;

  /** @param session aborted when the session is over */
  constructor(change: ChangeAgent | null, clock: Clock, session: AbortSignal) {
    this.#change = change;
    this.#clock = clock;
    this.#session = session;
  }

  /** @throws ParleyError COMMAND_REFUSED, SESSION_CLOSED, those of an agent that cannot have sessions */
  async prepare(changes: AgentChanges, signal?: AbortSignal): Promise<CommandOf<'command.update'>> {
    const change = this.#change;
    if (change === null) throw refusal('update', 'unsupported');
    const until = signal === undefined ? this.#session : AbortSignal.any([signal, this.#session]);
    const clock = this.#clock;
    // Virtual time stands still meanwhile.
    const work = (): Promise<ChangedAgent> => clock.settle(raceAbort(change(changes, until), until), clock.nowMs());
    const changed = await this.#queue.run(work).catch((error: unknown) => {
      signal?.throwIfAborted();
      throw this.#session.aborted ? new ParleyError('SESSION_CLOSED') : error;
    });
    if (this.#session.aborted) throw new ParleyError('SESSION_CLOSED');
    const update = ++this.#last;
    this.#prepared.set(update, changed);
    return { type: 'command.update', update, settings: changed.settings };
  }

  /** The prepared change; each is taken once. */
  take(update: number): ChangedAgent | null {
    const changed = this.#prepared.get(update) ?? null;
    this.#prepared.delete(update);
    return changed;
  }
}
