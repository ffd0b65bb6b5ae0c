import type { ToolCall } from '../config/chat.js';
import type { ConversationEvent } from '../conversation/events.js';

export interface StageToolRun {
  call: ToolCall;
  startMs: number;
}

interface Behaviour {
  ok: boolean;
  content: string;
  /** Null = never answers. */
  afterMs: number | null;
}

/** The tools of a scenario. A tool that was not told how to behave does not exist. */
export class StageTools {
  readonly runs: StageToolRun[] = [];
  readonly #send: (atMs: number, event: ConversationEvent) => void;
  readonly #behaviours = new Map<string, Behaviour>();

  constructor(send: (atMs: number, event: ConversationEvent) => void) {
    this.#send = send;
  }

  answers(name: string, content: string, { afterMs = 300 }: { afterMs?: number } = {}): this {
    this.#behaviours.set(name, { ok: true, content, afterMs });
    return this;
  }

  fails(name: string, content: string, { afterMs = 300 }: { afterMs?: number } = {}): this {
    this.#behaviours.set(name, { ok: false, content, afterMs });
    return this;
  }

  neverAnswers(name: string): this {
    this.#behaviours.set(name, { ok: false, content: '', afterMs: null });
    return this;
  }

  start(call: ToolCall, atMs: number): void {
    this.runs.push({ call, startMs: atMs });
    const missing = { ok: false, content: `There is no tool called "${call.name}".`, afterMs: 0 };
    const { ok, content, afterMs } = this.#behaviours.get(call.name) ?? missing;
    if (afterMs !== null) this.#send(atMs + afterMs, { type: 'tool.result', callId: call.id, ok, content });
  }
}
