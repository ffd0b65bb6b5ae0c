import type { ChatMessage } from '../../agent/chat.js';
import { nearestRank } from '../../session/record/session-metrics.js';
import type { SessionReport } from '../../session/record/session-report.js';
import type { EvalLine, EvalMetrics, ExpectationResult, ModelIdentity, JudgeVote } from '../result.js';
import type { ArgumentMatchers, Expectation, ExpectedCall } from '../suite/expectation-schema.js';
import { textTest } from '../pattern.js';
import { inWords, mismatch, valueMatches } from './matchers.js';

/** The call that expectations are about. */
export interface CheckedCall {
  lines: readonly EvalLine[];
  metrics: EvalMetrics;
  report: SessionReport;
  /** What the persona knows, by name: its values. */
  facts: Readonly<Record<string, string | number | boolean>>;
  /** The language of the agent at the end of the call. */
  language: string;
}

/** What an expectation found: `line` is an index in the call's lines. */
export interface CheckOutcome {
  outcome: 'pass' | 'fail' | 'error';
  reason: string;
  line: number | null;
  votes?: readonly JudgeVote[];
  judge?: ModelIdentity;
}

/** Expectations that need more than the call itself. */
export interface Deciders {
  judge(rubric: { rubric: string; model?: string | undefined; votes?: number | undefined }): Promise<CheckOutcome>;
  saidLike(meaning: { text: string; at_least?: number | undefined }): Promise<CheckOutcome>;
  /** A function of the user. */
  check(path: string): Promise<CheckOutcome>;
}

type Kind = Expectation extends infer One ? (One extends unknown ? keyof One : never) : never;
type ValueOf<K extends Kind> = Extract<Expectation, Record<K, unknown>>[K];

const PASS: CheckOutcome = { outcome: 'pass', reason: '', line: null };

function fail(reason: string, line: number | null = null): CheckOutcome {
  return { outcome: 'fail', reason, line };
}

/** What an expectation is about, in words. */
export function expectationInWords(expectation: Expectation): string {
  const [kind, value] = Object.entries(expectation)[0] as [string, unknown];
  return `${kind} ${typeof value === 'string' ? JSON.stringify(value) : JSON.stringify(value)}`;
}

/** Checks one expectation. */
export async function checkExpectation(
  expectation: Expectation,
  index: number,
  call: CheckedCall,
  deciders: Deciders,
): Promise<ExpectationResult> {
  const [kind, value] = Object.entries(expectation)[0] as [Kind, never];
  const finding = await CHECKS[kind](value, call, deciders);
  return { index, kind, expected: expectationInWords(expectation), ...finding };
}

const CHECKS: {
  [K in Kind]: (value: ValueOf<K>, call: CheckedCall, deciders: Deciders) => CheckOutcome | Promise<CheckOutcome>;
} = {
  tool_called: toolCalled,
  tool_not_called: toolNotCalled,
  tools_called: toolsCalled,
  said: (pattern, call) => said(pattern, call),
  not_said: notSaid,
  said_like: (meaning, _call, deciders) => deciders.saidLike(meaning),
  understood,
  facts,
  ends,
  transferred,
  pressed,
  turns: (range, { metrics }) => within('turns of the caller', metrics.callerTurns, range),
  talk_ratio: (range, { metrics }) => within('talk ratio', metrics.talkRatio, range),
  response_time: responseTime,
  cut_offs: cutOffs,
  dead_air: ({ max_ms: max }, { metrics }) => within('longest silence in ms', metrics.longestSilenceMs, { max }),
  faults: faultCount,
  language: (language, call) =>
    call.language.toLowerCase().startsWith(language.toLowerCase())
      ? PASS
      : fail(`the agent speaks ${call.language} at the end`),
  judge: (rubric, _call, deciders) => deciders.judge(rubric),
  check: (path, _call, deciders) => deciders.check(path),
};

type ToolLine = Extract<EvalLine, { type: 'tool' }>;

function toolLines({ lines }: CheckedCall, name?: string): (readonly [index: number, line: ToolLine])[] {
  return lines.flatMap((line, index) =>
    line.type === 'tool' && (name === undefined || line.name === name) ? [[index, line] as const] : [],
  );
}

function argumentsOf({ arguments: text }: ToolLine): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function toolCalled(expected: string | ExpectedCall, call: CheckedCall): CheckOutcome {
  const { name, arguments: matchers = {}, times, ok } = typeof expected === 'string' ? named(expected) : expected;
  const calls = toolLines(call, name);
  if (calls.length === 0) {
    const others = [...new Set(toolLines(call).map(([, line]) => line.name))];
    return fail(`${name} is never called${others.length === 0 ? '' : `; called: ${others.join(', ')}`}`);
  }
  const problems = calls.map(([, line]) => problemOf(line, matchers, ok));
  const matching = problems.filter((problem) => problem === null).length;
  if (times === undefined ? matching > 0 : matching === times) return PASS;
  if (times !== undefined && matching > 0)
    return fail(`${name} is called ${String(matching)} times, not ${String(times)}`);
  const last = calls.length - 1;
  return fail(`${name} is called, but ${problems[last] ?? ''}`, calls[last]?.[0] ?? null);
}

function named(name: string): ExpectedCall {
  return { name };
}

function problemOf(line: ToolLine, matchers: ArgumentMatchers, ok: boolean | undefined): string | null {
  if (ok !== undefined && line.ok !== ok) return ok ? `it fails: ${line.result}` : 'it succeeds';
  return mismatch(matchers, argumentsOf(line));
}

function toolNotCalled(expected: string | Omit<ExpectedCall, 'times'>, call: CheckedCall): CheckOutcome {
  const { name, arguments: matchers = {}, ok } = typeof expected === 'string' ? named(expected) : expected;
  const found = toolLines(call, name).find(([, line]) => problemOf(line, matchers, ok) === null);
  return found === undefined ? PASS : fail(`${name}(${found[1].arguments}) is called`, found[0]);
}

function toolsCalled(names: readonly string[], call: CheckedCall): CheckOutcome {
  const called = toolLines(call).map(([, line]) => line.name);
  const same = called.length === names.length && called.every((name, index) => name === names[index]);
  return same ? PASS : fail(`called: ${called.join(', ') || 'none'}`);
}

function said(pattern: string, { lines }: CheckedCall): CheckOutcome {
  const test = textTest(pattern);
  const agent = lines.filter((line) => line.type === 'agent').map(({ text }) => text);
  if (agent.some(test) || test(agent.join(' '))) return PASS;
  return fail(`the agent never says ${JSON.stringify(pattern)}`);
}

function notSaid(pattern: string, { lines }: CheckedCall): CheckOutcome {
  const test = textTest(pattern);
  const index = lines.findIndex((line) => line.type === 'agent' && test(line.text));
  return index < 0 ? PASS : fail(`the agent says ${JSON.stringify(pattern)}`, index);
}

function understood(pattern: string, { lines, report }: CheckedCall): CheckOutcome {
  const test = textTest(pattern);
  const heard = report.messages.filter(({ role }) => role === 'user').map(({ content }: ChatMessage) => content);
  if (heard.some(test)) return PASS;
  const index = lines.findIndex((line) => line.type === 'caller' && test(line.text));
  const line = lines[index];
  const instead = line?.type === 'caller' ? `; it understands ${JSON.stringify(line.understood ?? '')} there` : '';
  return fail(`the agent never understands ${JSON.stringify(pattern)}${instead}`, index < 0 ? null : index);
}

function facts(expected: readonly string[] | ArgumentMatchers, call: CheckedCall): CheckOutcome {
  const established: Record<string, unknown> = {};
  for (const [, line] of toolLines(call)) if (line.ok) Object.assign(established, argumentsOf(line));
  const wanted: ArgumentMatchers = Array.isArray(expected)
    ? Object.fromEntries((expected as readonly string[]).map((name) => [name, call.facts[name] ?? null]))
    : (expected as ArgumentMatchers);
  for (const [name, matcher] of Object.entries(wanted)) {
    if (matcher === null && Array.isArray(expected))
      return { outcome: 'error', reason: `the persona has no fact ${name}`, line: null };
    if (!valueMatches(matcher, established[name])) {
      return fail(`${name} is ${JSON.stringify(established[name]) ?? 'not established'}, not ${inWords(matcher)}`);
    }
  }
  return PASS;
}

function ends(expected: ValueOf<'ends'>, { lines, report, metrics }: CheckedCall): CheckOutcome {
  const { status, by, within_s: seconds } = expected;
  const index = lines.findIndex(({ type }) => type === 'end');
  const end = lines[index];
  const wanted = status === undefined ? null : typeof status === 'string' ? [status] : status;
  if (wanted !== null && !wanted.includes(report.status)) return fail(`the call ends as ${report.status}`, index);
  if (by !== undefined && end?.type === 'end' && end.by !== by)
    return fail(`the call is ended by the ${end.by}`, index);
  if (seconds !== undefined && metrics.durationMs > seconds * 1000) {
    return fail(`the call lasts ${(metrics.durationMs / 1000).toFixed(1)} s`, index);
  }
  return PASS;
}

function transferred(target: string | false, { lines, report }: CheckedCall): CheckOutcome {
  const done = report.transfers.find(({ ok }) => ok);
  const index = lines.findIndex(({ type }) => type === 'transfer');
  if (target === false) return done === undefined ? PASS : fail(`the call is transferred to ${done.target}`, index);
  if (done === undefined) return fail('the call is not transferred', index < 0 ? null : index);
  return done.target === target ? PASS : fail(`the call is transferred to ${done.target}`, index);
}

function pressed(keys: string, { lines }: CheckedCall): CheckOutcome {
  const all = lines.flatMap((line) => (line.type === 'keys' && line.by === 'agent' ? [line.keys] : [])).join('');
  return all.replaceAll('w', '').includes(keys) ? PASS : fail(`the agent presses ${all === '' ? 'no keys' : all}`);
}

function within(
  what: string,
  value: number,
  { min, max }: { min?: number | undefined; max?: number | undefined },
): CheckOutcome {
  const shown = Number.isInteger(value) ? String(value) : value.toFixed(2);
  if (min !== undefined && value < min) return fail(`${what}: ${shown}, at least ${String(min)} is needed`);
  if (max !== undefined && value > max) return fail(`${what}: ${shown}, at most ${String(max)} is allowed`);
  return PASS;
}

function responseTime(limits: ValueOf<'response_time'>, { lines, metrics }: CheckedCall): CheckOutcome {
  const times = metrics.responseMs;
  if (times.length === 0) return fail('the agent answers no turn');
  const at = nearestRank(times);
  const figures = [
    ['median', limits.p50_ms, at(0.5)],
    ['95th percentile', limits.p95_ms, at(0.95)],
    ['longest', limits.max_ms, Math.max(...times)],
  ] as const;
  for (const [name, limit, value] of figures) {
    if (limit === undefined || value <= limit) continue;
    const line = lines.findIndex((one) => one.type === 'caller' && one.responseMs !== null && one.responseMs >= value);
    return fail(
      `response time, ${name}: ${String(Math.round(value))} ms, at most ${String(limit)} ms is allowed`,
      line,
    );
  }
  return PASS;
}

function cutOffs({ max }: { max: number }, { lines, metrics }: CheckedCall): CheckOutcome {
  if (metrics.cutOffs <= max) return PASS;
  const line = lines.findIndex((one) => one.type === 'caller' && one.cutOff);
  return fail(`the agent speaks into ${String(metrics.cutOffs)} turns, at most ${String(max)} is allowed`, line);
}

function faultCount({ max }: { max: number }, { report }: CheckedCall): CheckOutcome {
  const count = Object.values(report.faults).reduce((sum, one) => sum + one, 0);
  return count <= max ? PASS : fail(`${String(count)} faults: ${Object.keys(report.faults).join(', ')}`);
}
