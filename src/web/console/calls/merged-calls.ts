/** The calls of both lists, newest first; the fresh page wins. */
export function mergedCalls<T extends { session_id: string; ts: number }>(
  known: readonly T[],
  fresh: readonly T[],
): T[] {
  const ids = new Set(fresh.map(({ session_id: id }) => id));
  return [...fresh, ...known.filter(({ session_id: id }) => !ids.has(id))].sort((a, b) => b.ts - a.ts);
}
