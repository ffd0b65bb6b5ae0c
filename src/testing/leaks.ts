import { delay, type Clock } from '../base/clock.js';
import { RealClock } from '../base/real-clock.js';
import { ParleyError } from '../base/errors.js';

/** Counts of active resources by kind: timers, sockets, child processes, worker threads and so on. */
export type RunningResources = ReadonlyMap<string, number>;

export interface LeakOptions {
  /** How long closing may take: sockets and processes end some turns of the event loop after `close`. Default 1000. */
  graceMs?: number;
  /** Default: real time, because the resources are real. */
  clock?: Clock;
}

const NAMES: Readonly<Record<string, string>> = {
  FSEventWrap: 'file watcher',
  Immediate: 'immediate',
  MessagePort: 'message port',
  PipeWrap: 'pipe',
  ProcessWrap: 'child process',
  TCPServerWrap: 'TCP server',
  TCPSocketWrap: 'TCP socket',
  TLSWrap: 'TLS socket',
  Timeout: 'timer',
  UDPWrap: 'UDP socket',
};

const STEP_MS = 10;

/** Counts active resources, including unreferenced worker threads, but no unreferenced timers or sockets. Takes 10 ms. */
export function runningResources(): RunningResources {
  const counts = new Map<string, number>();
  for (const type of process.getActiveResourcesInfo()) {
    const name = NAMES[type] ?? type;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  // Only the diagnostic report lists unreferenced worker threads.
  const { workers } = process.report.getReport() as { workers?: unknown[] };
  if (workers !== undefined && workers.length > 0) counts.set('worker thread', workers.length);
  return counts;
}

/**
 * Checks that all resources opened since `before` are closed, for example after closing a session.
 * @throws ParleyError LEFT_RUNNING with the kinds and counts of the others
 */
export async function assertNothingLeft(before: RunningResources, options: LeakOptions = {}): Promise<void> {
  const clock = options.clock ?? new RealClock();
  const untilMs = clock.nowMs() + (options.graceMs ?? 1000);
  for (;;) {
    const left = more(runningResources(), before);
    if (left.length === 0) return;
    if (clock.nowMs() >= untilMs) throw new ParleyError('LEFT_RUNNING', { resources: left.join(', ') });
    await delay(clock, STEP_MS);
  }
}

function more(now: RunningResources, before: RunningResources): string[] {
  const left: string[] = [];
  for (const [name, count] of now) {
    const extra = count - (before.get(name) ?? 0);
    if (extra > 0) left.push(`${String(extra)} ${name}${extra > 1 ? 's' : ''}`);
  }
  return left;
}
