import { styleText } from 'node:util';
import { loadSettings } from '../settings/load-settings.js';
import { noSuchAction } from './shared/actions.js';
import { defineCommand, type FlagOptions, UsageError } from './shared/command.js';
import { openMemories } from './shared/memory-file.js';

const OPTIONS = {
  user: { type: 'string' },
  agent: { type: 'string' },
  'data-dir': { type: 'string' },
  json: { type: 'boolean', default: false },
} satisfies FlagOptions;

export const memories = defineCommand({
  help: `
parley memories list [--user USER] [--agent AGENT] [--json]
parley memories erase --user USER [--agent AGENT]

What agents remember of their users (AgentConfig's memory): listed, the latest first, or erased for good.

  --user USER    the user: a value of the agent's user_identifier_key, such as a phone number
  --agent AGENT  of one agent only, by its id
  --data-dir DIR where the daemon keeps its data
  --json         as JSON
`,
  options: OPTIONS,
  positionals: true,
  async run({ values, positionals }, io) {
    const [what, ...more] = positionals;
    if ((what !== 'list' && what !== 'erase') || more.length > 0)
      throw noSuchAction(what, ['list', 'erase'], 'list or erase?');
    const { user = null, agent: agentId = null } = values;
    if (what === 'erase' && user === null) throw new UsageError('--user is missing: whose memories are to be erased?');
    const { settings } = await loadSettings({ env: io.env, flags: { 'data-dir': values['data-dir'] } });
    const { store, close } = openMemories(settings);
    try {
      if (what === 'erase' && user !== null) {
        const erased = store.erase({ user, agentId });
        io.stdout.write(values.json ? `${JSON.stringify({ erased })}\n` : `erased: ${String(erased)}\n`);
        return 0;
      }
      const found = store.list({ user, agentId });
      if (values.json) {
        io.stdout.write(`${JSON.stringify(found)}\n`);
        return 0;
      }
      for (const memory of found) {
        const when = new Date(memory.unixMs).toISOString().slice(0, 16).replace('T', ' ');
        io.stdout.write(`${styleText('dim', when)}  ${styleText('bold', memory.user)}  ${memory.agentId}\n`);
        io.stdout.write(`  ${memory.text}\n`);
      }
      if (found.length === 0) io.stderr.write('nothing is remembered\n');
      return 0;
    } finally {
      close();
    }
  },
});
