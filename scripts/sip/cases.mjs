/** What scripts/sip/run.mjs tries: each case opens a trunk, has sipp at its far side, and throws where it is not as it should be. */
import assert from 'node:assert/strict';
import { answerAll, clock, HOST, openTrunk, OWN, sipp, talk, until, wait } from './rig.mjs';

let nextPort = 15_060;
const port = () => (nextPort += 4);

/** @typedef {{ code: number | null, complaints: string, output: string }} SippEnd */

/** @param {SippEnd} end */
function assertFine({ code, complaints, output }, mayComplain = false) {
  assert.equal(code, 0, `sipp exits ${String(code)}: ${complaints.slice(0, 2000)}${output.slice(-500)}`);
  if (!mayComplain) assert.equal(complaints, '', complaints.slice(0, 2000));
}

/**
 * sipp calls.
 * @param {string} scenario
 * @param {{ args?: string[], calls?: number, rate?: number, number?: string, answerAfterMs?: number, hangUpAfterMs?: number, mayComplain?: boolean,
 *   protocol?: 'UDP' | 'TCP', check?: (calls: ReturnType<typeof answerAll>, carrier: object) => unknown }} [options]
 */
function sippCalls(scenario, options = {}) {
  return async () => {
    const {
      args = [],
      calls = 1,
      rate = 10,
      number = OWN,
      answerAfterMs = 100,
      hangUpAfterMs = 0,
      mayComplain,
      check,
      protocol = 'UDP',
    } = options;
    const [ours, theirs] = [port(), port()];
    const carrier = await openTrunk({ port: ours, servers: [{ protocol, port: theirs }], listen: [protocol] });
    const answered = answerAll(carrier, answerAfterMs, hangUpAfterMs);
    try {
      const sets = ['-p', String(theirs), '-s', number, '-m', String(calls), '-r', String(rate), '-l', '200'];
      const mode = protocol === 'TCP' ? ['-t', 't1'] : [];
      assertFine(await sipp(scenario, [...sets, ...mode, ...args, `${HOST}:${String(ours)}`]).done, mayComplain);
      const note = await check?.(answered, carrier);
      await until(() => carrier.calls.size === 0, 'all calls are over');
      return note;
    } finally {
      await carrier.close();
    }
  };
}

/**
 * parley calls.
 * @param {string} scenario
 * @param {(place: (to?: string, ringTimeoutMs?: number) => { call: import('../../dist/telephony/carriers/sip/call.js').SipCall, heard: ReturnType<typeof talk> }, far: object) => Promise<unknown>} act
 * @param {{ args?: string[], calls?: number | number[], options?: Record<string, unknown>, more?: string[], protocol?: 'UDP' | 'TCP', mayComplain?: boolean, status?: string }} [settings]
 */
export function parleyCalls(scenario, act, settings = {}) {
  return async () => {
    const { args = [], calls = 1, options = {}, more = [], protocol = 'UDP', mayComplain, status } = settings;
    const scenarios = [scenario, ...more];
    const theirs = scenarios.map(() => port());
    const far = scenarios.map((name, at) => {
      const sets = ['-p', String(theirs[at]), '-m', String(Array.isArray(calls) ? calls[at] : calls)];
      return sipp(name, [...sets, ...(protocol === 'TCP' ? ['-t', 't1'] : []), ...args], status);
    });
    await wait(300);
    const carrier = await openTrunk({
      port: port(),
      servers: theirs.map((each) => ({ protocol, port: each })),
      listen: [protocol],
      options,
    });
    const place = (to = '+12025550101', ringTimeoutMs = 10_000) => {
      const call = carrier.placeCall({ from: OWN, to, ringTimeoutMs });
      return { call, heard: talk(call) };
    };
    try {
      const note = await act(place, carrier);
      await until(() => carrier.calls.size === 0, 'all calls are over');
      await carrier.close();
      for (const each of far) assertFine(await each.done, mayComplain);
      return note;
    } finally {
      await carrier.close();
      for (const each of far) each.stop();
    }
  };
}

/** @param {string} scenario @param {string} cause @param {string} by */
const refusedWith = (scenario, cause, by) =>
  parleyCalls(scenario, async (place) => {
    const { call } = place();
    await until(() => call.state === 'ended', 'the call is over');
    assert.deepEqual([call.end?.cause, call.end?.by], [cause, by]);
  });

/** @param {ReturnType<typeof answerAll>} calls */
const allHeard = (calls) => {
  for (const { heard, call } of calls)
    assert.ok(heard.loud > 20, `heard ${String(heard.loud)} frames, ${call.end?.reason}`);
};

/** @param {Parameters<Parameters<typeof parleyCalls>[1]>[0]} place */
const talkAndHangUp = async (place) => {
  const { call, heard } = place();
  await until(() => call.state === 'answered', 'it is answered');
  await until(() => heard.loud > 20, 'something is heard');
  call.hangUp();
  await until(() => call.state === 'ended', 'the call is over');
  assert.deepEqual([call.end?.cause, call.end?.by], ['hangup', 'agent']);
};

/** @type {[name: string, run: () => Promise<unknown>][]} */
export const CASES = [
  ['a call from sipp, with sound', sippCalls('uac-media', { calls: 3, check: allHeard })],
  ['a call from sipp over TCP', sippCalls('uac-media', { protocol: 'TCP', check: allHeard })],
  [
    'a call from sipp, one message in ten lost',
    sippCalls('uac-short', { calls: 30, args: ['-lost', '10'], mayComplain: true }),
  ],
  [
    'sipp cancels',
    sippCalls('uac-cancel', { answerAfterMs: 5000, check: ([one]) => assert.equal(one?.call.end?.by, 'remote') }),
  ],
  [
    'hold, resume, UPDATE, INFO, OPTIONS and REFER in a call',
    sippCalls('uac-hold', { check: ([one]) => assert.equal(one?.heard.keys, '5') }),
  ],
  ['an INVITE without an offer', sippCalls('uac-offerless', { check: allHeard })],
  [
    'an INVITE without an offer whose ACK has no answer: BYE with 488',
    sippCalls('uac-answerless', {
      check: ([one]) => assert.deepEqual([one?.call.end?.cause, one?.call.record().answeredMs], ['failed', null]),
    }),
  ],
  ['100rel is required', sippCalls('uac-100rel')],
  ['100rel is required, without an offer', sippCalls('uac-100rel-offerless', { check: allHeard, answerAfterMs: 500 })],
  ['an extension that nobody knows: 420', sippCalls('uac-420')],
  ['too short a session interval: 422', sippCalls('uac-422')],
  ['no SDP is accepted: 406', sippCalls('uac-406')],
  ['no codec in common: 488', sippCalls('uac-488')],
  ['a number that is not ours: 404', sippCalls('uac-404', { number: '+12025550000' })],
  ['OPTIONS', sippCalls('uac-options')],
  [
    'parley hangs up a call from sipp',
    sippCalls('uac-waits-bye', { hangUpAfterMs: 500, check: ([one]) => assert.equal(one?.call.end?.by, 'agent') }),
  ],
  ['parley calls, with sound', parleyCalls('uas-media', talkAndHangUp)],
  ['parley calls over TCP', parleyCalls('uas-media', talkAndHangUp, { protocol: 'TCP' })],
  [
    'sipp hangs up',
    parleyCalls('uas-hangs-up', async (place) => {
      const { call, heard } = place();
      await until(() => call.state === 'ended', 'the call is over');
      assert.deepEqual([call.end?.cause, call.end?.by, heard.isClosed], ['hangup', 'remote', true]);
    }),
  ],
  ['busy: 486', refusedWith('uas-486', 'busy', 'remote')],
  ['declined: 603', refusedWith('uas-603', 'rejected', 'remote')],
  ['no such number: 404', refusedWith('uas-404', 'failed', 'network')],
  ['nobody there: 480', refusedWith('uas-480', 'no-answer', 'remote')],
  ['no capacity: 503', refusedWith('uas-503', 'failed', 'network')],
  ['special information tones before a 480: it has failed', refusedWith('uas-announced', 'failed', 'network')],
  [
    'parley cancels',
    parleyCalls('uas-cancel', async (place) => {
      const { call } = place();
      await until(() => call.state === 'ringing', 'it rings');
      call.hangUp();
      assert.equal(call.end?.cause, 'canceled');
      await wait(500);
    }),
  ],
  [
    'nobody answers in time',
    parleyCalls('uas-cancel', async (place) => {
      const { call } = place(undefined, 700);
      await until(() => call.state === 'ended', 'the call is over');
      assert.equal(call.end?.cause, 'no-answer');
      await wait(500);
    }),
  ],
  [
    'a proof is asked for: 401',
    parleyCalls('uas-401', hangUpAnswered, { options: { credentials: { user: 'parley', password: 'secret' } } }),
  ],
  ['a redirection: 302', parleyCalls('uas-302', hangUpAnswered)],
  ['a longer session interval is wanted: 422', parleyCalls('uas-422', hangUpAnswered)],
  [
    'early media, reliably: 183 and PRACK',
    parleyCalls('uas-early-100rel', async (place) => {
      const { call, heard } = place();
      await until(() => call.state === 'ringing', 'something is heard');
      await wait(300);
      assert.equal(heard.loud, 0, 'nothing is heard before the answer');
      await until(() => call.state === 'answered' && heard.loud > 5, 'it is answered');
      assert.ok((call.record().packets.early ?? 0) > 5, 'what came before it is counted');
      call.hangUp();
    }),
  ],
  [
    'the first server has no capacity, the second takes the call',
    parleyCalls('uas-503', hangUpAnswered, { more: ['uas-short'] }),
  ],
  [
    'registers with a proof, and unregisters',
    parleyCalls(
      'uas-register',
      async (_place, carrier) => {
        await until(() => carrier.trunk.registration?.state === 'registered', 'it is registered');
      },
      { options: { register: true, user: 'parley', credentials: { user: 'parley', password: 'secret' } } },
    ),
  ],
  [
    '20 calls a second from sipp, 100 at once',
    sippCalls('uac-short', { calls: 400, rate: 25, answerAfterMs: 20, check: many, mayComplain: true }),
  ],
  ['20 calls a second to sipp, 100 at once', parleyCalls('uas-short', callMany, { calls: 300 })],
];

/** @param {Parameters<Parameters<typeof parleyCalls>[1]>[0]} place */
async function hangUpAnswered(place) {
  const { call } = place();
  await until(() => call.state === 'answered', `it is answered: ${call.end?.reason}`);
  call.hangUp();
}

/** @param {ReturnType<typeof answerAll>} calls */
function many(calls) {
  const failures = calls.filter(({ call }) => call.end?.cause !== 'hangup');
  assert.equal(failures.length, 0, failures[0]?.call.end?.reason);
  return `${String(calls.length)} calls, ${(process.cpuUsage().user / 1000 / calls.length).toFixed(1)} ms of CPU each with media, all cases so far`;
}

/** @param {Parameters<Parameters<typeof parleyCalls>[1]>[0]} place */
async function callMany(place) {
  const calls = [];
  let most = 0;
  const startMs = clock.nowMs();
  for (let n = 0; n < 300; n++) {
    const { call } = place();
    calls.push(call);
    call.onState((state) => {
      if (state === 'answered') setTimeout(() => call.hangUp(), 4500);
    });
    most = Math.max(most, calls.filter(({ state }) => state === 'answered').length);
    await wait(Math.max(0, startMs + (n + 1) * 45 - clock.nowMs()));
  }
  await until(() => calls.every(({ state }) => state === 'ended'), 'all calls are over', 30_000);
  const failures = calls.filter(({ end }) => end?.cause !== 'hangup');
  assert.equal(failures.length, 0, failures[0]?.end?.reason);
  return `at most ${String(most)} at once`;
}
