/**
 * A flood of SIP: a thousand datagrams a second, INVITEs that are new, repeated or broken at random, once from a
 * stranger's address and once from that of the trunk's own server, whose answers the flood does not see. A caller on
 * the talk socket must be served meanwhile, a call over the trunk must be taken after it, and nothing may be left
 * behind: no session, no port.
 *
 *   npm run build && node scripts/security/sip-flood.mjs [--count=10000] [--seed=1] [--per-second=1000]
 *
 * `count`: datagrams from each of the two addresses.
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { freePort, mulberry, startDaemon } from '../daemon-process.mjs';
import { Caller, STORYTELLER } from './caller.mjs';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    'per-second': { type: 'string', default: '1000' },
  },
});
const count = Number(values.count);
const perSecond = Number(values['per-second']);
const random = mulberry(Number(values.seed));
const NUMBER = '+12025550199';
const TRUNK_HOST = '127.0.0.1';
const STRANGER_HOST = '127.0.0.2';
/**
 * Longer than a transaction lives, 64 times T1 of 500 ms (RFC 3261, 17.2.1), and than an address is refused that has
 * flooded, 30 s (docs/sip.md).
 */
const RELEASE_MS = 60_000;
const CALL_MS = 20_000;

const port = await freePort('udp');
const daemon = await startDaemon({
  sip: {
    servers: [`sip:${TRUNK_HOST}:${await freePort('udp')}`],
    listen: [`udp:127.0.0.1:${port}`],
    sources: [TRUNK_HOST],
    numbers: [NUMBER],
    keepAliveS: 0,
  },
});
let failed = false;
try {
  const { id } = await daemon.request('POST', '/agents', STORYTELLER);
  await daemon.request('POST', '/phones/import', { phone: NUMBER });
  await daemon.request('POST', `/phones/${NUMBER}/set_agent`, { agent_id: id });
  const good = new Caller(daemon.address, id);
  await wait(2000); // until the agent speaks
  await measure('nobody else', good, () => wait(5000));
  for (const [name, host] of [
    ['a stranger', STRANGER_HOST],
    ["the trunk's address, forged", TRUNK_HOST],
  ]) {
    await measure(`${count} datagrams from ${name}`, good, () => flood(host));
    const tookMs = await released();
    console.log(
      tookMs === null
        ? `  left behind: ${JSON.stringify(await open())}`
        : `  nothing is left behind after ${(tookMs / 1000).toFixed(1)} s`,
    );
    const takenMs = await callTaken();
    console.log(
      `  a call over the trunk is taken ${takenMs === null ? 'no more' : `${(takenMs / 1000).toFixed(0)} s later`}`,
    );
    failed ||= tookMs === null || takenMs === null;
  }
  if (good.faults.length > 0) console.log(`the good caller: ${good.faults.join(', ')}`);
  failed ||= good.faults.length > 0 || !daemon.isAlive();
  good.close();
} finally {
  await daemon.close();
}
process.exitCode = failed ? 1 : 0;

/**
 * @param {string} name
 * @param {Caller} good
 * @param {() => Promise<unknown>} run
 */
async function measure(name, good, run) {
  await daemon.figures();
  const before = { frames: good.frames, late: good.lateFrames };
  good.worstLateMs = 0;
  await run();
  const frames = good.frames - before.frames;
  const late = good.lateFrames - before.late;
  const { p99, longest } = (await daemon.figures()).loopDelayMs;
  console.log(
    `${name}: the good caller got ${frames} frames, ${late} too late to play (${good.worstLateMs.toFixed(0)} ms at worst); ` +
      `event loop p99 ${p99} ms, longest ${longest} ms`,
  );
  failed ||= frames === 0;
}

/** @param {string} host where the datagrams come from */
async function flood(host) {
  const socket = createSocket('udp4');
  socket.bind(0, host);
  await once(socket, 'listening');
  const beganMs = performance.now();
  /** @type {Buffer[]} */
  const recent = [];
  for (let sent = 0; sent < count;) {
    for (const due = ((performance.now() - beganMs) / 1000) * perSecond; sent < Math.min(due, count); sent++) {
      const datagram = next(recent, host, socket.address().port);
      socket.send(datagram, port, '127.0.0.1');
    }
    await wait(5);
  }
  socket.close();
}

/**
 * A third new, a third sent again, a third broken.
 * @param {Buffer[]} recent
 * @param {string} host
 * @param {number} fromPort
 */
function next(recent, host, fromPort) {
  const kind = recent.length === 0 ? 0 : Math.floor(random() * 3);
  const old = recent[Math.floor(random() * recent.length)];
  if (kind === 1) return old;
  if (kind === 2) return broken(old);
  const fresh = invite(`${token()}@flood`, host, fromPort);
  recent[recent.length < 50 ? recent.length : Math.floor(random() * 50)] = fresh;
  return fresh;
}

/** @param {Buffer} message */
function broken(message) {
  const copy = Buffer.from(message);
  for (let times = 1 + Math.floor(random() * 8); times > 0; times--) {
    copy[Math.floor(random() * copy.length)] = Math.floor(random() * 256);
  }
  return random() < 0.2 ? copy.subarray(0, Math.floor(random() * copy.length)) : copy;
}

/**
 * @param {string} callId
 * @param {string} host
 * @param {number} fromPort
 */
function invite(callId, host, fromPort) {
  const sdp = [
    'v=0',
    `o=- 1 1 IN IP4 ${host}`,
    's=-',
    `c=IN IP4 ${host}`,
    't=0 0',
    'm=audio 40000 RTP/AVP 0 8 101',
    'a=rtpmap:101 telephone-event/8000',
    '',
  ].join('\r\n');
  const head = [
    `INVITE sip:${NUMBER}@127.0.0.1:${port} SIP/2.0`,
    `Via: SIP/2.0/UDP ${host}:${fromPort};branch=z9hG4bK${token()};rport`,
    'Max-Forwards: 70',
    `From: <sip:+12025550177@${host}>;tag=${token()}`,
    `To: <sip:${NUMBER}@127.0.0.1>`,
    `Call-ID: ${callId}`,
    'CSeq: 1 INVITE',
    `Contact: <sip:${host}:${fromPort}>`,
    'Content-Type: application/sdp',
    `Content-Length: ${Buffer.byteLength(sdp)}`,
    '',
    '',
  ].join('\r\n');
  return Buffer.from(head + sdp);
}

function token() {
  return Math.floor(random() * 2 ** 48).toString(36);
}

/** How long it took until a call over the trunk was taken; null = too long. */
async function callTaken() {
  const beganMs = performance.now();
  while (performance.now() - beganMs < RELEASE_MS) {
    if ((await callOnce()) === 200) return performance.now() - beganMs;
    await wait(2000);
  }
  return null;
}

/** A call as the trunk makes it, to its first answer, and its end. Returns the final status; 0 = none came. */
async function callOnce() {
  const socket = createSocket('udp4');
  socket.bind(0, TRUNK_HOST);
  await once(socket, 'listening');
  const own = socket.address().port;
  const request = invite(`${token()}@good`, TRUNK_HOST, own).toString();
  const limit = AbortSignal.timeout(CALL_MS);
  socket.send(request, port, '127.0.0.1');
  try {
    for (;;) {
      const [bytes] = await once(socket, 'message', { signal: limit });
      const text = bytes.toString();
      const status = Number(/^SIP\/2\.0 (\d{3})/.exec(text)?.[1] ?? 0);
      if (status < 200) continue;
      const to = /^To: .*$/im.exec(text)?.[0] ?? '';
      const [head] = request.replace(/^To: .*$/m, to).split('Content-Type');
      const bare = `${head}Content-Length: 0\r\n\r\n`;
      socket.send(bare.replaceAll('INVITE', 'ACK'), port, '127.0.0.1');
      if (status === 200) {
        const bye = bare.replace('CSeq: 1 INVITE', 'CSeq: 2 BYE').replace(/^INVITE/, 'BYE');
        socket.send(bye.replace(/branch=\w+/, `branch=z9hG4bK${token()}`), port, '127.0.0.1');
        await once(socket, 'message', { signal: limit });
      }
      return status;
    }
  } catch {
    return 0;
  } finally {
    socket.close();
  }
}

/** How long it took until the good caller's session was the only one and no call's media were open; null = too long. */
async function released() {
  const beganMs = performance.now();
  while (performance.now() - beganMs < RELEASE_MS) {
    const { sessions, media } = await open();
    if (sessions <= 1 && media === 0) return performance.now() - beganMs;
    await wait(200);
  }
  return null;
}

async function open() {
  const text = await (await fetch(`${daemon.address}/metrics`)).text();
  const read = (/** @type {string} */ name) => Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
  return { sessions: read('parley_sessions'), media: read('parley_rtp_sessions') };
}
