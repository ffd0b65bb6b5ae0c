/**
 * `npm run test:security -- ROW [--count=N] [--seed=N]`: the drives of docs/security.md. `npm test` runs most of them
 * too, with the amounts that docs/security.md names; here they can be had larger, alone and with another seed. Without
 * a row, lists them.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { startDaemon } from '../daemon-process.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * A row is test files, which read `PARLEY_SECURITY_COUNT` and `PARLEY_SECURITY_SEED`, or a script of its own.
 * `daemon`: the tests attack a daemon process, whose event loop is measured, in place of one in their own process.
 * @typedef {{ what: string, count: number | null, tests: string[], daemon?: boolean }} TestRow
 * @typedef {{ what: string, count: number | null, script: (count: string, seed: string) => string[] }} ScriptRow
 * @type {Record<string, TestRow | ScriptRow>}
 */
const ROWS = {
  access: {
    what: 'every endpoint with every kind of wrong credential',
    count: null,
    tests: ['test/security/access.test.ts'],
  },
  requests: {
    what: 'requests to every endpoint that its schema takes, and broken ones; the event loop is measured',
    count: 10_000,
    tests: ['test/daemon/contract/contract.test.ts'],
    daemon: true,
  },
  files: {
    what: 'files and forms that unpack to far more than they are, never end or mean something else',
    count: null,
    tests: ['test/security/files.test.ts'],
  },
  addresses: {
    what: 'addresses that agents are given, in every spelling, behind redirects and changing names',
    count: null,
    tests: ['test/security/addresses.test.ts'],
  },
  limits: {
    what: '200 calls, sessions, chats and tokens that are asked for at once',
    count: null,
    tests: ['test/security/limits.test.ts'],
  },
  privacy: {
    what: 'a byte search for what is not to be kept: opted out, secret or erased',
    count: null,
    tests: ['test/security/privacy.test.ts'],
  },
  stages: {
    what: 'providers, tools and servers that never end, drip, send too much or garbage, or fail',
    count: null,
    tests: [
      'test/engine/dead-air.test.ts',
      'test/engine/tool-deadlines.test.ts',
      'test/session/faults.test.ts',
      'test/session/custom-llm-stall.test.ts',
      'test/net/guarded-client.test.ts',
      'test/providers/deadlines.test.ts',
    ],
  },
  storage: {
    what: 'a disk that is full or read-only, a damaged database, a deleted write-ahead log, a clock that jumps',
    count: null,
    tests: ['test/security/storage.test.ts'],
  },
  crash: {
    what: 'kill -9 while agents, keys, campaigns and calls are written',
    count: 1_000,
    script: (count, seed) => ['scripts/security/crash.mjs', `--rounds=${count}`, `--seed=${seed}`],
  },
  campaigns: {
    what: 'kill -9 while campaigns call',
    count: 50,
    script: (count, seed) => ['scripts/security/campaign-crashes.mjs', `--rounds=${count}`, `--seed=${seed}`],
  },
  sockets: {
    what: 'clients of each kind that are slow on purpose',
    count: 500,
    script: (count) => ['scripts/security/slow-clients.mjs', `--count=${count}`],
  },
  floods: {
    what: 'clients of the talk socket that send far too much, beside a caller; so many of each kind',
    count: 100,
    script: (count) => ['scripts/security/floods.mjs', `--count=${count}`, '--seconds=30'],
  },
  'sip-flood': {
    what: 'a thousand SIP datagrams a second from a stranger and from the forged address of the trunk, beside a caller',
    count: 100_000,
    script: (count, seed) => ['scripts/security/sip-flood.mjs', `--count=${count}`, `--seed=${seed}`],
  },
  soak: {
    what: 'callers who talk for so many minutes; memory, handles and the event loop stay as they are',
    count: 1_440,
    script: (count) => ['scripts/security/soak.mjs', `--minutes=${count}`],
  },
  datagrams: {
    what: 'mutated SIP, descriptions, RTP, RTCP and SRTP, so many of each',
    count: 1_000_000,
    tests: ['test/transports/rtp/fuzz.test.ts', 'test/telephony/sip/fuzz.test.ts'],
  },
  webrtc: {
    what: "WebRTC calls beside which a stranger sends mutated copies of all of the caller's datagrams",
    count: 100,
    tests: ['test/transports/webrtc/strangers.test.ts'],
  },
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { count: { type: 'string' }, seed: { type: 'string', default: '1' } },
});
const [name = ''] = positionals;
const row = Object.hasOwn(ROWS, name) ? ROWS[name] : undefined;
if (row === undefined) {
  console.log('npm run test:security -- ROW [--count=N] [--seed=N]\n');
  for (const [each, { what, count }] of Object.entries(ROWS)) {
    console.log(`  ${each.padEnd(10)} ${what}${count === null ? '' : `; count ${count} by default`}`);
  }
  process.exit(name === '' ? 0 : 2);
}
const wanted = values.count ?? (row.count === null ? null : String(row.count));
console.log(`${name}${wanted === null ? '' : `, count ${wanted}, seed ${values.seed}`}`);
if ('script' in row) process.exitCode = await run(process.execPath, row.script(wanted ?? '', values.seed));
else if (row.daemon === true) await againstDaemon(row.tests);
else process.exitCode = await runTests(row.tests);

/**
 * @param {string[]} tests
 * @param {Record<string, string>} env
 */
function runTests(tests, env = {}) {
  return run('npx', ['--no-install', 'vitest', 'run', '--retry=0', ...tests], env);
}

/**
 * @param {string} program
 * @param {string[]} args
 * @param {Record<string, string>} env
 * @returns {Promise<number>} the exit code
 */
async function run(program, args, env = {}) {
  const count = wanted === null ? {} : { PARLEY_SECURITY_COUNT: wanted };
  const child = spawn(program, args, {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, ...count, PARLEY_SECURITY_SEED: values.seed, ...env },
  });
  const [code] = await once(child, 'close');
  return code ?? 1;
}

/** @param {string[]} tests */
async function againstDaemon(tests) {
  const daemon = await startDaemon({ limits: { requestsPerMinute: 1_000_000_000 } });
  try {
    await daemon.figures(); // from here on
    process.exitCode = await runTests(tests, { PARLEY_SECURITY_ADDRESS: daemon.address });
    const { median, p99, longest } = (await daemon.figures()).loopDelayMs;
    console.log(`event loop delay: median ${median}, p99 ${p99}, longest ${longest} ms`);
    if (!daemon.isAlive()) process.exitCode = 1;
  } finally {
    await daemon.close();
  }
}
