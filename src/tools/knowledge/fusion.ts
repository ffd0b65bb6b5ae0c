/** Damps how much the first places count against the next ones (Cormack, Clarke and Büttcher, SIGIR 2009). */
const K = 60;

/** Reciprocal rank fusion: several rankings of the same things as one, best first; no scores are compared. */
export function fuse<T>(rankings: readonly (readonly T[])[]): T[] {
  const scores = new Map<T, number>();
  for (const ranking of rankings) {
    ranking.forEach((it, rank) => scores.set(it, (scores.get(it) ?? 0) + 1 / (K + rank + 1)));
  }
  return [...scores.entries()].sort(([, a], [, b]) => b - a).map(([it]) => it);
}
