import { type ConfigChanges, mergeConfig } from '../merge-config.js';
import type { Timeline } from '../stage-timeline.js';
import { checkChanges } from './check-changes.js';
import type { EventLog } from './read-log.js';
import { recordingOf } from './recording.js';
import { reenact } from './reenactment.js';

/** What either side said in one turn. */
export interface PlayedTurn {
  /** When the user's turn was taken to be over, null for the opening. */
  decidedMs: number | null;
  /** Empty for the opening. */
  user: string;
  /** What the agent had the user hear until the next turn, cut to what was heard. */
  agent: { fromMs: number; text: string; isWhole: boolean }[];
}

export interface WhatIf {
  /** Turn by turn; null = the turn is missing on this side. */
  turns: { before: PlayedTurn | null; after: PlayedTurn | null; isSame: boolean }[];
  /** How the conversation ends, null = it is still open when the recording ends. */
  before: Timeline['end'];
  after: Timeline['end'];
}

/**
 * Plays a session twice, with its own settings and with others. What the user does is the same at the same times; of the
 * model, the tools and the voice each side has what the session had. Where the changed conversation asks what was never
 * asked, it gets the next recorded answer, or none.
 * @throws ParleyError CONFIG_INVALID for changes that are no settings
 */
export function whatIf(log: EventLog, changes: ConfigChanges): WhatIf {
  const own = mergeConfig(log.start.config);
  checkChanges(changes, own);
  const recording = recordingOf(log);
  const before = reenact(recording, own);
  const after = reenact(recording, mergeConfig(changes, own));
  return { turns: alignTurns(turnsOf(before), turnsOf(after)), before: before.end, after: after.end };
}

function turnsOf({ turns, utterances, events }: Timeline): PlayedTurn[] {
  const played: PlayedTurn[] = [
    { decidedMs: null, user: '', agent: [] },
    ...turns.map(({ atMs, text }) => ({ decidedMs: atMs, user: text, agent: [] })),
  ];
  const heard = new Map(events.map(({ position }) => [position.utteranceId, position.heardChars]));
  for (const { utteranceId, text, played: stretches, isWhole, askedMs } of utterances) {
    const fromMs = stretches[0]?.from;
    const turn = played.findLast(({ decidedMs }) => (decidedMs ?? 0) <= askedMs);
    if (fromMs === undefined || turn === undefined) continue;
    turn.agent.push({ fromMs, text: isWhole ? text : text.slice(0, heard.get(utteranceId) ?? 0), isWhole });
  }
  return played;
}

/** Puts turns with the same words side by side; what is left is paired in order. */
function alignTurns(before: readonly PlayedTurn[], after: readonly PlayedTurn[]): WhatIf['turns'] {
  const rows: WhatIf['turns'] = [];
  const add = (left: PlayedTurn | null, right: PlayedTurn | null): void => {
    rows.push({ before: left, after: right, isSame: JSON.stringify(left) === JSON.stringify(right) });
  };
  let left = 0;
  let right = 0;
  while (left < before.length || right < after.length) {
    const one = before[left] ?? null;
    const other = after[right] ?? null;
    const oneLater = one === null ? -1 : after.slice(right).findIndex(({ user }) => user === one.user);
    const otherLater = other === null ? -1 : before.slice(left).findIndex(({ user }) => user === other.user);
    if (one !== null && other !== null && (oneLater === 0 || (oneLater < 0 && otherLater < 0))) {
      add(one, other);
      left++;
      right++;
    } else if (other === null || (one !== null && oneLater < 0)) {
      add(one, null);
      left++;
    } else {
      add(null, other);
      right++;
    }
  }
  return rows;
}
