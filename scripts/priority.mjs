import { writeFileSync } from 'node:fs';

/** Of `nice`: a third of the share of what has none, so that it goes on beside other work of the machine, too. */
export const LOW_PRIORITY = 5;

/**
 * Where Linux gives each session a share of the processor of its own, the priorities of processes hold inside of it
 * only (sched(7), the autogroup feature). This is the priority of the session's share.
 * @param {number | undefined} pid of the session's first process
 * @param {number} priority
 */
export function setSessionPriority(pid, priority) {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(priority));
  } catch {
    // There is no such feature here.
  }
}
