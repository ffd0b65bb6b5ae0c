export interface DiffLine {
  sign: ' ' | '+' | '-';
  text: string;
}

/** Unchanged lines shown around a change. */
const CONTEXT = 2;

/** The difference between lines, by their longest common subsequence. */
export function diffLines(before: readonly string[], after: readonly string[]): DiffLine[] {
  let start = 0;
  while (start < Math.min(before.length, after.length) && before[start] === after[start]) start++;
  let end = 0;
  while (
    end < Math.min(before.length, after.length) - start &&
    before[before.length - 1 - end] === after[after.length - 1 - end]
  )
    end++;
  const a = before.slice(start, before.length - end);
  const b = after.slice(start, after.length - end);
  const same = (texts: readonly string[]): DiffLine[] => texts.map((text) => ({ sign: ' ', text }));
  return [...same(before.slice(0, start)), ...middle(a, b), ...same(before.slice(before.length - end))];
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

function middle(a: readonly string[], b: readonly string[]): DiffLine[] {
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] =
        a[i] === b[j]
          ? (common[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0);
    }
  }
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ sign: ' ', text: a[i] ?? '' });
      i++;
      j++;
    } else if (
      j >= b.length ||
      (i < a.length && (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0))
    ) {
      lines.push({ sign: '-', text: a[i] ?? '' });
      i++;
    } else {
      lines.push({ sign: '+', text: b[j] ?? '' });
      j++;
    }
  }
  return lines;
}
