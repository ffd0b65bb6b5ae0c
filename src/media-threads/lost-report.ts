import type { ChatMessage } from '../config/chat.js';
import { latencySummary } from '../session/latency.js';
import { reportWithoutText } from '../session/privacy.js';
import type { SessionEvent } from '../session/session-options.js';
import type { FunctionCall, SessionReport } from '../session/session-report.js';
import { noSpeculations } from '../session/speculation-report.js';
import type { TurnMetrics } from '../session/turn-metrics.js';

/** The fault of sessions whose thread has ended under them. */
const THREAD_LOST = 'thread.lost';

/** What is known outside of a session, as far as it has come: its report, should its thread end before it does. */
export class LostReport {
  readonly #messages: ChatMessage[] = [];
  readonly #turns: TurnMetrics[] = [];
  readonly #calls: FunctionCall[] = [];
  /** The user's message that may still grow, by its turn. */
  #latest: { turn: number; message: ChatMessage } | null = null;

  take(event: SessionEvent): void {
    if (event.type === 'user') this.#said(event.text, event.turn);
    else if (event.type === 'agent') this.#messages.push({ role: 'assistant', content: event.text });
    else if (event.type === 'answered') this.#turns.push(event.metrics);
    else if (event.type === 'tool') {
      const { call, ok, result, tookMs } = event;
      this.#calls.push({ name: call.name, arguments: call.arguments, ok, result, tookMs, runAfterCall: false });
    }
  }

  report(sessionId: string, durationMs: number, reason: string, optOut: boolean): SessionReport {
    const report: SessionReport = {
      ...{ sessionId, status: 'error', durationMs, messages: this.#messages, turns: this.#turns },
      latency: latencySummary(this.#turns),
      functionCalls: this.#calls,
      ...{ doNotCall: false, transfers: [], ttsChars: 0, speculation: noSpeculations() },
      ...{ promptTokens: 0, completionTokens: 0, usage: { stt: [], llm: [], tts: [] } },
      playout: { underruns: 0, speechMs: 0, skippedFrames: 0 },
      ...{ line: null, recording: null },
      faults: { [THREAD_LOST]: 1 },
      faultReasons: { [THREAD_LOST]: reason },
    };
    return optOut ? reportWithoutText(report) : report;
  }

  /** The same turn again: the user had gone on. */
  #said(text: string, turn: number): void {
    const message: ChatMessage = { role: 'user', content: text };
    const at = this.#latest?.turn === turn ? this.#messages.lastIndexOf(this.#latest.message) : -1;
    if (at >= 0) this.#messages[at] = message;
    else this.#messages.push(message);
    this.#latest = { turn, message };
  }
}
