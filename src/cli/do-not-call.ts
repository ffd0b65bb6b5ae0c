import { nowUnixMs, unixSeconds } from '../base/real-clock.js';
import { loadSettings } from '../settings/load-settings.js';
import { CallStores } from './shared/call-stores.js';
import { noSuchAction } from './shared/actions.js';
import { defineCommand, type FlagOptions, UsageError } from './shared/command.js';

const OPTIONS = { json: { type: 'boolean', default: false } } satisfies FlagOptions;

export const doNotCall = defineCommand({
  help: `
parley do-not-call list [--json]
parley do-not-call add NUMBER …
parley do-not-call remove NUMBER …

Numbers that agents do not call. Users who ask for it are put on the list by agents whose privacy_settings say so; the
list is the daemon's, in its data folder.

  --json  as JSON
`,
  options: OPTIONS,
  positionals: true,
  async run({ values, positionals }, io) {
    const [action, ...numbers] = positionals;
    if (action !== 'list' && action !== 'add' && action !== 'remove')
      throw noSuchAction(action, ['list', 'add', 'remove'], 'list, add or remove?');
    if ((action === 'list') !== (numbers.length === 0)) {
      throw new UsageError(action === 'list' ? 'list takes no numbers' : `${action} what?`);
    }
    const { settings } = await loadSettings({ env: io.env, flags: {} });
    const stores = new CallStores(settings);
    try {
      const list = stores.doNotCall();
      if (action === 'list') {
        const entries = list.list();
        if (values.json) io.stdout.write(`${JSON.stringify(entries)}\n`);
        for (const { number, source, createdAt } of values.json ? [] : entries) {
          io.stdout.write(`${number}  ${new Date(createdAt * 1000).toISOString()}  ${source}\n`);
        }
        return 0;
      }
      const createdAt = unixSeconds(nowUnixMs());
      let missing = 0;
      for (const number of numbers) {
        if (action === 'add') list.add({ number, source: 'operator', sessionId: null, createdAt });
        else if (!list.remove(number)) {
          missing++;
          io.stderr.write(`${number} is not on the list\n`);
        }
      }
      return missing === 0 ? 0 : 1;
    } finally {
      stores.close();
    }
  },
});
