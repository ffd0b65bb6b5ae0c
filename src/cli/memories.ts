import { styleText } from 'node:util';
import { loadSettings } from '../settings/load-settings.js';
import type { StoredMemories } from '../store/memory.js';
import { type CommandIo, defineCommand, type Values } from './shared/command.js';
import { openMemories } from './shared/data-stores.js';
import { JSON_OUTPUT, SETTINGS, settingsOf } from './shared/flags.js';

const USER = {
  value: 'USER',
  help: "only this user: a value of the agent's user_identifier_key, such as a phone number",
} as const;
const AGENT = { agent: { value: 'ID', help: 'only memories of this agent' } } as const;

export const memories = defineCommand({
  about: "Lists agents' memories of their users (`memory` in AgentConfig), or deletes them.",
  actions: {
    list: defineCommand({
      about: 'List memories, newest first.',
      flags: { user: USER, ...AGENT, ...SETTINGS, ...JSON_OUTPUT },
      run: ({ values }, io) =>
        withMemories(values, io, async (store) => {
          const found = await store.list({ user: values.user ?? null, agentId: values.agent ?? null });
          if (values.json) {
            io.stdout.write(`${JSON.stringify(found)}\n`);
            return;
          }
          for (const memory of found) {
            const when = new Date(memory.unixMs).toISOString().slice(0, 16).replace('T', ' ');
            io.stdout.write(`${styleText('dim', when)}  ${styleText('bold', memory.user)}  ${memory.agentId}\n`);
            io.stdout.write(`  ${memory.text}\n`);
          }
          if (found.length === 0) io.stderr.write('no memories\n');
        }),
    }),
    erase: defineCommand({
      about: 'Delete memories permanently.',
      flags: { user: { ...USER, required: true }, ...AGENT, ...SETTINGS, ...JSON_OUTPUT },
      run: ({ values }, io) =>
        withMemories(values, io, async (store) => {
          const erased = await store.erase({ user: values.user, agentId: values.agent ?? null });
          io.stdout.write(values.json ? `${JSON.stringify({ erased })}\n` : `erased: ${String(erased)}\n`);
        }),
    }),
  },
});

async function withMemories(
  flags: Values<typeof SETTINGS>,
  io: CommandIo,
  work: (store: StoredMemories) => Promise<void>,
): Promise<number> {
  const { settings } = await loadSettings({ env: io.env, flags: settingsOf(flags) });
  const { store, close } = await openMemories(settings);
  try {
    await work(store);
    return 0;
  } finally {
    await close();
  }
}
