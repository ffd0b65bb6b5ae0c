import type { CallActivity, RunningCall, WarningKind } from '../../../daemon/live/running-call.js';
import { statusWords } from '../statuses.js';

/** The words for a state, and whether the call may need somebody. */
export const STATE_WORDS: Readonly<Record<CallActivity['state'], string>> = {
  ringing: 'ringing',
  waiting: 'waits in a queue',
  listening: 'listening',
  user_speaking: 'caller speaks',
  agent_speaking: 'agent speaks',
  thinking: 'thinking',
  tool: 'runs a tool',
  held: 'on hold',
  transferring: 'being transferred',
  taken_over: 'taken over',
  after_call: 'finishing',
};

/** The words for a warning, the most urgent first. */
export const WARNING_WORDS: Readonly<Record<WarningKind, { label: string; why: string }>> = {
  asks_for_human: { label: 'asks for a person', why: 'The caller has asked to speak to a person.' },
  shouting: { label: 'shouting', why: 'The caller is much louder than before.' },
  misunderstood: { label: 'not understood', why: 'The last two turns of the caller were not understood.' },
  fault: { label: 'fault', why: 'A service has failed; the call goes on.' },
  unhappy: { label: 'unhappy', why: 'The last two turns of the caller sound negative.' },
  repeats: { label: 'asks again', why: 'The caller says again what they have said before.' },
  tool_failed: { label: 'tool failed', why: 'A tool has failed in the last minute.' },
  silence: { label: 'silence', why: 'Nobody has spoken for ten seconds or more.' },
  slow: { label: 'slow answers', why: 'The agent takes long to answer.' },
};

export const WARNING_KINDS = Object.keys(WARNING_WORDS) as WarningKind[];

/** Which calls are shown. Empty = all. `warning`: a kind, or `any`. */
export interface ActiveFilters {
  agent: string;
  state: string;
  warning: string;
}

export function isShown({ agent_id: agent, live }: RunningCall, filters: ActiveFilters): boolean {
  if (filters.agent !== '' && agent !== filters.agent) return false;
  if (filters.state !== '' && live?.state !== filters.state) return false;
  const kinds = live?.warnings.map(({ kind }) => kind) ?? [];
  if (filters.warning === '') return true;
  return filters.warning === 'any' ? kinds.length > 0 : kinds.includes(filters.warning as WarningKind);
}

/** Calls that need somebody first: by their most urgent warning, then by how many; older calls before younger ones. */
export function byUrgency(one: RunningCall, other: RunningCall): number {
  return urgencyOf(one) - urgencyOf(other) || one.ts - other.ts || (one.session_id < other.session_id ? -1 : 1);
}

function urgencyOf({ live }: RunningCall): number {
  const warnings = live?.warnings ?? [];
  const [first] = warnings;
  if (first === undefined) return 10 * WARNING_KINDS.length;
  return 10 * WARNING_KINDS.indexOf(first.kind) - Math.min(9, warnings.length);
}

/**
 * The order of the list. While somebody points at it, rows stay where they are, and new ones come last.
 * @param before the order so far
 */
export function orderOf(calls: readonly RunningCall[], before: readonly string[], isKept: boolean): string[] {
  const sorted = calls.toSorted(byUrgency).map(({ session_id: id }) => id);
  if (!isKept) return sorted;
  const running = new Set(sorted);
  const kept = before.filter((id) => running.has(id));
  const known = new Set(kept);
  return [...kept, ...sorted.filter((id) => !known.has(id))];
}

/** `3 calls · 1 with warnings`. */
export function countWords(calls: readonly RunningCall[], shown: number): string {
  const one = (count: number, what: string): string => `${String(count)} ${what}${count === 1 ? '' : 's'}`;
  const warned = calls.filter(({ live }) => live !== null && live.warnings.length > 0).length;
  const words = [one(calls.length, 'call')];
  if (shown !== calls.length) words.push(`${String(shown)} shown`);
  if (warned > 0) words.push(`${String(warned)} with warnings`);
  return words.join(' · ');
}

/** What the call does, in words. */
export function stateWords({ live, call_status: status }: RunningCall): string {
  if (live === null) return 'its node does not answer';
  if (live.state === 'ringing') return statusWords(status).label;
  if (live.state === 'tool' && live.tool !== null) return `runs ${live.tool}`;
  if (live.state === 'taken_over') {
    const by = live.participants.find(({ mode, held }) => mode === 'take_over' && !held);
    return by === undefined ? STATE_WORDS.taken_over : `taken over by ${by.name}`;
  }
  if (live.agent_muted) return `${STATE_WORDS[live.state]}, agent muted`;
  return live.user_muted ? `${STATE_WORDS[live.state]}, caller muted` : STATE_WORDS[live.state];
}

/** Who is on the line. */
export function callerWords({ direction, channel, from, to }: RunningCall): string {
  const number = direction === 'outbound' ? to : from;
  if (number !== null) return number;
  return channel === 'chat' ? 'chat' : channel === 'phone' ? 'unknown number' : 'browser';
}
