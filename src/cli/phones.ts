import { encodeUrlText } from '../base/url-text.js';
import { agentId } from './agents/remote.js';
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
  about: 'The phone numbers of a running daemon. `parley numbers` lists the people of the simulated network.',
  actions: {
    list: defineCommand({
      about: 'List the numbers, with the agent that answers each.',
      flags: { ...DAEMON, ...JSON_OUTPUT },
      async run({ values }, io) {
        const found = (await daemonClient(values, io).ask('GET', '/phones')) as readonly Phone[];
        if (values.json) io.stdout.write(`${JSON.stringify(found)}\n`);
        else if (found.length === 0) io.stderr.write('no numbers; `parley phones buy` buys one\n');
        else for (const phone of found) io.stdout.write(`${lineOf(phone)}\n`);
        return 0;
      },
    }),
    buy: defineCommand({
      about: 'Buy a number of the carrier, which may charge for it, and print it. On the simulated network it is free.',
      flags: {
        country: { value: 'CODE', default: 'US', help: 'country of the number' },
        area: { value: 'CODE', help: 'area code of the number, such as 415' },
        ...DAEMON,
        ...JSON_OUTPUT,
      },
      async run({ values: { country, area, json, ...daemon } }, io) {
        const wanted = { country, area_code: area ?? null };
        const phone = (await daemonClient(daemon, io).ask('POST', '/phones/purchase', wanted)) as Phone;
        io.stdout.write(`${json ? JSON.stringify(phone) : phone.id}\n`);
        return 0;
      },
    }),
    assign: defineCommand({
      about: 'Let an agent answer a number, and hold the calls from it.',
      args: [
        { name: 'NUMBER', help: "one of the daemon's numbers" },
        { name: 'AGENT', help: "the id or the name of one of the daemon's agents" },
      ],
      flags: { ...DAEMON, ...JSON_OUTPUT },
      examples: [['parley phones assign +14155550100 baker', 'calls to this number reach the baker']],
      async run({ values, positionals: [number = '', named = ''] }, io) {
        const client = daemonClient(values, io);
        const agent_id = await agentId(named, client);
        const phone = (await client.ask('POST', `/phones/${encodeUrlText(number)}/set_agent`, { agent_id })) as Phone;
        io.stdout.write(`${values.json ? JSON.stringify(phone) : lineOf(phone)}\n`);
        return 0;
      },
    }),
  },
});

function lineOf({ id, status, agent_id: agent, tags }: Phone): string {
  return [id.padEnd(16), status.padEnd(8), agent ?? 'no agent', ...tags.map((tag) => `#${tag}`)].join('  ');
}
