import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { readJsonFile } from '../config/json-file.js';
import { ParleyError, reasonOf } from '../errors.js';
import { type Difference, readLog, replay as replayLog, whatIf } from '../testing/replay/index.js';
import { type Command, UsageError } from './command.js';
import { turnsSideBySide } from './turns-side-by-side.js';

export const replay: Command = {
  help: `
parley replay LOG [options]

Gives the events of a session's log (parley run --trace) to a new conversation with the same settings, and compares
what it does with what the log holds. The exit code is 1 if anything is not the same, to the bit.

  --config FILE   plays the session with other settings instead, and prints both side by side, turn by turn: a JSON
                  object with some of the conversation's settings, such as {"endpointing": {"minSilenceMs": 500}}
  --json          print the result as JSON
`,
  async run(args, io) {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: { config: { type: 'string' }, json: { type: 'boolean', default: false } },
    });
    const [path, ...others] = positionals;
    if (path === undefined || others.length > 0) throw new UsageError('one log is needed');
    const log = readLog(await readText(path));
    if (log.isCut) io.stderr.write(`${path}: the last line was not written to its end and is left out\n`);
    if (values.config !== undefined) {
      const changes = await readJsonFile(values.config);
      const result = whatIf(log, changes as Parameters<typeof whatIf>[1]);
      io.stdout.write(values.json ? `${JSON.stringify(result)}\n` : turnsSideBySide(result));
      return 0;
    }
    const result = replayLog(log);
    if (values.json) io.stdout.write(`${JSON.stringify(result)}\n`);
    else if (result.difference === null) {
      io.stdout.write(`The same: ${String(result.events)} events, ${String(result.effects)} effects\n`);
    } else io.stdout.write(described(result.difference));
    return result.difference === null ? 0 : 1;
  },
};

function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    throw new ParleyError('FILE_NOT_READABLE', { path, reason: reasonOf(error) });
  });
}

function described({ atMs, eventNumber, event, logged, replayed }: Difference): string {
  const lines = [
    `Not the same at ${String(atMs)} ms, after event ${String(eventNumber)}: ${JSON.stringify(event)}`,
    `  log     ${logged === null ? 'nothing more' : JSON.stringify(logged)}`,
    `  replay  ${replayed === null ? 'nothing more' : JSON.stringify(replayed)}`,
  ];
  return `${lines.join('\n')}\n`;
}
