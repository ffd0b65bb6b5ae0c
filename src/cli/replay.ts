import { readFile } from 'node:fs/promises';
import { readJsonFile } from '../schema/json-file.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import { type Difference, replay as replayLog } from '../replay/replay.js';
import { type PlayedTurn, whatIf, type WhatIf } from '../replay/what-if.js';
import { readLog } from '../replay/read-log.js';
import { defineCommand } from './shared/command.js';

/** Column width in characters. */
const COLUMN = 56;

/** Two runs of a session side by side, turn by turn. Rows that differ are marked. */
export function turnsSideBySide({ turns, before, after }: WhatIf): string {
  const lines = [row(' ', 'original settings', 'these settings'), row(' ', '-'.repeat(COLUMN), '-'.repeat(COLUMN))];
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
  lines.push(`${String(turns.length)} turns, ${String(differing)} different`);
  return `${lines.join('\n')}\n`;
}

function linesOf(turn: PlayedTurn | null): string[] {
  if (turn === null) return [];
  const { decidedMs, user, agent } = turn;
  const said = agent.flatMap(({ fromMs, text, isWhole }) => wrapped(fromMs, 'agent', isWhole ? text : `${text} [cut]`));
  return decidedMs === null ? said : [...wrapped(decidedMs, 'user', user), ...said];
}

/** Text wrapped to the column, with the time before the first line. */
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

export const replay = defineCommand({
  about: `
    Replays a session's event log (parley run --trace) with the same settings and compares each effect with the log, bit
    for bit. Exit code 1 if they differ.`,
  args: [{ name: 'LOG', help: 'the event log', stream: 'in' }],
  flags: {
    config: {
      value: 'FILE',
      help: 'replay with changed settings instead, and print both conversations side by side. FILE is a JSON object with conversation settings, such as {"endpointing": {"minSilenceMs": 500}}',
      stream: 'in',
    },
    json: { help: 'print the result as JSON' },
  },
  async run({ values, positionals: [path = ''] }, io) {
    const log = readLog(await readText(path));
    if (log.isCut) io.stderr.write(`${path}: ignoring the last line, which is incomplete\n`);
    if (values.config !== undefined) {
      const changes = await readJsonFile(values.config);
      const result = whatIf(log, changes as Parameters<typeof whatIf>[1]);
      io.stdout.write(values.json ? `${JSON.stringify(result)}\n` : turnsSideBySide(result));
      return 0;
    }
    const result = replayLog(log);
    if (values.json) io.stdout.write(`${JSON.stringify(result)}\n`);
    else if (result.difference === null) {
      io.stdout.write(`Identical: ${String(result.events)} events, ${String(result.effects)} effects\n`);
    } else io.stdout.write(described(result.difference));
    return result.difference === null ? 0 : 1;
  },
});

function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    throw new ParleyError('FILE_NOT_READABLE', { path, reason: reasonOf(error) });
  });
}

function described({ atMs, eventNumber, event, logged, replayed }: Difference): string {
  const lines = [
    `Different at ${String(atMs)} ms, after event ${String(eventNumber)}: ${JSON.stringify(event)}`,
    `  log     ${logged === null ? 'no further effect' : JSON.stringify(logged)}`,
    `  replay  ${replayed === null ? 'no further effect' : JSON.stringify(replayed)}`,
  ];
  return `${lines.join('\n')}\n`;
}
