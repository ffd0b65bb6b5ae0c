import { diffArrays } from 'diff';

export interface DiffLine {
  sign: ' ' | '+' | '-';
  text: string;
}

/** Unchanged lines shown around a change. */
const CONTEXT = 2;

/** The difference between lines. */
export function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  return diffArrays([...before], [...after]).flatMap(({ added, removed, value }) =>
    value.map((text): DiffLine => ({ sign: added ? '+' : removed ? '-' : ' ', text })),
  );
}

/** Only the changes with their context; three dots replace the rest. */
export function shortened(lines: readonly DiffLine[]): DiffLine[] {
  const isNear = lines.map((_, at) =>
    lines.slice(Math.max(0, at - CONTEXT), at + CONTEXT + 1).some(({ sign }) => sign !== ' '),
  );
  return lines.flatMap((line, at) => {
    if (isNear[at] === true) return [line];
    return at === 0 || isNear[at - 1] === true ? [{ sign: ' ', text: '…' } as const] : [];
  });
}
