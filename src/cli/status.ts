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
  started_at: number;
  heartbeat_ago: number;
  this_node: boolean;
}

interface Guards {
  stopped: boolean;
  concurrent: { used: number; limit: number };
  per_minute: { used: number; limit: number };
  minutes_per_day: { used: number; limit: number };
}

interface LiveCall {
  session_id: string;
  call_status: string;
  channel: string;
  direction: string;
  agent_id: string | null;
  from: string | null;
  to: string | null;
}

export const status = defineCommand({
  about: `
    Prints whether a daemon is ready, its node, the sessions it holds of how many, what outbound calls have used of their
    limits, and the calls that go on. Exit code 1 if it is not ready.`,
  flags: { ...DAEMON, ...JSON_OUTPUT },
  async run({ values }, io) {
    const client = daemonClient(values, io);
    const { status: state } = (await client.ask('GET', '/readyz', undefined, [503])) as { status: string };
    const [nodes, guards, { calls }] = (await Promise.all(
      ['/nodes', '/calls/guards', '/calls/live'].map((path) => client.ask('GET', path)),
    )) as [readonly Node[], Guards, { calls: readonly LiveCall[] }];
    const code = state === 'ready' ? 0 : 1;
    if (values.json) {
      io.stdout.write(`${JSON.stringify({ status: state, nodes, guards, calls })}\n`);
      return code;
    }
    const node = nodes.find((one) => one.this_node);
    const { concurrent, per_minute: minute, minutes_per_day: day } = guards;
    const lines: (readonly [string, string])[] = [
      ['state', styleText(code === 0 ? 'green' : 'red', state)],
      ...(node === undefined ? [] : nodeLines(node)),
      ...(nodes.length > 1 ? [['nodes', `${String(nodes.length)}; \`parley nodes\` lists them`] as const] : []),
      [
        'outbound',
        guards.stopped
          ? styleText('red', 'stopped')
          : `${used(concurrent)} at once, ${used(minute)} in a minute, ${used(day)} minutes in a day`,
      ],
      ['calls', String(calls.length)],
    ];
    for (const [name, text] of lines) io.stdout.write(`${styleText('dim', name.padEnd(10))}${text}\n`);
    for (const call of calls) io.stdout.write(`  ${callLine(call)}\n`);
    return code;
  },
});

function nodeLines(node: Node): [string, string][] {
  return [
    ['node', `${node.id} at ${node.address}, version ${node.version}`],
    ['since', new Date(node.started_at * 1000).toISOString()],
    ['sessions', `${String(node.sessions)} of ${String(node.capacity)}`],
  ];
}

function used({ used: count, limit }: { used: number; limit: number }): string {
  return `${String(Math.round(count * 10) / 10)} of ${String(limit)}`;
}

function callLine({
  session_id: id,
  call_status: state,
  channel,
  direction,
  agent_id: agent,
  from,
  to,
}: LiveCall): string {
  const parties = from === null ? channel : `${direction} ${from} → ${to ?? '?'}`;
  return [id, state, parties, agent ?? ''].filter((part) => part !== '').join('  ');
}
