/**
 * Work for many calls that comes to a thread at once, as the datagrams of one turn of its event loop do. What is cheaper
 * done for all of them together waits for the end of it.
 */

let isGathering = false;
const waiting: (() => void)[] = [];

/** Whether a gathering is under way, at whose end `whenGathered` acts. */
export function gathers(): boolean {
  return isGathering;
}

/**
 * Runs `work`, and then what has waited for its end, in the order in which it came to wait. Within another gathering it is
 * part of that one. What waits must not throw.
 */
export function gather(work: () => void): void {
  if (isGathering) {
    work();
    return;
  }
  isGathering = true;
  try {
    work();
  } finally {
    end();
  }
}

/** For work that comes piece by piece, each from a socket of its own: gathers until the turn of the event loop is over. */
export function gatherTurn(): void {
  if (isGathering) return;
  isGathering = true;
  setImmediate(end);
}

/** Runs `act` at the end of the gathering that is under way. */
export function whenGathered(act: () => void): void {
  waiting.push(act);
}

function end(): void {
  isGathering = false;
  for (const act of waiting.splice(0)) act();
}
