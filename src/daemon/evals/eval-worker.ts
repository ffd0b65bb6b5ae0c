/** The process of one run of a test suite, see `ChildRunner`. */
import { join } from 'node:path';
import { nowUnixMs, RealClock } from '../../base/real-clock.js';
import { evalPrices } from '../call-log/eval-prices.js';
import type { EngineOptions } from '../../engine/options.js';
import type { EvalAgent } from '../../eval/agent.js';
import { runSuite } from '../../eval/run-suite.js';
import type { SuiteResult } from '../../eval/result.js';
import { VoiceList } from '../../store/voices.js';
import { Rpc } from '../../threads/wire/rpc.js';
import type { ChildJob, ChildMethods, DaemonMethods } from './child-protocol.js';
import type { TestedAgent } from './suite-runner.js';

/** A question to the daemon. Whoever asks has a shorter deadline of its own. */
const ASK = { timeoutMs: 30_000 };

if (process.send === undefined) throw new Error('This file runs as a child process');
const daemon = new Rpc<DaemonMethods>({
  post: (message) => void process.send?.(message),
  methods: { run } satisfies ChildMethods,
  clock: new RealClock(),
  onFault: (error) => void process.stderr.write(`${error.message}\n`),
});
process.on('message', (message) => daemon.receive(message));
// The daemon has exited.
process.on('disconnect', () => process.exit());

async function run({ job, options, embedding, prices, voices: all }: ChildJob): Promise<SuiteResult> {
  const { suite, agent, against, mode, runs, only, concurrency, folder } = job;
  const voices = new VoiceList(all);
  let passed = 0;
  return runSuite({
    suite,
    folder,
    agent: evalAgent(agent),
    against: against && evalAgent(against),
    modes: mode === null ? undefined : [mode],
    runs: runs ?? undefined,
    only: only ?? undefined,
    concurrency,
    engine: { ...options, ...storesOf(voices), recordings: join(folder, 'own') },
    embedding,
    prices: evalPrices(prices, voices.multiplierOf),
    keep: { folder, which: 'all' },
    startUnixMs: nowUnixMs(),
    signal: new AbortController().signal, // the daemon kills the process
    onRun: (one, _case, progress) => {
      if (one.passed) passed++;
      daemon.tell('progress', { done: progress.done, total: progress.total, failed: progress.failed, passed });
    },
  });
}

function evalAgent({ id, version, config, script, extensions }: TestedAgent): EvalAgent {
  return { name: `${id}@${String(version)}`, config, script, extensions, agentId: id };
}

/** What agents use in a daemon. Test calls leave nothing behind: no memories, no messages to webhooks. */
function storesOf(voices: VoiceList): Pick<EngineOptions, 'voices' | 'knowledge' | 'recorder'> {
  return {
    voices,
    knowledge: {
      known: (ids) => daemon.ask('knownFiles', ids, ASK),
      filesOf: (agentId) => daemon.ask('filesOf', agentId, ASK),
      list: () => daemon.ask('listFiles', null, ASK),
      search: ({ signal, ...query }) => daemon.ask('search', query, { ...ASK, signal }),
    },
    recorder: { record: async () => undefined, close: async () => undefined },
  };
}
