import type { ConversationConfig } from '../../../conversation/config.js';
import type { ConfigChanges } from '../../../testing/merge-config.js';
import type { Replayed, WhatIf } from '../../../testing/replay/index.js';
import type { ReplayAnswer, ReplayRequest } from './replay-messages.js';

export interface ReplayEvents {
  /** The log is read: the settings of the session, and whether this version decides as the log has it. */
  onReady(config: ConversationConfig, again: Replayed): void;
  onPlayed(result: WhatIf): void;
  /** The log cannot be played, or not with these settings. */
  onFault(message: string): void;
}

/** The built worker, beside the console's own script. */
const WORKER = '/assets/replay-worker.js';

/** Plays a call's event log with other settings, in a worker of its own. */
export class ReplayRunner {
  readonly #worker = new Worker(WORKER, { type: 'module' });
  readonly #events: ReplayEvents;
  /** Of the latest question: earlier answers are not waited for any more. */
  #asked = 0;

  constructor(log: string, events: ReplayEvents) {
    this.#events = events;
    this.#worker.addEventListener('message', ({ data }: MessageEvent<ReplayAnswer>) => this.#take(data));
    this.#worker.addEventListener('error', ({ message }) => events.onFault(message || 'The replay cannot be loaded.'));
    this.#send({ type: 'log', text: log });
  }

  play(changes: ConfigChanges): void {
    this.#send({ type: 'changes', id: ++this.#asked, changes });
  }

  /** May be called twice. */
  close(): void {
    this.#worker.terminate();
  }

  #send(request: ReplayRequest): void {
    this.#worker.postMessage(request);
  }

  #take(answer: ReplayAnswer): void {
    if (answer.type === 'ready') this.#events.onReady(answer.config, answer.again);
    else if (answer.id !== null && answer.id !== this.#asked) return;
    else if (answer.type === 'played') this.#events.onPlayed(answer.result);
    else this.#events.onFault(answer.message);
  }
}
