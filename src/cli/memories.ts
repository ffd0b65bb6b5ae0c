import { styleText } from 'node:util';
import { loadSettings } from '../settings/load-settings.js';
import { openMemories } from './shared/data-stores.js';
import { defineCommand, type FlagOptions, unknownAction, UsageError } from './shared/command.js';

const OPTIONS = {
  user: { type: 'string' },
  agent: { type: 'string' },
  'data-dir': { type: 'string' },
  json: { type: 'boolean', default: false },
} satisfies FlagOptions;

export const memories = defineCommand({
  help: `
Usage: parley memories list [--user USER] [--agent ID] [--json]
       parley memories erase --user USER [--agent ID] [--json]

Lists agents' memories of their users (\`memory\` in AgentConfig), newest first, or deletes them permanently.

Flags:
  --user USER           only this user: a value of the agent's user_identifier_key, such as a phone number
  --agent ID            only memories of this agent
  --data-dir DIR        the daemon's data folder
  --json                print JSON
`,
  options: OPTIONS,
  positionals: true,
  async run({ values, positionals }, io) {
    const [what, ...more] = positionals;
    if (what !== 'list' && what !== 'erase') throw unknownAction(what, ['list', 'erase']);
    if (more.length > 0) throw new UsageError(`${what} takes no arguments`);
    const { user = null, agent: agentId = null } = values;
    if (what === 'erase' && user === null) throw new UsageError('erase needs --user USER');
    const { settings } = await loadSettings({ env: io.env, flags: { 'data-dir': values['data-dir'] } });
    const { store, close } = await openMemories(settings);
    try {
      if (what === 'erase' && user !== null) {
        const erased = await store.erase({ user, agentId });
        io.stdout.write(values.json ? `${JSON.stringify({ erased })}\n` : `erased: ${String(erased)}\n`);
        return 0;
      }
      const found = await store.list({ user, agentId });
      if (values.json) {
        io.stdout.write(`${JSON.stringify(found)}\n`);
        return 0;
      }
      for (const memory of found) {
        const when = new Date(memory.unixMs).toISOString().slice(0, 16).replace('T', ' ');
        io.stdout.write(`${styleText('dim', when)}  ${styleText('bold', memory.user)}  ${memory.agentId}\n`);
        io.stdout.write(`  ${memory.text}\n`);
      }
      if (found.length === 0) io.stderr.write('no memories\n');
      return 0;
    } finally {
      await close();
    }
  },
});
