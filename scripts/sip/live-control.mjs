/**
 * Control commands on a call with a real phone: a daemon with a trunk, and baresip at its far side, which notes what it hears
 * and which keys it gets. For scripts/sip/run.mjs.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { freePort, PRIVATE_KEY, startDaemon } from '../daemon-process.mjs';
import { Baresip } from './baresip.mjs';
import { clock, HOST, OWN, until } from './rig.mjs';

const TONE_HZ = 440;
const OTHER_TONE_HZ = 700;
const THIRD = '+12025550102';
const OTHER_OWN = '+12025550198';
/** By so much the far end's times may differ from ours. */
const EDGE_MS = 500;
const AGENT = {
  name: 'Desk',
  config: { first_message: 'Hello.', flow: { call_transfer: { phone: '+12025550166' } } },
  script: { rules: [{ when: 'hello', say: 'Hello.' }] },
};

/** Share of frames of 20 ms that are loud, between two times. @param {Int16Array} samples @param {number} fromMs @param {number} toMs */
function loudShare(samples, fromMs, toMs) {
  let loud = 0;
  let all = 0;
  for (let at = Math.round(fromMs * 8); at + 160 <= Math.min(samples.length, Math.round(toMs * 8)); at += 160) {
    all++;
    if (samples.subarray(at, at + 160).some((sample) => Math.abs(sample) > 400)) loud++;
  }
  return all === 0 ? 0 : loud / all;
}

/** Share of the energy that is at a frequency (Goertzel). @param {Int16Array} samples @param {number} rateHz @param {number} [toneHz] */
function shareOfTone(samples, rateHz, toneHz = TONE_HZ) {
  const coefficient = 2 * Math.cos((2 * Math.PI * toneHz) / rateHz);
  let [before, last, energy] = [0, 0, 0];
  for (const sample of samples) {
    [before, last] = [last, sample + coefficient * last - before];
    energy += sample * sample;
  }
  const power = last * last + before * before - coefficient * last * before;
  return energy === 0 ? 0 : (2 * power) / (energy * samples.length);
}

/** Both directions: baresip calls, is put on hold, muted, pressed keys to, listened to and handed on. @param {number} threads */
export async function controlOfASipCall(threads) {
  const [ours, theirs] = [await freePort('udp'), await freePort('udp')];
  const onFolder = (/** @type {string} */ folder) => ['module sndfile.so', `snd_path ${folder}`];
  const baresip = await Baresip.start({ port: theirs, onFolder });
  const daemon = await startDaemon({
    media: { threads },
    sip: {
      servers: [`sip:${HOST}:${String(theirs)}`],
      listen: [`udp:${HOST}:${String(ours)}`],
      sources: [HOST],
      numbers: [OWN],
      transfer: 'refer',
      keepAliveS: 0,
    },
  });
  try {
    const { id } = await daemon.request('POST', '/agents', AGENT);
    await daemon.request('POST', '/phones/import', { phone: OWN });
    await daemon.request('POST', `/phones/${OWN}/set_agent`, { agent_id: id });
    baresip.ask('dial', `sip:${OWN}@${HOST}:${String(ours)};transport=udp`);
    await until(() => baresip.events.some(({ type }) => type === 'CALL_ESTABLISHED'), 'the call is answered');
    const startMs = clock.nowMs();
    const sessionId = await running(daemon);
    const control = (/** @type {object} */ command) =>
      daemon.request('POST', `/sessions/${sessionId}/control`, command);
    /** @type {Record<string, [fromMs: number, toMs: number]>} */
    const times = {};
    /** Carries out a command, and notes the time from then on. @param {string} name @param {object} command @param {number} ms */
    const phase = async (name, command, ms) => {
      await control(command);
      await wait(EDGE_MS);
      const fromMs = clock.nowMs() - startMs;
      await wait(ms);
      times[name] = [fromMs, clock.nowMs() - startMs];
      await wait(EDGE_MS);
    };
    const listened = listen(daemon.address, sessionId);
    await phase('silent hold', { type: 'hold', music: false }, 1000);
    await control({ type: 'unhold' });
    await phase('hold with music', { type: 'hold', music: true }, 1000);
    await control({ type: 'unhold' });
    const said = await control({ type: 'say', text: 'A colleague joins us in a moment.' });
    assert.deepEqual(said.result, {
      text: 'A colleague joins us in a moment.',
      heard: 'A colleague joins us in a moment.',
      complete: true,
    });
    await control({ type: 'press_keys', digits: '12#' });
    await control({ type: 'mute', side: 'agent', on: true });
    await assert.rejects(control({ type: 'say', text: 'Hello?' }), /the agent is muted/);
    await control({ type: 'mute', side: 'agent', on: false });
    await control({ type: 'transfer', target: '+12025550166' });
    await until(() => baresip.events.some(({ type }) => type === 'TRANSFER' || type === 'CALL_TRANSFER'), 'a REFER');
    // The call that it makes for the REFER, which nobody answers, and then ours.
    for (let count = 0; count < 2; count++) {
      baresip.ask('hangup');
      await wait(200);
    }
    await until(() => baresip.events.some(({ type }) => type === 'CALL_CLOSED'), 'the call is over');
    const keys = baresip.events.flatMap(({ type, param }) => (type === 'CALL_DTMF_START' ? [param] : []));
    assert.deepEqual(keys, ['1', '2', '#']);
    const heard = baresip.heard();
    const share = (/** @type {string} */ name) => loudShare(heard, ...(times[name] ?? [0, 0]));
    assert.ok(share('silent hold') < 0.05, `silence on hold: ${String(share('silent hold'))}`);
    assert.ok(share('hold with music') > 0.8, `music on hold: ${String(share('hold with music'))}`);
    const user = await listened;
    assert.ok(
      user.length > 16_000 && shareOfTone(user.subarray(8000, 16_000), 16_000) > 0.5,
      'a listener hears the user',
    );
  } finally {
    await daemon.close();
    await baresip.stop();
  }
}

/**
 * A conference of a user, the agent and a third party, both at real phones with tones of their own: each party on hold, by
 * us and by its own phone, and one that leaves.
 * @param {number} threads
 */
export async function conferenceOverSip(threads) {
  const [ours, annsPort, bobsPort] = [await freePort('udp'), await freePort('udp'), await freePort('udp')];
  const onFolder = (/** @type {string} */ folder) => ['module sndfile.so', `snd_path ${folder}`];
  const ann = await Baresip.start({ port: annsPort, control: await freePort(), onFolder });
  const bob = await Baresip.start({
    port: bobsPort,
    control: await freePort(),
    user: THIRD,
    toneHz: OTHER_TONE_HZ,
    onFolder,
  });
  const daemon = await startDaemon({
    media: { threads },
    sip: {
      servers: [`sip:${HOST}:${String(annsPort)}`],
      listen: [`udp:${HOST}:${String(ours)}`],
      numbers: [OWN],
      keepAliveS: 0,
      trunks: {
        others: {
          servers: [`sip:${HOST}:${String(bobsPort)}`],
          numbers: [OTHER_OWN],
        },
      },
    },
  });
  try {
    const { id } = await daemon.request('POST', '/agents', AGENT);
    for (const phone of [OWN, OTHER_OWN]) {
      await daemon.request('POST', '/phones/import', { phone });
      await daemon.request('POST', `/phones/${phone}/set_agent`, { agent_id: id });
    }
    const established = (/** @type {Baresip} */ phone, /** @type {string} */ what) =>
      until(() => phone.events.some(({ type }) => type === 'CALL_ESTABLISHED'), what);
    ann.ask('dial', `sip:${OWN}@${HOST}:${String(ours)};transport=udp`);
    await established(ann, 'the call is answered');
    const sessionId = await running(daemon);
    const path = `/sessions/${sessionId}/participants`;
    const { participant_id: bobsId } = await daemon.request('POST', path, {
      channel: 'phone',
      phone_number: THIRD,
      from: OTHER_OWN,
      name: 'Bob',
      mode: 'barge_in',
    });
    await established(bob, 'the third party answers');
    const people = async () => (await daemon.request('GET', path)).participants;
    await comes(async () => (await people())[0]?.status === 'joined', 'the third party has joined');
    /** @type {[what: string, userHears: boolean, thirdHears: boolean][]} */
    const heard = [];
    /** Whether each hears the tone of the other from now on. @param {string} what */
    const phase = async (what) => {
      await wait(EDGE_MS);
      const [annsMark, bobsMark] = [ann.mark(), bob.mark()];
      await wait(1000);
      const hears = (/** @type {Int16Array} */ samples, /** @type {number} */ toneHz) =>
        samples.length > 4000 && shareOfTone(samples, 8000, toneHz) > 0.5;
      heard.push([what, hears(ann.heardSince(annsMark), OTHER_TONE_HZ), hears(bob.heardSince(bobsMark), TONE_HZ)]);
    };
    const control = (/** @type {object} */ command) =>
      daemon.request('POST', `/sessions/${sessionId}/control`, command);
    const change = (/** @type {object} */ changes) => daemon.request('PUT', `${path}/${bobsId}`, changes);
    await control({ type: 'mute', side: 'agent', on: true });
    await phase('both');
    await change({ held: true, music: false });
    await phase('the third party on hold');
    await change({ held: false });
    await phase('the third party back');
    await control({ type: 'hold', music: false });
    await phase('the user on hold');
    await control({ type: 'unhold' });
    await phase('the user back');
    // baresip notes nothing more of what it hears once it has held: a listener does so in its place.
    const eve = new WebSocket(`${daemon.address.replace('http', 'ws')}/calls/${sessionId}/join?sample_rate=8000`, {
      headers: { authorization: `Bearer ${PRIVATE_KEY}` },
    });
    await once(eve, 'message');
    /** Whether a listener hears each of them from now on. @param {string} what */
    const overheard = async (what) => {
      await wait(EDGE_MS);
      /** @type {Buffer[]} */
      const parts = [];
      eve.on('message', (data, isBinary) => void (isBinary && parts.push(/** @type {Buffer} */ (data))));
      await wait(1000);
      eve.removeAllListeners('message');
      const samples = new Int16Array(Uint8Array.from(Buffer.concat(parts)).buffer);
      const hears = (/** @type {number} */ toneHz) => shareOfTone(samples, 8000, toneHz) > 0.25;
      heard.push([what, hears(TONE_HZ), hears(OTHER_TONE_HZ)]);
    };
    await overheard('a listener');
    bob.ask('hold');
    await overheard('the third party holds');
    bob.ask('resume');
    await overheard('the third party resumes');
    ann.ask('hold');
    await overheard('the user holds');
    ann.ask('resume');
    await overheard('the user resumes');
    eve.close();
    bob.ask('hangup');
    await comes(async () => (await people()).length === 0, 'the third party has left');
    await control({ type: 'mute', side: 'agent', on: false });
    assert.equal((await control({ type: 'say', text: 'We are alone.' })).result.complete, true);
    ann.ask('hangup');
    await until(() => ann.events.some(({ type }) => type === 'CALL_CLOSED'), 'the call is over');
    const log = await ended(daemon, sessionId);
    assert.equal(log.call_status, 'user-ended');
    const ends = log.participants.map((/** @type {{ name: string, left: string }} */ one) => [one.name, one.left]);
    assert.deepEqual(ends, [
      ['Bob', 'lost'],
      ['participant', 'lost'],
    ]);
    assert.deepEqual(heard, [
      ['both', true, true],
      ['the third party on hold', false, false],
      ['the third party back', true, true],
      ['the user on hold', false, false],
      ['the user back', true, true],
      ['a listener', true, true],
      ['the third party holds', true, false],
      ['the third party resumes', true, true],
      ['the user holds', false, true],
      ['the user resumes', true, true],
    ]);
  } finally {
    await daemon.close();
    await ann.stop();
    await bob.stop();
  }
}

/** Asks until it is so. @param {() => Promise<boolean>} isSo @param {string} what */
async function comes(isSo, what) {
  for (let tries = 0; !(await isSo()); tries++) {
    assert.ok(tries < 200, what);
    await wait(50);
  }
}

/** The log of a session, once it is over. @param {Awaited<ReturnType<typeof startDaemon>>} daemon @param {string} sessionId */
async function ended(daemon, sessionId) {
  for (;;) {
    const log = await daemon.request('GET', `/call-logs/${sessionId}`);
    if (log.call_status !== 'in-progress') return log;
    await wait(50);
  }
}

/** The session that runs. @param {Awaited<ReturnType<typeof startDaemon>>} daemon */
async function running(daemon) {
  for (;;) {
    const { histories } = await daemon.request('GET', '/call-logs?limit=1');
    const [call] = histories;
    if (call?.call_status === 'in-progress') return /** @type {string} */ (call.session_id);
    await wait(50);
  }
}

/** The user's side of a call, 16 kHz, until it is over. @param {string} address @param {string} sessionId @returns {Promise<Int16Array>} */
function listen(address, sessionId) {
  const url = `${address.replace('http', 'ws')}/calls/${sessionId}/audio?channels=user`;
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${PRIVATE_KEY}` } });
  /** @type {Buffer[]} */
  const parts = [];
  socket.on('message', (data, isBinary) => {
    if (isBinary) parts.push(/** @type {Buffer} */ (data));
  });
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once('close', () => {
      const all = Buffer.concat(parts);
      resolve(new Int16Array(all.buffer.slice(all.byteOffset, all.byteOffset + all.length)));
    });
  });
}
