import { readdirSync, readFileSync } from 'node:fs';

/** Milliseconds of processor time since the process began: all of it, and the main thread's. */
export interface CpuTimes {
  readonly processMs: number;
  /** Null where the system does not tell (it is Linux's /proc). */
  readonly mainMs: number | null;
  /** How long the main thread was ready to run and had no processor: other processes' doing. */
  readonly mainStolenMs: number | null;
}

export function cpuTimes(): CpuTimes {
  const { user, system } = process.cpuUsage();
  const main = schedule(process.pid);
  return { processMs: (user + system) / 1000, mainMs: main?.[0] ?? null, mainStolenMs: main?.[1] ?? null };
}

/** Of a thread since it began: milliseconds that it ran, and that it was ready to run and had no processor. */
export interface ThreadTime {
  readonly ranMs: number;
  readonly waitedMs: number;
}

/** Each thread that runs now, by its id. Empty where the system does not tell. */
export function threadTimes(): Map<number, ThreadTime> {
  const times = new Map<number, ThreadTime>();
  try {
    for (const id of readdirSync('/proc/self/task').map(Number)) {
      const time = schedule(id);
      if (time !== null) times.set(id, { ranMs: time[0], waitedMs: time[1] });
    }
  } catch {
    // no Linux
  }
  return times;
}

/** Milliseconds that a thread ran and that it waited for a processor. */
function schedule(thread: number): [ranMs: number, waitedMs: number] | null {
  try {
    const [ran = 0, waited = 0] = readFileSync(`/proc/self/task/${String(thread)}/schedstat`, 'utf8')
      .split(' ')
      .map(Number);
    return [ran / 1e6, waited / 1e6];
  } catch {
    return null;
  }
}
