/** Calls that are handed on: to whom the other side calls itself (REFER), or over a second call (a bridge). For scripts/sip/run.mjs. */
import assert from 'node:assert/strict';
import { parleyCalls } from './cases.mjs';
import { until, wait } from './rig.mjs';

const TARGET = '+12025550166';

/** @typedef {import('../../dist/telephony/carriers/sip/call.js').SipCall} SipCall */
/** @typedef {{ call: SipCall, heard: { loud: number, isClosed: boolean } }} Placed */

/** @param {SipCall} call */
const blindly = (call) => call.line.transfer?.(TARGET, AbortSignal.timeout(10_000));

/** @param {SipCall} call */
const answered = (call) => until(() => call.state === 'answered', `it is answered: ${call.end?.reason}`);

/** The agent leaves, and its part of the call ends as handed on. @param {SipCall} call */
async function leave(call) {
  await call.line.close();
  await until(() => call.state === 'ended', 'the call is over');
  assert.equal(call.end?.cause, 'transferred');
}

/** Both far ends send a tone: packets go on both ways though the agent has left. @param {SipCall} call */
async function isRelayed(call) {
  const before = call.line.lineStats();
  await until(
    () => {
      const { sent, received } = call.line.lineStats();
      return sent > before.sent + 20 && received > before.received + 20;
    },
    'sound is relayed',
    5000,
  );
  assert.equal(call.isOver, false);
}

/** The user hears the agent again, who hears them. @param {Placed} placed */
async function isBack({ call, heard }) {
  assert.equal(call.state, 'answered');
  const before = { sent: call.line.lineStats().sent, loud: heard.loud };
  await until(
    () => call.line.lineStats().sent > before.sent + 20 && heard.loud > before.loud + 20,
    'the agent is back',
    5000,
  );
  call.hangUp();
}

/** Two calls are made one. @param {(call: SipCall, other: SipCall) => Promise<void>} then */
const joined = (then) =>
  /** @type {Parameters<typeof parleyCalls>[1]} */ (
    async (place) => {
      const [{ call }, { call: other }] = [place(), place(TARGET)];
      await Promise.all([answered(call), answered(other)]);
      assert.deepEqual(await call.connectTo(other, AbortSignal.timeout(10_000)), { ok: true });
      await then(call, other);
    }
  );

/** @param {string} status */
const refused = (status) =>
  parleyCalls(
    'uas-refer-refused',
    async (place) => {
      const { call } = place();
      await answered(call);
      assert.deepEqual(await blindly(call), { ok: true });
      await leave(call);
      await isRelayed(call);
      call.drop();
    },
    { status, calls: 2 },
  );

/** @type {[name: string, run: () => Promise<unknown>][]} */
export const TRANSFERS = [
  [
    'a call is handed on by REFER',
    parleyCalls('uas-refer', async (place) => {
      const { call } = place();
      await answered(call);
      assert.deepEqual(await blindly(call), { ok: true });
      await leave(call);
    }),
  ],
  [
    'a call that could not be handed on by REFER comes back',
    parleyCalls('uas-refer-busy', async (place) => {
      const placed = place();
      await answered(placed.call);
      assert.deepEqual(await blindly(placed.call), { ok: false, reason: 'busy' });
      assert.equal(placed.call.state, 'answered');
      placed.call.hangUp();
    }),
  ],
  ['REFER is refused with 603: the call is bridged', refused('603 Decline')],
  ['REFER is refused with 405: the call is bridged', refused('405 Method Not Allowed')],
  [
    'a call is handed on to a second sipp',
    parleyCalls(
      'uas-not-theirs',
      async (place) => {
        const { call } = place();
        await answered(call);
        assert.deepEqual(await blindly(call), { ok: true });
        await leave(call);
        await isRelayed(call);
        call.drop();
      },
      { calls: [2, 1], more: ['uas-media'] },
    ),
  ],
  [
    'a second sipp is busy: the call comes back to the agent',
    parleyCalls(
      'uas-not-theirs',
      async (place) => {
        const placed = place();
        await answered(placed.call);
        assert.deepEqual(await blindly(placed.call), { ok: false, reason: 'busy' });
        await isBack(placed);
      },
      { calls: [2, 1], more: ['uas-486'] },
    ),
  ],
  [
    'two calls are joined by REFER with Replaces',
    parleyCalls(
      'uas-refer-replaces',
      joined(async (call, other) => {
        await leave(call);
        await until(() => other.isOver, 'the other call is over');
        assert.equal(other.end?.cause, 'transferred');
      }),
      { calls: [2, 1], more: ['uas-media'] },
    ),
  ],
  [
    'two calls are joined by a bridge where REFER with Replaces is refused',
    parleyCalls(
      'uas-refer-refused',
      joined(async (call, other) => {
        await leave(call);
        await isRelayed(call);
        assert.equal(other.end?.cause, 'transferred');
        await wait(200);
        call.drop();
      }),
      { status: '603 Decline', calls: 2 },
    ),
  ],
];
