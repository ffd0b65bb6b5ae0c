import type { Conduct } from './caller-sound.js';
import type { LoopSeen } from './busy-loop.js';
import type { Lateness } from './frame-lateness.js';

/**
 * `memory`: nothing between caller and session; the others over this machine's loopback, callers in another process. `rtp-cn`:
 * comfort noise is agreed upon (RFC 3389), so that silence of the agent's is a packet every half second.
 */
export const WAYS = ['memory', 'talk', 'rtp', 'rtp-cn', 'webrtc'] as const;
export type Way = (typeof WAYS)[number];
export const VADS = ['silero', 'silero-wasm', 'silero-gated', 'webrtc'] as const;
export type VadName = (typeof VADS)[number];
export const CONDUCTS = ['idle', 'listening', 'talking'] as const satisfies readonly Conduct[];
/** Beside doubles for the rest, the embedded recogniser and voice. */
export const ENGINES = ['doubles', 'embedded'] as const;

export interface CapacityCase {
  way: Way;
  vad: VadName;
  conduct: Conduct;
  engines: (typeof ENGINES)[number];
  /** Threads that run sessions beside the main one, an engine each; 0 = the main thread does. */
  threads: number;
  sessions: number;
}

/** What came out. Processor time is of the sessions' process, ms in a second of wall time, all sessions together. */
export interface CapacityResult extends CapacityCase {
  processMs: number;
  /** Of the thread that is busiest. */
  threadMs: number;
  /** How long that thread was ready to run and waited for a processor. */
  waitedMs: number;
  lateness: Lateness;
  /** A loop of plain arithmetic that kept a thread as busy, right behind the case: what is late there is the machine's. */
  loop: LoopSeen;
  /** How late the event loop of any of the threads with sessions was, ms. */
  loopP99: number;
  loopMax: number;
  /** Resident memory of the process, and heap with buffers behind a full collection of its threads. */
  rssBytes: number;
  rssBeforeBytes: number;
  keptBytes: number;
  keptBeforeBytes: number;
  answers: number;
  /** The same, minute by minute, where the sessions are to run on for some. */
  growth: readonly { keptBytes: number; rssBytes: number }[];
  /** Of the callers' process; null where there is none. */
  callersMs: number | null;
  loadAverage: number;
}

/** Late frames beyond this share are too many. */
export const LATE_SHARE = 0.001;

/** One moment of a machine that stood still: of few sessions' frames it is a large share. */
const LEAST_LATE = 10;

/** Whether so many do not fit: more frames are late than may be, and than the machine itself makes late. */
export function isTooMany({ lateness, loop }: CapacityResult): boolean {
  return lateness.late > Math.max(LEAST_LATE, lateness.frames * Math.max(LATE_SHARE, loop.lateShare));
}

export interface CapacityChoice {
  ways: readonly Way[];
  vads: readonly VadName[];
  conducts: readonly Conduct[];
  engines: CapacityCase['engines'];
  threads: readonly number[];
  sessions: readonly number[];
}

/** A row of cases that differ in the number of sessions alone, fewest first. */
export type Series = readonly CapacityCase[];

/** All combinations. */
export function seriesOf(choice: CapacityChoice): Series[] {
  const { ways, vads, conducts, engines, threads } = choice;
  const sessions = choice.sessions.toSorted((a, b) => a - b);
  return ways.flatMap((way) =>
    vads.flatMap((vad) =>
      conducts.flatMap((conduct) =>
        threads.map((threadCount) =>
          sessions.map((count) => ({ way, vad, conduct, engines, threads: threadCount, sessions: count })),
        ),
      ),
    ),
  );
}

/** Without options: from 50 sessions with Silero over RTP, one thing changed at a time, and how many fit idle. */
export function usualSeries(): Series[] {
  const one = { ways: ['rtp'], vads: ['silero'], conducts: ['idle'], engines: 'doubles', threads: [0] } as const;
  return [
    ...seriesOf({ ...one, sessions: [1, 50, 200, 400] }),
    ...seriesOf({ ...one, vads: ['silero-wasm', 'silero-gated', 'webrtc'], sessions: [50] }),
    ...seriesOf({ ...one, ways: ['memory', 'talk', 'rtp-cn', 'webrtc'], sessions: [50] }),
    ...seriesOf({
      ...one,
      ways: ['memory', 'talk', 'rtp', 'webrtc'],
      conducts: ['listening', 'talking'],
      sessions: [50],
    }),
    ...seriesOf({ ...one, threads: [1, 2], sessions: [50] }),
  ];
}
