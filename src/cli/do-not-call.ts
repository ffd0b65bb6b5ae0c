import { nowUnixMs, unixSeconds } from '../base/real-clock.js';
import { loadSettings } from '../settings/load-settings.js';
import type { DoNotCallList } from '../session/after-call/do-not-call.js';
import { type CommandIo, defineCommand, type Values } from './shared/command.js';
import { CallStores } from './shared/data-stores.js';
import { JSON_OUTPUT, SETTINGS, settingsOf } from './shared/flags.js';

const NUMBERS = [{ name: 'NUMBER', help: 'a phone number', many: true }] as const;

export const doNotCall = defineCommand({
  about: `
    Manages the do-not-call list in the daemon's data folder. Agents never call these numbers. An agent whose
    privacy_settings allow it adds users who ask not to be called again.`,
  actions: {
    list: defineCommand({
      about: 'Print the list.',
      flags: { ...SETTINGS, ...JSON_OUTPUT },
      run: ({ values }, io) =>
        withList(values, io, async (list) => {
          const entries = await list.list();
          if (values.json) io.stdout.write(`${JSON.stringify(entries)}\n`);
          for (const { number, source, createdAt } of values.json ? [] : entries) {
            io.stdout.write(`${number}  ${new Date(createdAt * 1000).toISOString()}  ${source}\n`);
          }
          return 0;
        }),
    }),
    add: defineCommand({
      about: 'Add numbers.',
      args: NUMBERS,
      flags: SETTINGS,
      run: ({ values, positionals }, io) =>
        withList(values, io, async (list) => {
          const createdAt = unixSeconds(nowUnixMs());
          for (const number of positionals) await list.add({ number, source: 'operator', sessionId: null, createdAt });
          return 0;
        }),
    }),
    remove: defineCommand({
      about: 'Remove numbers. Exit code 1 if one is not on the list.',
      args: NUMBERS,
      flags: SETTINGS,
      run: ({ values, positionals }, io) =>
        withList(values, io, async (list) => {
          let missing = 0;
          for (const number of positionals) {
            if (await list.remove(number)) continue;
            missing++;
            io.stderr.write(`${number} is not on the list\n`);
          }
          return missing === 0 ? 0 : 1;
        }),
    }),
  },
});

async function withList(
  flags: Values<typeof SETTINGS>,
  io: CommandIo,
  work: (list: DoNotCallList) => Promise<number>,
): Promise<number> {
  const { settings } = await loadSettings({ env: io.env, flags: settingsOf(flags) });
  const stores = new CallStores(settings);
  try {
    return await work(stores.doNotCall());
  } finally {
    await stores.close();
  }
}
