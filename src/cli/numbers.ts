import { pathToFileURL } from 'node:url';
import { styleText } from 'node:util';
import { readDirectory, STOCK_DIRECTORY } from '../telephony/carriers/simulated/directory.js';
import { defineCommand } from './shared/command.js';
import { JSON_OUTPUT } from './shared/flags.js';

export const numbers = defineCommand({
  about: 'Lists the numbers of the simulated phone network, and what each does when `parley call` calls it.',
  flags: {
    numbers: { value: 'FILE', help: 'your own simulated numbers instead of the default ones', stream: 'in' },
    ...JSON_OUTPUT,
  },
  async run({ values }, io) {
    const file = values.numbers === undefined ? STOCK_DIRECTORY : pathToFileURL(values.numbers);
    const directory = await readDirectory(file);
    const [called, calling] = [directory.numbers, directory.callers].map((list) =>
      list.map(({ number, name, does }) => ({ number, name, does })),
    );
    if (values.json) {
      io.stdout.write(`${JSON.stringify({ numbers: called, callers: calling })}\n`);
      return 0;
    }
    const width = Math.max(...[...(called ?? []), ...(calling ?? [])].map(({ name }) => name.length));
    const list = (title: string, entries: typeof called = []): void => {
      if (entries.length > 0) io.stdout.write(`${title}\n`);
      for (const { number, name, does } of entries) {
        io.stdout.write(`  ${styleText('bold', number)}  ${name.padEnd(width)}  ${does}\n`);
      }
    };
    list('Numbers to call (parley call NUMBER):', called);
    list('People who call in (parley call --inbound NUMBER):', calling);
    return 0;
  },
});
