import type { SessionEvent } from '../../session/session-options.js';
import type { SessionReport } from '../../session/record/session-report.js';
import type { TurnMetrics } from '../../session/record/session-metrics.js';
import { newSpanId, newTraceId, type TraceSpan } from './trace-exporter.js';

interface ToolTime {
  name: string;
  ok: boolean;
  startUnixMs: number;
  endUnixMs: number;
}

/** The exporter of spans. */
export interface SpanSink {
  add(spans: readonly TraceSpan[]): void;
  close(): Promise<void>;
}

/**
 * Traces of sessions: session → turn → end_of_turn, llm, sentence, tts, tool. They have names and times, but no texts. A
 * session is exported after its end, so tracing does not slow the call down.
 */
export class SessionSpans {
  readonly #sink: SpanSink;
  readonly #tools = new Map<string, ToolTime[]>();

  constructor(sink: SpanSink) {
    this.#sink = sink;
  }

  add(sessionId: string, agentId: string, event: SessionEvent, atUnixMs: number): void {
    if (event.type === 'tool') {
      const { call, ok, tookMs } = event;
      const tools = this.#tools.get(sessionId) ?? [];
      this.#tools.set(sessionId, tools);
      tools.push({ name: call.name, ok, startUnixMs: atUnixMs - tookMs, endUnixMs: atUnixMs });
    } else if (event.type === 'ended') {
      const tools = this.#tools.get(sessionId) ?? [];
      this.#tools.delete(sessionId);
      this.#sink.add(spansOf(event.report, { agentId, tools, startUnixMs: atUnixMs - event.report.durationMs }));
    }
  }

  close(): Promise<void> {
    return this.#sink.close();
  }
}

/** The spans of an ended session, the root span first. */
export function spansOf(
  { sessionId, status, durationMs, turns, usage, promptTokens, completionTokens }: SessionReport,
  { agentId, tools, startUnixMs }: { agentId: string; tools: readonly ToolTime[]; startUnixMs: number },
): TraceSpan[] {
  const traceId = newTraceId();
  const span = (
    parentId: string | null,
    name: string,
    from: number,
    to: number,
    attributes: TraceSpan['attributes'],
  ): TraceSpan => ({
    traceId,
    spanId: newSpanId(),
    parentId,
    name,
    startUnixMs: from,
    endUnixMs: to,
    attributes,
  });
  // https://opentelemetry.io/docs/specs/semconv/gen-ai/
  const [llm] = usage.llm;
  const modelAttributes = {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': llm?.provider ?? null,
    'gen_ai.request.model': llm?.model ?? null,
  };
  const attributesOf = (stage: string): TraceSpan['attributes'] => {
    if (stage === 'llm') return modelAttributes;
    return stage === 'tts' ? { 'parley.provider': usage.tts[0]?.provider ?? null } : {};
  };
  const session = span(null, 'session', startUnixMs, startUnixMs + durationMs, {
    'session.id': sessionId,
    'parley.agent': agentId,
    'parley.status': status,
    'parley.turns': turns.length,
    ...modelAttributes,
    'gen_ai.conversation.id': sessionId,
    'gen_ai.usage.input_tokens': promptTokens,
    'gen_ai.usage.output_tokens': completionTokens,
  });
  const spans = [{ ...session, ok: status !== 'error' }];
  const begun: { fromUnixMs: number; spanId: string }[] = [];
  for (const turn of turns) {
    const times = timesOf(turn);
    if (times === null) continue;
    const at = (ms: number): number => startUnixMs + ms;
    const { turn: number, speculative, interrupted, responseMs } = turn;
    const own = span(session.spanId, 'turn', at(times.fromMs), at(times.toMs), {
      'parley.turn': number,
      'parley.speculative': speculative,
      'parley.interrupted': interrupted,
      'parley.response_ms': responseMs,
    });
    begun.push({ fromUnixMs: own.startUnixMs, spanId: own.spanId });
    const stages = times.stages.map(({ name, fromMs, toMs }) =>
      span(own.spanId, name, at(fromMs), at(toMs), attributesOf(name)),
    );
    spans.push({ ...own, ok: true }, ...stages.map((stage) => ({ ...stage, ok: true })));
  }
  for (const { name, ok, startUnixMs: from, endUnixMs: to } of tools) {
    const parent = begun.findLast(({ fromUnixMs }) => fromUnixMs <= from)?.spanId ?? session.spanId;
    spans.push({
      ...span(parent, 'tool', from, to, {
        'parley.tool': name,
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': name,
      }),
      ok,
    });
  }
  return spans;
}

/** Session times of a turn and its stages; null = the turn was never answered. */
function timesOf(turn: TurnMetrics): {
  fromMs: number;
  toMs: number;
  stages: { name: string; fromMs: number; toMs: number }[];
} | null {
  const { audioStartMs, responseMs, endOfTurnMs, llmFirstMs, firstSentenceMs, ttsFirstMs } = turn;
  if (audioStartMs === null || responseMs === null) return null;
  const fromMs = audioStartMs - responseMs;
  const decidedMs = fromMs + (endOfTurnMs ?? 0);
  const sentenceMs = decidedMs + (firstSentenceMs ?? 0);
  const stage = (name: string, begin: number, ms: number | null): { name: string; fromMs: number; toMs: number }[] =>
    ms === null ? [] : [{ name, fromMs: begin, toMs: begin + ms }];
  return {
    fromMs,
    toMs: audioStartMs,
    stages: [
      ...stage('end_of_turn', fromMs, endOfTurnMs),
      ...stage('llm', decidedMs, llmFirstMs),
      ...stage('sentence', decidedMs, firstSentenceMs),
      ...stage('tts', sentenceMs, ttsFirstMs),
    ],
  };
}
