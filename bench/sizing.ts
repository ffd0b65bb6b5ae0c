/**
 * How many nodes hold 100, 1,000 and 10,000 calls at once, by arithmetic and simulation from measured figures: the tables
 * of docs/scale-out.md. Nothing is measured here.
 *
 *   node bench/run.mjs sizing [--thread=100] [--threads=3] [--call-s=180] [--spread=1.2] [--refused=0.001]
 *     [--transactions=NUMBER --transaction-ms=NUMBER [--connections=10]]
 *
 * `transactions` of the database in a call, and what one takes (`node bench/run.mjs nodes`): then also its load.
 * `thread`: calls that a media thread holds (docs/operation.md); `threads` a node; `spread`: standard deviation of the
 * lengths of calls, divided by their mean; `refused`: share of calls that may find no room.
 */
import { parseArgs } from 'node:util';
import { Random } from '../src/base/random.js';
import { markdownTable } from './lib/numbers.js';
import { blocked, CallLengths, drains, linesFor, meanWait } from './lib/traffic.js';

const { values } = parseArgs({
  options: {
    thread: { type: 'string', default: '100' },
    threads: { type: 'string', default: '3' },
    'call-s': { type: 'string', default: '180' },
    spread: { type: 'string', default: '1.2' },
    refused: { type: 'string', default: '0.001' },
    transactions: { type: 'string' },
    'transaction-ms': { type: 'string' },
    connections: { type: 'string', default: '10' },
    rounds: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
  },
});
const A_NODE = Number(values.thread) * Number(values.threads);
const CALL_S = Number(values['call-s']);
const REFUSED = Number(values.refused);
const SIZES = [100, 1000, 10_000];
/** PCMU in packets of 20 ms: 160 bytes, and 58 of RTP, UDP, IP and Ethernet with its gap and preamble; both ways. */
const KBIT_A_CALL = (2 * ((160 + 12 + 8 + 20 + 38) * 8 * 50)) / 1000;
const PACKETS_A_CALL = 100;
/** The process, each media thread, each call (docs/benchmarks.md). */
const [PROCESS_MB, THREAD_MB, CALL_MB] = [260, 170, 0.3];

const count = (value: number): string => Math.ceil(value).toLocaleString('en');

console.log(`A node: ${values.threads} media threads, ${count(A_NODE)} calls. Calls of ${String(CALL_S)} s.\n`);
console.log(
  markdownTable([
    [
      'calls at once, mean',
      `lines for ${String(100 * REFUSED)} % refused`,
      'nodes',
      'with one to spare',
      'then full at',
      'new calls a second',
      'Mbit/s',
      'packets/s',
      'memory a node, MB',
    ],
    ...SIZES.map((calls) => {
      const lines = linesFor(calls, REFUSED);
      const nodes = Math.ceil(lines / A_NODE);
      const spare = Math.max(2, nodes + 1);
      return [
        count(calls),
        count(lines),
        count(nodes),
        count(spare),
        `${((100 * calls) / (spare * A_NODE)).toFixed(0)} %`,
        (calls / CALL_S).toFixed(1),
        count((lines * KBIT_A_CALL) / 1000),
        count(lines * PACKETS_A_CALL),
        count(PROCESS_MB + Number(values.threads) * THREAD_MB + A_NODE * CALL_MB),
      ];
    }),
  ]),
);

console.log('\nOne node dies: its calls end. Share of new calls that the others refuse at the mean load:\n');
console.log(
  markdownTable([
    ['calls at once, mean', 'nodes', 'calls lost', 'refused with one node less', 'with two less'],
    ...SIZES.map((calls) => {
      const nodes = Math.max(2, Math.ceil(linesFor(calls, REFUSED) / A_NODE) + 1);
      const share = (left: number): string => `${(100 * (left < 1 ? 1 : blocked(calls, left * A_NODE))).toFixed(2)} %`;
      return [count(calls), count(nodes), count(calls / nodes), share(nodes - 1), share(nodes - 2)];
    }),
  ]),
);

const spread = Number(values.spread);
console.log(
  `\nA node with ${count(A_NODE)} calls drains (log-normal lengths, ${values.spread} × the mean as deviation):\n`,
);
console.log(
  markdownTable([
    ['PARLEY_DRAIN_S', 'over after, median s', '99 of 100 within, s', 'calls in progress cut off'],
    ...[60, 300, 600, 900, 1800, 3600].map((drainS) => {
      const lengths = new CallLengths(new Random(Number(values.seed)), CALL_S, spread);
      const { medianS, worstS, cut } = drains(lengths, A_NODE, drainS, Number(values.rounds));
      return [String(drainS), count(medianS), count(worstS), `${(100 * cut).toFixed(3)} %`];
    }),
  ]),
);

const { transactions, 'transaction-ms': transactionMs } = values;
if (transactions !== undefined && transactionMs !== undefined) {
  console.log(
    `\nThe database: ${transactions} transactions a call of ${transactionMs} ms each, ${values.connections} connections a node:\n`,
  );
  console.log(
    markdownTable([
      ['calls at once, mean', 'transactions a second', 'connections in use, mean', 'mean wait for a connection, ms'],
      ...SIZES.map((calls) => {
        const nodes = Math.max(2, Math.ceil(linesFor(calls, REFUSED) / A_NODE) + 1);
        const perSecond = (calls / CALL_S) * Number(transactions);
        const busy = (perSecond * Number(transactionMs)) / 1000;
        const own = Number(values.connections);
        const wait =
          busy / nodes < own ? (meanWait(busy / nodes, own) * Number(transactionMs)).toFixed(3) : 'without end';
        return [count(calls), count(perSecond), busy.toFixed(1), wait];
      }),
    ]),
  );
}
