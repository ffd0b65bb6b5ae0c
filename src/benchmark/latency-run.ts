import { VirtualClock } from '../clock/virtual.js';
import type { AgentConfig } from '../config/agent.js';
import { Engine } from '../engine/engine.js';
import type { EngineOptions } from '../engine/options.js';
import { type LatencySummary, summarise } from './latency-summary.js';
import type { MeasuredTurn } from './measured-turn.js';
import { playRecording } from './play-recording.js';
import { doubles, type ProviderTimes } from './provider-set.js';
import type { Recording } from './recording.js';

export interface LatencyRunOptions {
  recordings: readonly Recording[];
  agent: AgentConfig;
  /** Rules of the scripted model. Default none. */
  script?: unknown;
  /** Doubles with these times in place of the agent's providers. Default: the agent's own. */
  times?: ProviderTimes;
  /** Called by the doubles before every answer: a function of the agent's. Default none. */
  tool?: string;
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
  summary: LatencySummary;
  /** Faults of all sessions by name, with how often each occurred. */
  faults: Readonly<Record<string, number>>;
}

/**
 * Plays recordings to an agent, each in a session of its own, one after the other, and measures every answer.
 * @throws ParleyError as `Engine.createSession`; the signal's reason when it is aborted
 */
export async function runLatency(options: LatencyRunOptions): Promise<LatencyRun> {
  const { recordings, agent, script, times, tool, rounds = 1, seed = 1, onProgress, signal } = options;
  const engine = new Engine(options.engine);
  const turns: MeasuredTurn[] = [];
  const faults: Record<string, number> = {};
  let done = 0;
  try {
    if (!(engine.clock instanceof VirtualClock)) await engine.warmUp();
    for (let round = 0; round < rounds; round++) {
      for (const recording of recordings) {
        const providers =
          times && doubles(recording, { times, seed: seed + done, ...(tool !== undefined && { tool }) });
        const request = { agent, ...(script !== undefined && { script }), ...providers };
        const played = await playRecording(engine, recording, request, signal);
        turns.push(...played.turns);
        for (const [name, count] of Object.entries(played.report.faults)) faults[name] = (faults[name] ?? 0) + count;
        done++;
        onProgress?.(done / (rounds * recordings.length));
      }
    }
  } finally {
    await engine.close();
  }
  return { turns, summary: summarise(turns), faults };
}
