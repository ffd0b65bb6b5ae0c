import { pathToFileURL } from 'node:url';
import { parseArgs, styleText } from 'node:util';
import { readNumbers, STOCK_NUMBERS } from '../carriers/simulated/numbers.js';
import type { Command } from './command.js';

export const numbers: Command = {
  help: `
parley numbers [--json]

Lists the numbers of the simulated phone network, and what each does when \`parley call\` calls it.

  --numbers FILE  simulated numbers of your own in place of the stock ones
  --json          as JSON
`,
  async run(args, io) {
    const { values } = parseArgs({
      args: [...args],
      options: { numbers: { type: 'string' }, json: { type: 'boolean', default: false } },
    });
    const list = await readNumbers(values.numbers === undefined ? STOCK_NUMBERS : pathToFileURL(values.numbers));
    if (values.json) {
      io.stdout.write(`${JSON.stringify(list.map(({ number, name, does }) => ({ number, name, does })))}\n`);
      return 0;
    }
    const width = Math.max(...list.map(({ name }) => name.length));
    for (const { number, name, does } of list) {
      io.stdout.write(`${styleText('bold', number)}  ${name.padEnd(width)}  ${does}\n`);
    }
    return 0;
  },
};
