/**
 * Batches work that many calls cause in one turn of the event loop, such as received datagrams. Work that is cheaper
 * when done together waits until the end of the turn.
 */

let isGathering = false;
const waiting: (() => void)[] = [];

/** Whether a batch is open; `whenGathered` then waits for its end. */
export function gathers(): boolean {
  return isGathering;
}

/**
 * Runs `work` as a batch, then the actions that wait for its end, in order. Inside another batch, `work` is part of that
 * one. The actions must not throw.
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

/** Opens a batch until the end of this turn of the event loop, for work that arrives from several sockets. */
export function gatherTurn(): void {
  if (isGathering) return;
  isGathering = true;
  setImmediate(end);
}

/** Runs `act` at the end of the open batch. */
export function whenGathered(act: () => void): void {
  waiting.push(act);
}

function end(): void {
  isGathering = false;
  for (const act of waiting.splice(0)) act();
}
