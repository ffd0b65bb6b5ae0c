import { VirtualClock } from '../base/virtual-clock.js';
import type { AgentConfig } from '../agent/agent.js';
import { Engine } from '../engine/engine.js';
import type { EngineOptions, SessionRequest } from '../engine/options.js';
import type { ToolUse } from './doubles/recorded-stt.js';
import { type OpenLine, type LineName, lineOpener, openFileLine } from './lines.js';
import { type MeasuredTurn, type SessionTimes, measureTurns, type LatencyStage, STAGES } from './measured-turn.js';
import { doubles, type ProviderTimes } from './provider-set.js';
import type { LabelledRecording } from './recording.js';
import { FRAME_MS, HEARING_RATE_HZ, samplesToMs } from '../audio/frame.js';
import { delay } from '../base/clock.js';
import type { SessionReport } from '../session/record/session-report.js';
import { nearestRank } from '../session/record/session-metrics.js';

export interface PlayedRecording {
  turns: readonly MeasuredTurn[];
  report: SessionReport;
}

/** Time for the last answer after the recording. */
const AFTER_MS = 6000;
/** Length of the last answer before the user hangs up. */
const LAST_ANSWER_MS = 1000;
/** Peak level of an audible frame: -44 dBFS. */
const LOUD = 200;

/**
 * Plays a recording to an agent, frame by frame, and measures each answer at the far end of the line, in real time or,
 * with an engine on a VirtualClock and a file line, in virtual time. The user hangs up 1 s into the last answer, or 6 s
 * after the end of the recording.
 * @param request the session without its line
 * @throws ParleyError as `Engine.createSession`; the signal's reason if it aborts
 */
export async function playRecording(
  engine: Engine,
  recording: LabelledRecording,
  request: Omit<SessionRequest, 'transport' | 'observe'>,
  signal: AbortSignal,
  openLine: OpenLine = openFileLine,
): Promise<PlayedRecording> {
  signal.throwIfAborted();
  const { clock, ticker } = engine;
  const { samples } = recording;
  const heard = { finalsMs: [] as number[], soundsMs: [] as number[], toolsMs: [] as number[] } satisfies SessionTimes;
  /** When each frame of the recording was sent, which is when its last sample was spoken. */
  const sentMs: number[] = [];
  const line = await openLine({
    samples,
    clock,
    ticker,
    onSaid: (frames) => {
      for (let frame = 0; frame < frames; frame++) sentMs.push(clock.nowMs());
    },
    onHeard: (frame) => {
      if (frame?.some((sample) => Math.abs(sample) > LOUD) === true) heard.soundsMs.push(clock.nowMs());
    },
  });
  const spokenAt = (labelMs: number): number => {
    const index = Math.min(Math.max(Math.ceil(labelMs / FRAME_MS) - 1, 0), sentMs.length - 1);
    return (sentMs[index] ?? Number.NaN) - ((index + 1) * FRAME_MS - labelMs);
  };
  const lastMs = recording.turns.at(-1)?.endMs ?? 0;
  const isOver = (): boolean => sentMs.length * FRAME_MS >= lastMs && clock.nowMs() > spokenAt(lastMs);
  const over = new AbortController();
  const hangUpIn = (ms: number): void => {
    void delay(clock, ms, over.signal).then(
      () => line.hangUp(),
      () => undefined,
    );
  };
  const making = engine.createSession({
    ...request,
    transport: line.transport,
    observe: (event) => {
      if (event.type === 'transcript' && event.isFinal) heard.finalsMs.push(clock.nowMs());
      if (event.type === 'tool') heard.toolsMs.push(clock.nowMs());
      if (event.type === 'answered' && event.metrics.heard !== null && isOver()) hangUpIn(LAST_ANSWER_MS);
    },
  });
  const session = await making.catch(async (error: unknown) => {
    await line.hangUp();
    throw error;
  });
  const startMs = clock.nowMs();
  const onAbort = (): void => void session.close();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    let report: SessionReport | undefined;
    line.speak();
    const running = session.run().then((done) => (report = done));
    hangUpIn(samplesToMs(samples.length, HEARING_RATE_HZ) + AFTER_MS);
    if (clock instanceof VirtualClock) await clock.runUntil(() => report !== undefined);
    const done = await running;
    signal.throwIfAborted();
    const turns = recording.turns.map((turn) => ({
      text: turn.text,
      startMs: spokenAt(turn.startMs),
      endMs: spokenAt(turn.endMs),
    }));
    const moved = done.turns.map((turn) => ({
      ...turn,
      speechEndMs: turn.speechEndMs === null ? null : turn.speechEndMs + startMs,
      audioStartMs: turn.audioStartMs === null ? null : turn.audioStartMs + startMs,
    }));
    return { turns: measureTurns(recording.name, turns, moved, heard), report: done };
  } finally {
    over.abort();
    signal.removeEventListener('abort', onAbort);
    await line.hangUp();
    await session.close();
  }
}

export interface LatencyRunOptions {
  recordings: readonly LabelledRecording[];
  agent: AgentConfig;
  /** Rules of the scripted model. Default none. */
  script?: unknown;
  /** Replaces the agent's providers by doubles with these latencies. Default: the agent's own providers. */
  times?: ProviderTimes | undefined;
  /** A function of the agent that the doubles call before answers. Default none. */
  tool?: ToolUse;
  /** The line to play the recordings over. Default `file`, the only one in virtual time. */
  line?: LineName;
  /** Concurrent recordings; always 1 in virtual time. Default 1. */
  lanes?: number;
  /** Default: real time. With a VirtualClock only embedded providers and doubles are possible. */
  engine?: EngineOptions;
  /** How often to play each recording; the doubles' latencies differ between rounds. Default 1. */
  rounds?: number;
  /** Seed of the doubles' latencies. Default 1. */
  seed?: number;
  /** @param share completed part of the run, 0..1 */
  onProgress?: (share: number) => void;
  signal: AbortSignal;
}

export interface LatencyRun {
  turns: readonly MeasuredTurn[];
  summary: BenchSummary;
  /** Counts of faults in all sessions, by name. */
  faults: Readonly<Record<string, number>>;
  cost: ModelCost;
}

/**
 * Plays recordings to an agent, each in its own session, and measures every answer.
 * @throws ParleyError as `Engine.createSession`; the signal's reason if it aborts
 */
export async function runLatency(options: LatencyRunOptions): Promise<LatencyRun> {
  const { recordings, agent, script, times, tool, rounds = 1, seed = 1, onProgress, signal } = options;
  const engine = new Engine(options.engine);
  const isVirtual = engine.clock instanceof VirtualClock;
  const queue = Array.from({ length: rounds }, () => recordings).flat();
  const measured: (readonly MeasuredTurn[])[] = [];
  const faults: Record<string, number> = {};
  const cost = noModelCost();
  let [next, done] = [0, 0];
  const lane = async (openLine: OpenLine): Promise<void> => {
    for (;;) {
      const index = next++;
      const recording = queue[index];
      if (recording === undefined) return;
      const providers =
        times && doubles(recording, { times, seed: seed + index, tool, onRequest: () => cost.requests++ });
      const request = { agent, script, ...providers };
      const played = await playRecording(engine, recording, request, signal, openLine);
      measured[index] = played.turns;
      for (const [name, count] of Object.entries(played.report.faults)) faults[name] = (faults[name] ?? 0) + count;
      addWasted(cost, played.report, providers !== undefined);
      onProgress?.(++done / queue.length);
    }
  };
  try {
    if (!isVirtual) await engine.warmUp();
    const openLine = await lineOpener(options.line ?? 'file', engine.clock);
    await Promise.all(Array.from({ length: isVirtual ? 1 : (options.lanes ?? 1) }, () => lane(openLine)));
  } finally {
    await engine.close();
  }
  const turns = measured.flat();
  return { turns, summary: summarise(turns), faults, cost };
}

/** What a run asked of the model, and what of it was thrown away because it was not the answer. Tokens are estimated. */
export interface ModelCost {
  /** Requests to doubles; 0 with other models. */
  requests: number;
  wastedPromptTokens: number;
  wastedAnswerTokens: number;
}

/** Characters of an English token, about. */
const CHARS_PER_TOKEN = 4;

export function noModelCost(): ModelCost {
  return { requests: 0, wastedPromptTokens: 0, wastedAnswerTokens: 0 };
}

/**
 * Adds what one session threw away.
 * @param isDouble the model reports no usage of its own: what is reported are second requests that lost
 */
export function addWasted(
  cost: ModelCost,
  { speculation, promptTokens }: Pick<SessionReport, 'speculation' | 'promptTokens'>,
  isDouble: boolean,
): void {
  cost.wastedPromptTokens += speculation.wastedPromptChars / CHARS_PER_TOKEN + (isDouble ? promptTokens : 0);
  cost.wastedAnswerTokens += speculation.wastedModelChars / CHARS_PER_TOKEN;
}

export function sumOfCosts(costs: readonly ModelCost[]): ModelCost {
  const sum = noModelCost();
  for (const cost of costs) {
    sum.requests += cost.requests;
    sum.wastedPromptTokens += cost.wastedPromptTokens;
    sum.wastedAnswerTokens += cost.wastedAnswerTokens;
  }
  return sum;
}

/** Percentiles in milliseconds, by nearest rank: each is a measured value. */
export interface Spread {
  count: number;
  p50: number;
  p90: number;
  p95: number;
  p99: number;
}

export interface BenchSummary {
  turns: number;
  answered: number;
  /** The agent spoke before the user had finished. */
  cutOff: number;
  unanswered: number;
  /** Answers that started before the decision that the turn is over. */
  speculative: number;
  response: Spread | null;
  /** First turns of recordings, later turns, and turns with a tool call. */
  byKind: { first: Spread | null; later: Spread | null; tool: Spread | null };
  stages: Readonly<Record<LatencyStage, Spread | null>>;
  /** From the decision that the turn is over to the first frame at the far end. */
  afterDecision: Spread | null;
}

export function summarise(turns: readonly MeasuredTurn[]): BenchSummary {
  const of = (outcome: MeasuredTurn['outcome']): number => turns.filter((turn) => turn.outcome === outcome).length;
  const response = (among: readonly MeasuredTurn[]): Spread | null =>
    spread(among.flatMap((turn) => turn.responseMs ?? []));
  const plain = turns.filter(({ tool }) => !tool);
  return {
    turns: turns.length,
    answered: of('answered'),
    cutOff: of('cut off'),
    unanswered: of('unanswered'),
    speculative: turns.filter(({ speculative, outcome }) => speculative && outcome === 'answered').length,
    response: response(turns),
    byKind: {
      first: response(plain.filter(({ index }) => index === 0)),
      later: response(plain.filter(({ index }) => index > 0)),
      tool: response(turns.filter(({ tool }) => tool)),
    },
    stages: Object.fromEntries(
      STAGES.map((stage) => [stage, spread(turns.flatMap((turn) => turn.stages[stage] ?? []))]),
    ) as BenchSummary['stages'],
    afterDecision: spread(
      turns.flatMap(({ responseMs, stages: { endOfTurn } }) =>
        responseMs === null || endOfTurn === null ? [] : responseMs - endOfTurn,
      ),
    ),
  };
}

export function spread(values: readonly number[]): Spread | null {
  if (values.length === 0) return null;
  const at = nearestRank(values);
  return { count: values.length, p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99) };
}
