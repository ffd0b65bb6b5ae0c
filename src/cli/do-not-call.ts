import { nowUnixMs, unixSeconds } from '../base/real-clock.js';
import { loadSettings } from '../settings/load-settings.js';
import { CallStores } from './shared/data-stores.js';
import { defineCommand, type FlagOptions, unknownAction, UsageError } from './shared/command.js';

const OPTIONS = { json: { type: 'boolean', default: false } } satisfies FlagOptions;

export const doNotCall = defineCommand({
  help: `
Usage: parley do-not-call list [--json]
       parley do-not-call add NUMBER …
       parley do-not-call remove NUMBER …

Manages the do-not-call list in the daemon's data folder. Agents never call these numbers. An agent whose
privacy_settings allow it adds users who ask not to be called again.

Flags:
  --json                print the list as JSON
`,
  options: OPTIONS,
  positionals: true,
  async run({ values, positionals }, io) {
    const [action, ...numbers] = positionals;
    if (action !== 'list' && action !== 'add' && action !== 'remove')
      throw unknownAction(action, ['list', 'add', 'remove']);
    if ((action === 'list') !== (numbers.length === 0)) {
      throw new UsageError(action === 'list' ? 'list takes no numbers' : `${action} needs a NUMBER`);
    }
    const { settings } = await loadSettings({ env: io.env, flags: {} });
    const stores = new CallStores(settings);
    try {
      const list = stores.doNotCall();
      if (action === 'list') {
        const entries = await list.list();
        if (values.json) io.stdout.write(`${JSON.stringify(entries)}\n`);
        for (const { number, source, createdAt } of values.json ? [] : entries) {
          io.stdout.write(`${number}  ${new Date(createdAt * 1000).toISOString()}  ${source}\n`);
        }
        return 0;
      }
      const createdAt = unixSeconds(nowUnixMs());
      let missing = 0;
      for (const number of numbers) {
        if (action === 'add') await list.add({ number, source: 'operator', sessionId: null, createdAt });
        else if (!(await list.remove(number))) {
          missing++;
          io.stderr.write(`${number} is not on the list\n`);
        }
      }
      return missing === 0 ? 0 : 1;
    } finally {
      await stores.close();
    }
  },
});
