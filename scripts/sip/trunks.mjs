/** Several trunks on one port, callers who prove who they are, and calls beyond the limit; with the settings as an operator writes them. For scripts/sip/run.mjs. */
import assert from 'node:assert/strict';
import { sipTrunks } from '../../dist/telephony/carriers/sip/open.js';
import { DEFAULT_SIP } from '../../dist/settings/carriers/sip.js';
import { clock, HOST, sipp, talk, ticker, until } from './rig.mjs';

/** Addresses of loopback that nobody has named: strangers. */
const STRANGER = '127.0.0.2';
const NUMBERS = /** @type {const} */ (['+12025550191', '+12025550192']);
const PORT = 15_800;

/** @param {Partial<typeof DEFAULT_SIP>} settings */
async function openTrunks(settings) {
  const engine = /** @type {import('../../dist/engine/engine.js').Engine} */ (
    /** @type {unknown} */ ({ clock, ticker })
  );
  const trunks = await sipTrunks({
    engine,
    password: null,
    owned: NUMBERS,
    onError: (/** @type {unknown} */ error) => console.error(error),
    settings: {
      ...DEFAULT_SIP,
      keepAliveS: 0,
      listen: [`udp:${HOST}:${PORT}`],
      rtpPorts: [30_000, 39_999],
      ...settings,
    },
  });
  /** @type {{ to: string, trunk: number, heard: ReturnType<typeof talk> }[]} */
  const calls = [];
  for (const [trunk, carrier] of trunks.carriers.entries()) {
    carrier.receiveCalls((call) => {
      calls.push({ to: call.to, trunk, heard: talk(call) });
      call.answer();
    });
  }
  const over = () => until(() => trunks.carriers.every((carrier) => carrier.calls.size === 0), 'all calls are over');
  return { trunks, calls, over };
}

/** @param {{ done: Promise<{ code: number | null, complaints: string, output: string }> }} run */
async function isFine(run) {
  const { code, complaints, output } = await run.done;
  assert.equal(code, 0, `sipp exits ${String(code)}: ${complaints.slice(0, 2000)}${output.slice(-500)}`);
}

/** @param {string} scenario @param {number} port @param {string[]} [args] */
const caller = (scenario, port, args = []) =>
  sipp(scenario, ['-p', String(port), '-m', '1', ...args, `${HOST}:${String(PORT)}`]);

/** Somebody whom no trunk knows. @param {string} scenario @param {string} number @param {string} [password] */
const stranger = (scenario, number, password = '') =>
  caller(scenario, 15_840, ['-i', STRANGER, '-mi', STRANGER, '-s', number, '-au', 'pbx', '-ap', password]);

/** @type {[name: string, run: () => Promise<unknown>][]} */
export const TRUNKS = [
  [
    'two trunks: calls go and come over the one that has the number',
    async () => {
      const [one, two] = [15_810, 15_814];
      const { trunks, calls, over } = await openTrunks({
        servers: [`sip:${HOST}:${one}`],
        numbers: [NUMBERS[0]],
        trunks: { two: { servers: [`sip:${HOST}:${two}`], numbers: [NUMBERS[1]] } },
      });
      try {
        for (const [at, port] of [one, two].entries()) {
          const far = sipp('uas-short', ['-p', String(port), '-m', '1']);
          await new Promise((resolve) => setTimeout(resolve, 300));
          const from = NUMBERS[at] ?? '';
          const call = trunks.carriers[at]?.placeCall({ from, to: '+12025550101', ringTimeoutMs: 5000 });
          await until(() => call?.state === 'answered', 'it is answered');
          call?.hangUp();
          await isFine(far);
          await isFine(caller('uac-media', port, ['-s', from]));
        }
        await over();
        assert.deepEqual(
          calls.map(({ to, trunk }) => [to, trunk]),
          NUMBERS.map((number, at) => [number, at]),
        );
        for (const { heard } of calls) assert.ok(heard.loud > 20, 'both are heard');
      } finally {
        await trunks.close();
      }
    },
  ],
  [
    'a caller from anywhere proves who he is, and is let in; others are not',
    async () => {
      const { trunks, calls, over } = await openTrunks({
        numbers: [NUMBERS[0]],
        callers: { pbx: 'secret' },
        callerAlgorithms: ['MD5'],
      });
      try {
        await isFine(stranger('uac-auth', NUMBERS[0], 'secret'));
        await over();
        assert.equal(calls.length, 1);
        await isFine(stranger('uac-auth-wrong', NUMBERS[0], 'guess'));
        await isFine(stranger('uac-silence', '+12025550000'));
        assert.equal(calls.length, 1);
        return JSON.stringify(trunks.doorCounts);
      } finally {
        await trunks.close();
      }
    },
  ],
  [
    'a call beyond the limit: 503 with Retry-After',
    async () => {
      const port = 15_818;
      const { trunks } = await openTrunks({ servers: [`sip:${HOST}:${port}`], numbers: [NUMBERS[0]] });
      trunks.carriers[0]?.receiveCalls((call) => call.hangUp('full'));
      try {
        await isFine(caller('uac-503', port, ['-s', NUMBERS[0]]));
      } finally {
        await trunks.close();
      }
    },
  ],
];
