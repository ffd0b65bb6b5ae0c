import { VirtualClock } from '../base/virtual-clock.js';
import type { AgentConfig } from '../agent/agent.js';
import { Engine } from '../engine/engine.js';
import type { EngineOptions } from '../engine/options.js';
import { type BenchSummary, summarise } from './latency-summary.js';
import type { ToolUse } from './doubles/recorded-stt.js';
import type { OpenLine } from './lines/line.js';
import { type LineName, lineOpener } from './lines/registry.js';
import type { MeasuredTurn } from './measured-turn.js';
import { playRecording } from './play-recording.js';
import { doubles, type ProviderTimes } from './provider-set.js';
import type { LabelledRecording } from './recording.js';

export interface LatencyRunOptions {
  recordings: readonly LabelledRecording[];
  agent: AgentConfig;
  /** Rules of the scripted model. Default none. */
  script?: unknown;
  /** Doubles with these times in place of the agent's providers. Default: the agent's own. */
  times?: ProviderTimes;
  /** Called by the doubles before answers: a function of the agent's. Default none. */
  tool?: ToolUse;
  /** What the recordings are played over. Default `file`, the only one in virtual time. */
  line?: LineName;
  /** So many recordings are played at once; in virtual time 1. Default 1. */
  lanes?: number;
  /** Default: a RealClock. With a VirtualClock the engine's own are the only ones that may be named. */
  engine?: EngineOptions;
  /** Each recording so often; the doubles' latencies differ from round to round. Default 1. */
  rounds?: number;
  /** What the latencies of doubles are drawn from. Default 1. */
  seed?: number;
  /** What part of the run is done, 0..1. */
  onProgress?: (share: number) => void;
  signal: AbortSignal;
}

export interface LatencyRun {
  turns: readonly MeasuredTurn[];
  summary: BenchSummary;
  /** Faults of all sessions by name, with how often each occurred. */
  faults: Readonly<Record<string, number>>;
}

/**
 * Plays recordings to an agent, each in a session of its own, and measures every answer.
 * @throws ParleyError as `Engine.createSession`; the signal's reason when it is aborted
 */
export async function runLatency(options: LatencyRunOptions): Promise<LatencyRun> {
  const { recordings, agent, script, times, tool, rounds = 1, seed = 1, onProgress, signal } = options;
  const engine = new Engine(options.engine);
  const isVirtual = engine.clock instanceof VirtualClock;
  const queue = Array.from({ length: rounds }, () => recordings).flat();
  const measured: (readonly MeasuredTurn[])[] = [];
  const faults: Record<string, number> = {};
  let [next, done] = [0, 0];
  const lane = async (openLine: OpenLine): Promise<void> => {
    for (;;) {
      const index = next++;
      const recording = queue[index];
      if (recording === undefined) return;
      const providers = times && doubles(recording, { times, seed: seed + index, ...(tool !== undefined && { tool }) });
      const request = { agent, ...(script !== undefined && { script }), ...providers };
      const played = await playRecording(engine, recording, request, signal, openLine);
      measured[index] = played.turns;
      for (const [name, count] of Object.entries(played.report.faults)) faults[name] = (faults[name] ?? 0) + count;
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
  return { turns, summary: summarise(turns), faults };
}
