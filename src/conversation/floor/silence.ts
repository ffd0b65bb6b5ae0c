import type { Core } from '../core.js';
import { onUserActive } from './inactivity.js';
import type { CommandRefusal, CommandOf } from '../control/command.js';
import { done, refuse } from '../control/outcome.js';
import { releaseHold } from '../control/release-hold.js';
import { owesReply, stopSpeaking, whyNotStop } from './steering.js';
import { onPerson } from '../voicemail/voicemail.js';
import { reopen } from '../reply/ending.js';

/** One side is silenced: muted, or on hold. */

export function mute(core: Core, { id, side, on }: CommandOf<'command.mute'>): void {
  const { muted } = core.state;
  if (muted[side] === on) {
    done(core, id);
    return;
  }
  const why = side === 'agent' && on ? whyNotStop(core) : whyNotNow(core);
  if (why !== null) {
    refuse(core, id, why);
    return;
  }
  muted[side] = on;
  if (side === 'agent' && on) fallSilent(core, 'the agent was muted');
  else onUserActive(core); // silence counts from here
  core.emit({ type: 'line.mute', side, on });
  done(core, id);
}

export function hold(core: Core, { id, music, maxMs }: CommandOf<'command.hold'>): void {
  const why = core.state.hold === null ? whyNotStop(core) : null;
  if (why !== null) {
    refuse(core, id, why);
    return;
  }
  if (core.state.hold === null) {
    const { reply, speech } = core.state;
    // Whoever waits for an answer, or for the rest of one, gets it afterwards.
    const isCut = reply?.asked == null && speech.queue.some(({ kind }) => kind === 'reply');
    const owes = isCut || owesReply(core);
    fallSilent(core, 'the user was put on hold');
    if (owes) core.state.hasUnreportedResults = true;
    core.state.hold = { sinceMs: core.nowMs };
    core.emit({ type: 'line.hold', music });
  }
  core.arm('hold', core.nowMs + maxMs);
  done(core, id);
}

export function unhold(core: Core, { id }: CommandOf<'command.unhold'>): void {
  if (releaseHold(core)) onUserActive(core);
  done(core, id);
}

/** The user was forgotten. */
export function onHoldDue(core: Core): void {
  core.trace('hold.timeout');
  if (releaseHold(core)) onUserActive(core);
}

/** Neither side is silenced: what the user does counts. */
export function isHeard(core: Core): boolean {
  return core.state.hold === null && !core.state.muted.user;
}

export function fallSilent(core: Core, reason: string): void {
  onPerson(core, reason);
  stopSpeaking(core);
  reopen(core);
  core.disarm('opening', 'filler', 'inactivity', 'idle');
}

function whyNotNow(core: Core): CommandRefusal | null {
  return core.state.ending?.reversible === false ? 'ending' : null;
}
