/**
 * What one daemon does on SQLite, one on PostgreSQL, and three on PostgreSQL: acknowledged writes a second, call set-ups a
 * second (a request, its row, its limits, a call to a number that nobody has, its end in the log), and how soon the events
 * of a call reach those who watch it, with three nodes at another node than the call's. On PostgreSQL also the transactions
 * of a call and how long each holds its connection in the server: what `bench/sizing.ts` takes.
 *
 *   npm run build && node bench/run.mjs nodes [--seconds=8] [--clients=16] [--watchers=20] [--rounds=3]
 *
 * Daemons, server and clients share the machine: three nodes on two cores cannot be three times as fast as one. The server
 * of the benchmark does not wait for its disk (fsync is off), while SQLite does.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createParser } from 'eventsource-parser';
import pg from 'pg';
import { Node, request } from '../scripts/cluster/nodes.mjs';
import { freePort, PRIVATE_KEY } from '../scripts/daemon-process.mjs';
import { PostgresCluster } from '../scripts/postgres-cluster.mjs';
import { machine } from './lib/machine.js';
import { markdownTable, median, quantile } from './lib/numbers.js';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '8' },
    clients: { type: 'string', default: '16' },
    watchers: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '3' },
  },
});
const SECONDS = Number(values.seconds);
const CLIENTS = Number(values.clients);
const WATCHERS = Number(values.watchers);
const WIDE = 1_000_000;
/** Nobody has it: the simulated network says so at once. */
const NOBODY = '+12025550188';
const CALLS_WATCHED = 40;
const EVENT_DEADLINE_MS = 20_000;
const SETTINGS = {
  calls: {
    allowedPrefixes: ['*'],
    concurrent: WIDE,
    perMinute: WIDE,
    perDestinationPerMinute: WIDE,
    perDestinationPerDay: WIDE,
    minutesPerDay: WIDE,
  },
  limits: { requestsPerMinute: WIDE, sessions: 500 },
};
const AGENT = { name: 'Bench', config: { prompt: 'You say hello.', llm: { model: 'scripted' } } };

interface Figures {
  writes: number;
  writeMs: number;
  calls: number;
  callMs: number;
  eventMs: number;
  slowEventMs: number;
  /** NaN on SQLite. */
  transactions: number;
  transactionMs: number;
}

const KINDS = [
  { name: 'one, SQLite', count: 1, isPostgres: false },
  { name: 'one, PostgreSQL', count: 1, isPostgres: true },
  { name: 'three, PostgreSQL', count: 3, isPostgres: true },
];
const measured = new Map<string, Figures[]>(KINDS.map(({ name }) => [name, []]));
for (let round = 0; round < Number(values.rounds); round++) {
  for (const kind of KINDS) measured.get(kind.name)?.push(await measure(kind));
}
const rows = KINDS.map(({ name }) => {
  const of = (figure: keyof Figures, digits = 0): string => {
    const value = median((measured.get(name) ?? []).map((figures) => figures[figure]));
    return Number.isNaN(value) ? '' : value.toFixed(digits);
  };
  return [
    name,
    of('writes'),
    of('writeMs'),
    of('calls'),
    of('callMs'),
    of('eventMs'),
    of('slowEventMs'),
    of('transactions', 1),
    of('transactionMs', 2),
  ];
});
const heads = [
  'nodes',
  'writes a second',
  'p99 ms',
  'set-ups a second',
  'p99 ms',
  'event p50 ms',
  'p99 ms',
  'transactions a call',
  'ms each',
];
console.log(markdownTable([heads, ...rows]));
console.log(
  `\n${String(CLIENTS)} clients, ${String(WATCHERS)} watchers, medians of ${values.rounds} rounds. ${machine()}`,
);

async function measure({ count, isPostgres }: { count: number; isPostgres: boolean }): Promise<Figures> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  chmodSync(folder, 0o755); // for the server's user
  const server = join(folder, 'postgres');
  mkdirSync(server);
  const postgres = isPostgres ? await PostgresCluster.start(server) : null;
  const nodes: Node[] = [];
  try {
    for (let at = 0; at < count; at++) {
      const databaseUrl = postgres?.url ?? null;
      nodes.push(new Node({ name: String(at), folder, port: await freePort(), databaseUrl, settings: SETTINGS }));
    }
    await Promise.all(nodes.map((node) => node.start()));
    const addresses = nodes.map(({ address }) => address);
    const first = addresses[0] ?? '';
    const { id: agent } = (await request(first, 'POST', '/agents', { body: AGENT })) as { id: string };
    const { id: phone } = (await request(first, 'POST', '/phones/purchase', { body: {} })) as { id: string };
    let number = 0;
    const writes = await load(addresses, (address) =>
      request(address, 'POST', '/do-not-call', { body: { phone: `+1415${String(2_000_000 + number++)}` } }),
    );
    const call = (address: string): Promise<unknown> =>
      request(address, 'POST', '/start_outbound_call', {
        body: { from_phone: phone, to_phone: NOBODY, agent_id: agent },
      });
    const before = await counters(postgres);
    const calls = await load(addresses, call);
    const after = await counters(postgres);
    const transactions = after.transactions - before.transactions;
    const delays = await events(addresses, call);
    return {
      writes: writes.perSecond,
      writeMs: writes.slowMs,
      calls: calls.perSecond,
      callMs: calls.slowMs,
      eventMs: quantile(delays, 0.5),
      slowEventMs: quantile(delays, 0.99),
      transactions: transactions / (calls.perSecond * SECONDS),
      transactionMs: (after.busyMs - before.busyMs) / transactions,
    };
  } finally {
    await Promise.all(nodes.map((node) => node.close()));
    postgres?.crash();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What the server has done so far; NaN without one. Its processes report at most once a second. */
async function counters(postgres: PostgresCluster | null): Promise<{ transactions: number; busyMs: number }> {
  if (postgres === null) return { transactions: NaN, busyMs: NaN };
  const client = new pg.Client(postgres.url);
  await client.connect();
  const { rows } = await client.query<{ transactions: number; busyMs: number }>(
    `SELECT xact_commit::float8 AS transactions, active_time + idle_in_transaction_time AS "busyMs"
     FROM pg_stat_database WHERE datname = current_database()`,
  );
  await client.end();
  return rows[0] ?? { transactions: NaN, busyMs: NaN };
}

/** Clients that each ask again as soon as they are answered, at the nodes in turn. */
async function load(
  addresses: readonly string[],
  ask: (address: string) => Promise<unknown>,
): Promise<{ perSecond: number; slowMs: number }> {
  const untilMs = performance.now() + SECONDS * 1000;
  const times: number[] = [];
  let turn = 0;
  const client = async (): Promise<void> => {
    while (performance.now() < untilMs) {
      const startMs = performance.now();
      await ask(addresses[turn++ % addresses.length] ?? '');
      times.push(performance.now() - startMs);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return { perSecond: times.length / SECONDS, slowMs: quantile(times, 0.99) };
}

/** Milliseconds from a request for a call until each watcher, at the last node, knows that the call exists. */
async function events(addresses: readonly string[], call: (address: string) => Promise<unknown>): Promise<number[]> {
  const stop = new AbortController();
  const watchers = await Promise.all(
    Array.from({ length: WATCHERS }, () => watch(addresses.at(-1) ?? '', stop.signal)),
  );
  const delays: number[] = [];
  for (let count = 0; count < CALLS_WATCHED; count++) {
    const startMs = performance.now();
    const { session_id: session } = (await call(addresses[0] ?? '')) as { session_id: string };
    while (watchers.some((seen) => !seen.has(session)) && performance.now() - startMs < EVENT_DEADLINE_MS) {
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    for (const seen of watchers) delays.push((seen.get(session) ?? startMs + EVENT_DEADLINE_MS) - startMs);
  }
  stop.abort();
  return delays;
}

/** When the first event of each session came, once the node streams. */
async function watch(address: string, signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
  const response = await fetch(`${address}/events`, { headers: { authorization: PRIVATE_KEY }, signal });
  const seen = new Map<string, number>();
  const parser = createParser({
    onEvent: ({ data }) => {
      const { session_id: session } = JSON.parse(data) as { session_id?: string };
      if (session !== undefined && !seen.has(session)) seen.set(session, performance.now());
    },
  });
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) parser.feed(decoder.decode(bytes as Uint8Array, { stream: true }));
  };
  read().catch(() => undefined); // stopped
  return seen;
}
