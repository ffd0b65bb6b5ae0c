import type { PlayedTurn, WhatIf } from '../testing/replay/index.js';

/** Characters of a column. */
const COLUMN = 56;

/** Two ways in which a session goes, turn by turn. Rows that differ are marked. */
export function turnsSideBySide({ turns, before, after }: WhatIf): string {
  const lines = [row(' ', 'as it was', 'with these settings'), row(' ', '-'.repeat(COLUMN), '-'.repeat(COLUMN))];
  for (const turn of turns) {
    const left = linesOf(turn.before);
    const right = linesOf(turn.after);
    for (let index = 0; index < Math.max(left.length, right.length); index++) {
      const [one = '', other = ''] = [left[index], right[index]];
      lines.push(row(one === other ? ' ' : '≠', one, other));
    }
  }
  lines.push(row(JSON.stringify(before) === JSON.stringify(after) ? ' ' : '≠', ending(before), ending(after)));
  const differing = turns.filter(({ isSame }) => !isSame).length;
  lines.push(`${String(turns.length)} turns, ${String(differing)} of them not the same`);
  return `${lines.join('\n')}\n`;
}

function linesOf(turn: PlayedTurn | null): string[] {
  if (turn === null) return [];
  const { decidedMs, user, agent } = turn;
  const said = agent.flatMap(({ fromMs, text, isWhole }) => wrapped(fromMs, 'agent', isWhole ? text : `${text} [cut]`));
  return decidedMs === null ? said : [...wrapped(decidedMs, 'user', user), ...said];
}

/** With its time before the first line, and as many more lines as the text needs. */
function wrapped(atMs: number, who: string, text: string): string[] {
  const head = `${(atMs / 1000).toFixed(2).padStart(8)} ${who.padEnd(6)}`;
  const lines: string[] = [];
  let line = head;
  for (const word of text.split(' ')) {
    if (line.length + word.length + 1 > COLUMN && line.trim() !== '') {
      lines.push(line);
      line = ' '.repeat(head.length);
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}

function ending(end: WhatIf['before']): string {
  return end === null ? '         still open' : `${(end.atMs / 1000).toFixed(2).padStart(8)} ended: ${end.status}`;
}

function row(mark: string, left: string, right: string): string {
  return `${left.padEnd(COLUMN)} ${mark} ${right}`.trimEnd();
}
