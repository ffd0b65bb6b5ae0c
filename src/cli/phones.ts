import { defineCommand } from './shared/command.js';
import { daemonClient } from './shared/daemon-client.js';
import { DAEMON, JSON_OUTPUT } from './shared/flags.js';

/** As `GET /phones` sends it. */
interface Phone {
  id: string;
  status: 'active' | 'inactive';
  agent_id: string | null;
  tags: readonly string[];
}

export const phones = defineCommand({
  about: 'Lists the phone numbers of a running daemon. `parley numbers` lists the people of the simulated network.',
  actions: {
    list: defineCommand({
      about: 'List the numbers, with the agent that answers each.',
      flags: { ...DAEMON, ...JSON_OUTPUT },
      async run({ values }, io) {
        const found = (await daemonClient(values, io).ask('GET', '/phones')) as readonly Phone[];
        if (values.json) io.stdout.write(`${JSON.stringify(found)}\n`);
        else if (found.length === 0) io.stderr.write('no numbers; POST /phones/purchase buys one\n');
        else for (const phone of found) io.stdout.write(`${lineOf(phone)}\n`);
        return 0;
      },
    }),
  },
});

function lineOf({ id, status, agent_id: agent, tags }: Phone): string {
  return [id.padEnd(16), status.padEnd(8), agent ?? 'no agent', ...tags.map((tag) => `#${tag}`)].join('  ');
}
