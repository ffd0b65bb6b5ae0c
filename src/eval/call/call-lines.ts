import type { SessionReport } from '../../session/record/session-report.js';
import type { SessionEvent } from '../../session/session-options.js';
import type { TransportMessage } from '../../transports/transport.js';
import type { EvalLine, EvalMetrics } from '../result.js';
import type { EvalMode } from '../suite/suite-schema.js';

type CallerLine = Extract<EvalLine, { type: 'caller' }>;
type AgentLine = Extract<EvalLine, { type: 'agent' }>;
type ToolLine = Extract<EvalLine, { type: 'tool' }>;

/** Voices that begin within this time begin together: neither cuts the other off. In ms. */
const SLACK_MS = 20;

/** What happens in a call, as its lines and figures. All times are in ms from the start of the call. */
export class CallLines {
  readonly #nowMs: () => number;
  readonly #mode: EvalMode;
  readonly #lines: EvalLine[] = [];
  /** The agent's lines by the number of their answer. */
  readonly #answers = new Map<number, AgentLine>();
  readonly #tools = new Map<string, ToolLine>();
  readonly #mocked = new Set<string>();
  #current: AgentLine | null = null;
  #caller: CallerLine | null = null;
  #agentSpeaksFromMs: number | null = null;
  #agentSpokeMs = 0;
  #callerSpokeMs = 0;
  /** Since when the caller waits for the agent; null = they do not. */
  #waitsFromMs: number | null = null;
  #longestSilenceMs = 0;

  constructor(mode: EvalMode, nowMs: () => number) {
    this.#mode = mode;
    this.#nowMs = nowMs;
  }

  get lines(): readonly EvalLine[] {
    return this.#lines;
  }

  /** The answers that have begun, in order: their number and their text so far. */
  get answers(): readonly (readonly [number: number, line: Readonly<AgentLine>])[] {
    return [...this.#answers];
  }

  message(message: TransportMessage): void {
    if (message.type !== 'response') return;
    const nowMs = this.#nowMs();
    let line = this.#answers.get(message.answer);
    if (line === undefined) {
      line = { type: 'agent', text: '', startMs: this.#agentSpeaksFromMs ?? nowMs, endMs: nowMs, interrupted: false };
      this.#answers.set(message.answer, line);
      this.#lines.push(line);
    }
    line.text = message.text;
    line.endMs = Math.max(line.endMs, message.isFinal && this.#agentSpeaksFromMs === null ? line.endMs : nowMs);
    this.#current = message.isFinal ? null : line;
  }

  event(event: SessionEvent): void {
    if (event.type === 'user') this.#understood(event.text);
    else if (event.type === 'interrupted' && this.#current !== null) this.#current.interrupted = true;
    else if (event.type === 'toolStarted') this.#toolStarted(event.call.id, event.call.name, event.call.arguments);
    else if (event.type === 'tool') this.#toolDone(event);
  }

  /** A mock answers the next call of this tool that has no line of its own yet. */
  mocked(name: string): void {
    const open = [...this.#tools.values()].find((line) => line.name === name && !line.mocked);
    if (open === undefined) this.#mocked.add(name);
    else open.mocked = true;
  }

  /**
   * The agent begins or ceases to be heard by the caller.
   * @param agoMs it did so that long ago
   */
  agentSpeaks(isSpeaking: boolean, agoMs = 0): void {
    const nowMs = this.#nowMs() - agoMs;
    if (isSpeaking === (this.#agentSpeaksFromMs !== null)) return;
    if (!isSpeaking) {
      this.#agentSpokeMs += nowMs - (this.#agentSpeaksFromMs ?? nowMs);
      this.#agentSpeaksFromMs = null;
      const last = this.#lastAnswer;
      if (last !== undefined) last.endMs = nowMs;
      this.#waitsFromMs = nowMs;
      return;
    }
    this.#agentSpeaksFromMs = nowMs;
    this.#endSilence(nowMs);
    const caller = this.#caller;
    if (caller === null) return;
    if (caller.endMs < 0) {
      if (nowMs > caller.startMs + SLACK_MS) caller.cutOff = true;
    } else caller.responseMs ??= nowMs - caller.endMs;
  }

  get agentIsSpeaking(): boolean {
    return this.#agentSpeaksFromMs !== null;
  }

  get #lastAnswer(): AgentLine | undefined {
    return [...this.#answers.values()].at(-1);
  }

  /** The caller begins to say this. Call the returned function when they have finished. */
  callerSpeaks(text: string): () => void {
    const nowMs = this.#nowMs();
    const line: CallerLine = {
      type: 'caller',
      text,
      understood: null,
      startMs: nowMs,
      endMs: -1,
      cutOff: false,
      responseMs: null,
    };
    this.#endSilence(nowMs);
    this.#lines.push(line);
    this.#caller = line;
    return () => {
      line.endMs = this.#nowMs();
      this.#callerSpokeMs += line.endMs - line.startMs;
      this.#waitsFromMs = this.agentIsSpeaking ? null : line.endMs;
    };
  }

  keys(by: 'caller' | 'agent', keys: string): void {
    this.#lines.push({ type: 'keys', by, keys, startMs: this.#nowMs() });
    if (by === 'caller') this.#waitsFromMs = this.#nowMs();
  }

  transfer(target: string, outcome: string): void {
    this.#lines.push({ type: 'transfer', target, outcome, startMs: this.#nowMs() });
  }

  /** The caller does not wait for the agent: they are silent on purpose. */
  callerIsSilent(): void {
    this.#waitsFromMs = null;
  }

  end(report: SessionReport, by: 'agent' | 'caller' | 'limit'): void {
    const nowMs = this.#nowMs();
    this.agentSpeaks(false);
    for (const call of report.functionCalls.filter(({ runAfterCall }) => runAfterCall)) {
      const { name, arguments: args, ok, result, tookMs } = call;
      const mocked = this.#mocked.has(name);
      this.#lines.push({
        type: 'tool',
        name,
        arguments: args,
        ok,
        result,
        startMs: nowMs,
        tookMs,
        mocked,
        afterCall: true,
      });
    }
    if (this.#caller !== null && this.#caller.endMs < 0) this.#caller.endMs = nowMs;
    this.#lines.push({ type: 'end', status: report.status, by, startMs: nowMs });
  }

  /** @param costUsd null = not known */
  metrics(report: SessionReport, costUsd: number | null): EvalMetrics {
    const callers = this.#lines.filter((line) => line.type === 'caller');
    const agents = this.#lines.filter((line) => line.type === 'agent');
    const [agent, caller] =
      this.#mode === 'voice'
        ? [this.#agentSpokeMs, this.#callerSpokeMs]
        : [wordsIn(agents.map(({ text }) => text)), wordsIn(callers.map(({ text }) => text))];
    return {
      durationMs: report.durationMs,
      callerTurns: callers.length,
      talkRatio: agent + caller === 0 ? 0 : agent / (agent + caller),
      responseMs: callers.flatMap(({ responseMs }) => (responseMs === null ? [] : [responseMs])),
      cutOffs: callers.filter(({ cutOff }) => cutOff).length,
      longestSilenceMs: this.#longestSilenceMs,
      promptTokens: report.promptTokens,
      completionTokens: report.completionTokens,
      costUsd,
      persona: null,
      judges: null,
    };
  }

  #endSilence(nowMs: number): void {
    if (this.#waitsFromMs !== null)
      this.#longestSilenceMs = Math.max(this.#longestSilenceMs, nowMs - this.#waitsFromMs);
    this.#waitsFromMs = null;
  }

  #understood(text: string): void {
    // A turn that was answered too soon comes again with all of its words.
    if (this.#caller !== null) this.#caller.understood = text;
  }

  #toolStarted(id: string, name: string, args: string): void {
    const mocked = this.#mocked.delete(name);
    const line: ToolLine = {
      type: 'tool',
      name,
      arguments: args,
      ok: false,
      result: '',
      startMs: this.#nowMs(),
      tookMs: 0,
      mocked,
      afterCall: false,
    };
    this.#tools.set(id, line);
    this.#lines.push(line);
  }

  #toolDone({ call, ok, result, tookMs }: Extract<SessionEvent, { type: 'tool' }>): void {
    const line = this.#tools.get(call.id);
    if (line === undefined) return;
    line.ok = ok;
    line.result = result;
    line.tookMs = tookMs;
    this.#tools.delete(call.id);
  }
}

function wordsIn(texts: readonly string[]): number {
  return texts.join(' ').split(/\s+/).filter(Boolean).length;
}
