import { styleText } from 'node:util';
import { defineCommand } from './shared/command.js';
import { daemonClient } from './shared/daemon-client.js';
import { DAEMON, JSON_OUTPUT } from './shared/flags.js';

/** As `GET /nodes` sends it. */
interface Node {
  id: string;
  address: string;
  version: string;
  state: 'live' | 'draining' | 'silent';
  sessions: number;
  capacity: number;
  heartbeat_ago: number;
  this_node: boolean;
}

const COLORS = { live: 'green', draining: 'yellow', silent: 'red' } as const;

export const nodes = defineCommand({
  about: `
    Lists the daemons that share a database, oldest first: state, sessions of how many, version, seconds since the last
    heartbeat, address and id. Any of them can be asked; the one that answers has a *.`,
  flags: { ...DAEMON, ...JSON_OUTPUT },
  async run({ values }, io) {
    const found = (await daemonClient(values, io).ask('GET', '/nodes')) as readonly Node[];
    if (values.json) {
      io.stdout.write(`${JSON.stringify(found)}\n`);
      return 0;
    }
    const rows = found.map((node) => [
      node.this_node ? '*' : ' ',
      node.state,
      `${String(node.sessions)}/${String(node.capacity)}`,
      node.version,
      `${node.heartbeat_ago.toFixed(1)} s`,
      node.address,
      node.id,
    ]);
    const widths = [0, 1, 2, 3, 4, 5].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
    for (const [at, row] of rows.entries()) {
      const cells = row.map((text, column) => text.padEnd(widths[column] ?? 0));
      cells[1] = styleText(COLORS[found[at]?.state ?? 'live'], cells[1] ?? '');
      io.stdout.write(`${cells.join('  ')}\n`);
    }
    return 0;
  },
});
