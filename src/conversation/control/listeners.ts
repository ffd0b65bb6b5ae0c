/** How long somebody listened in. Times in ms since the line opened; `toMs` null = still does. */
export interface ListeningPeriod {
  /** The id of their key. */
  by: string;
  fromMs: number;
  toMs: number | null;
}

/** Somebody begins or ends to listen in. */
export function noteListener(
  listeners: ListeningPeriod[],
  { by, on, nowMs }: { by: string; on: boolean; nowMs: number },
): void {
  if (on) listeners.push({ by, fromMs: nowMs, toMs: null });
  else {
    const one = listeners.findLast((listener) => listener.by === by && listener.toMs === null);
    if (one !== undefined) one.toMs = nowMs;
  }
}
