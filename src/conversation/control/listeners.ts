import type { ParticipantRecord, ParticipantState } from './command.js';

/** How long somebody listened in. Times in ms since the line opened; `toMs` null = still does. */
export interface ListeningPeriod {
  /** The id of their key. */
  by: string;
  /** Logs of earlier versions have none. */
  name?: string | undefined;
  fromMs: number;
  toMs: number | null;
}

/** Somebody begins or ends to listen in. */
export function noteListener(
  listeners: ListeningPeriod[],
  { by, name, on, nowMs }: { by: string; name?: string | undefined; on: boolean; nowMs: number },
): void {
  if (on) listeners.push({ by, name, fromMs: nowMs, toMs: null });
  else {
    const one = listeners.findLast((other) => other.by === by && other.name === name && other.toMs === null);
    if (one !== undefined) one.toMs = nowMs;
  }
}

/** Somebody joins, does something else from now on, or leaves. @param known by id */
export function noteParticipant(known: Map<string, ParticipantRecord>, now: ParticipantState, fromMs: number): void {
  const { modes = [] } = known.get(now.id) ?? {};
  if (modes.at(-1)?.mode !== now.mode) modes.push({ mode: now.mode, fromMs });
  known.set(now.id, { ...now, modes });
}
