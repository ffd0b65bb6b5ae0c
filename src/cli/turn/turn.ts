import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { readLog } from '../../replay/read-log.js';
import { loadSettings } from '../../settings/load-settings.js';
import { type CommandIo, defineCommand, type FlagOptions, unknownAction, UsageError } from '../shared/command.js';
import { openOutput } from '../shared/output-file.js';
import type { Interval } from './judge-model.js';
import { labelledPauses } from './pause-labels.js';
import { type PauseRow, readPauseRows, LEAST_PAUSES, train, type Training } from './train.js';

const OPTIONS = {
  out: { type: 'string' },
  seed: { type: 'string', default: '1' },
  json: { type: 'boolean', default: false },
  config: { type: 'string' },
  'data-dir': { type: 'string' },
} satisfies FlagOptions;

export const turn = defineCommand({
  help: `
Usage: parley turn export [LOG …] [--out FILE]
       parley turn train FILE … [--out FILE] [--seed N]

Makes a turn model of your own calls: what the voice is like before a pause in which the user had finished, and before
one after which they continued. docs/flow/end-of-turn.md describes it.

Actions:
  export  Write the labelled pauses of event logs, one JSON object per line: those of the data folder, or each LOG. Only
          calls held with the setting pauseFeatures have any, and sessions that opted out have none.
  train   Fit a model to ${String(LEAST_PAUSES)} or more exported pauses, print how it does on speakers that it has not heard,
          and write it for the setting turnModelPath. One that does not beat plain silence is refused, with exit code 1.

Flags:
  --out FILE            where the pauses go (default: standard output), or the model (default: turn-model.json)
  --seed N              chooses the groups of speakers and the draws of the intervals (default 1)
  --json                print the result of the training as JSON
  --config FILE         settings file (JSON), as for parley serve
  --data-dir DIR        the daemon's data folder; the event logs are in its folder "traces"
`,
  options: OPTIONS,
  positionals: true,
  async run({ values, positionals }, io) {
    const [action, ...files] = positionals;
    if (action === 'export') {
      const flags = { config: values.config, 'data-dir': values['data-dir'] };
      return exportPauses(files, values.out ?? null, flags, io);
    }
    if (action !== 'train' || files.length === 0)
      throw unknownAction(action, ['export', 'train'], 'expected export [LOG …] or train FILE …');
    const seed = Number(values.seed);
    if (!Number.isSafeInteger(seed)) throw new UsageError('--seed must be a whole number');
    const rows = (await Promise.all(files.map((file) => readPauseRows(file)))).flat();
    return finish(train(rows, seed), values.out ?? 'turn-model.json', values.json, io);
  },
});

async function exportPauses(
  given: readonly string[],
  out: string | null,
  flags: Readonly<Record<string, string | undefined>>,
  io: CommandIo,
): Promise<number> {
  const { settings } = await loadSettings({ env: io.env, flags });
  if (!settings.pauseFeatures)
    throw new ParleyError('CONFIG_INVALID', { reason: 'pauseFeatures is off: nothing may be exported' });
  const logs = given.length > 0 ? given : await logsIn(join(settings.dataDir, 'traces'));
  const file = out === null ? null : await openOutput(out);
  let [finished, continued] = [0, 0];
  for (const path of logs) {
    io.signal.throwIfAborted();
    for (const row of await pausesIn(path)) {
      if (row.label === 'finished') finished++;
      else continued++;
      if (file === null) io.stdout.write(`${JSON.stringify(row)}\n`);
      else file.line(JSON.stringify(row));
    }
  }
  await file?.close();
  const count = `${String(finished + continued)} pauses of ${String(logs.length)} logs`;
  io.stderr.write(`${count}: ${String(finished)} finished, ${String(continued)} continued\n`);
  return 0;
}

async function logsIn(folder: string): Promise<string[]> {
  if (!existsSync(folder)) return [];
  const names = (await readdir(folder)).filter((name) => name.endsWith('.jsonl')).toSorted();
  return names.map((name) => join(folder, name));
}

async function pausesIn(path: string): Promise<PauseRow[]> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new ParleyError('FILE_NOT_READABLE', { path, reason: reasonOf(error) }, { cause: error });
  });
  const speaker = basename(path, '.jsonl'); // the daemon's logs have the name of their session
  return labelledPauses(readLog(text)).map((pause) => ({ speaker, ...pause }));
}

async function finish(training: Training, out: string, json: boolean, io: CommandIo): Promise<number> {
  const { model, verdict } = training;
  io.stdout.write(json ? `${JSON.stringify({ ...training, model: undefined })}\n` : report(training));
  if (verdict.refusal !== null) {
    io.stderr.write(`The model is refused: ${verdict.refusal}. ${out} is not written.\n`);
    return 1;
  }
  const file = await openOutput(out);
  await file.write(Buffer.from(`${JSON.stringify(model, null, 2)}\n`));
  await file.close();
  io.stderr.write(`Written to ${out}. Use it with the setting turnModelPath.\n`);
  return 0;
}

function report({ verdict, finished, continued, speakers }: Training): string {
  const { auc, savedMs, delayMs } = verdict;
  const shown = ({ value, low, high }: Interval, digits: number): string =>
    `${value.toFixed(digits)} (95 %: ${low.toFixed(digits)} to ${high.toFixed(digits)})`;
  return `${[
    `pauses              ${String(finished)} finished, ${String(continued)} continued, ${String(speakers)} speakers`,
    `AUC                 ${shown(auc, 3)}, on speakers held out; silence alone 0.5`,
    `delay at 10 %       ${delayMs.model.toFixed(0)} ms; plain silence with as many cut-offs ${delayMs.silence.toFixed(0)} ms`,
    `sooner at 5 to 30 % ${shown(savedMs.mean, 0)} ms`,
    `sooner at 10 %      ${shown(savedMs.at10, 0)} ms`,
    `sooner at 5 %       ${shown(savedMs.at5, 0)} ms`,
  ].join('\n')}\n`;
}
