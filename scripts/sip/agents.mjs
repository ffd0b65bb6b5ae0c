/**
 * Agents on a trunk, over the system's sockets and in real time: a gateway of the simulated network's people is at its far
 * side, and in between media are lost and late. For scripts/sip/run.mjs; uses the build in dist.
 */
import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { Switchboard } from '../../dist/telephony/calls/switchboard.js';
import { readDirectory } from '../../dist/telephony/carriers/simulated/directory.js';
import { SimulatedNetwork } from '../../dist/telephony/carriers/simulated/network.js';
import { SoundLibrary } from '../../dist/telephony/carriers/simulated/sounds.js';
import { atDesk, openDemoDesk } from '../../dist/cli/shared/demo-desk.js';
import { loadAgentFile } from '../../dist/agent/agent-file.js';
import { Engine } from '../../dist/engine/engine.js';
import { packageFile } from '../../dist/package-files.js';
import { Random } from '../../dist/base/random.js';
import { RtpPorts } from '../../dist/transports/rtp/ports.js';
import { openRtpSession } from '../../dist/transports/rtp/session.js';
import { openUdpSocket } from '../../dist/transports/rtp/socket.js';
import { Sockets } from '../../dist/telephony/sip/transport/sockets.js';
import { SipGateway } from '../../dist/testing/doubles/sip-gateway.js';
import { clock, HOST, openTrunk, OWN, ticker, until } from './rig.mjs';

const PORTS = { trunk: 15_900, gateway: 15_904 };
const LOSS = 0.05;
const JITTER_MS = 60;
const MOST_GUEST_CALLS = 3;
const MESSAGE = 'Hello, this is Olive. Your table is kept for tomorrow at eight. Goodbye!';
const NUMBERS = { person: '+12025550101', mailbox: '+12025550103', menu: '+12025550110', guest: '+12025550151' };

/** Sockets that lose and delay what they send. @returns {import('../../dist/transports/rtp/socket.js').OpenSocket} */
function badSockets() {
  const random = new Random(5);
  return async (address, port) => {
    const socket = await openUdpSocket(address, port);
    return {
      port: socket.port,
      listen: (onDatagram) => socket.listen(onDatagram),
      close: () => socket.close(),
      send: (datagram, to, toPort) => {
        if (random.chance(LOSS)) return;
        const copy = Uint8Array.from(datagram);
        setTimeout(() => socket.send(copy, to, toPort), random.next() * JITTER_MS);
      },
    };
  };
}

/**
 * @param {SimulatedNetwork} phones behind it
 * @param {{ gateway: number, trunk: number }} places its port, and whose trunk it is
 * @param {import('../../dist/transports/rtp/socket.js').OpenSocket} openSocket
 */
export async function openGateway(phones, places, openSocket) {
  const ports = new RtpPorts({ clock, localAddress: HOST, portRange: [40_000, 40_999], openSocket });
  /** @type {SipGateway | null} */
  let gateway = null;
  const transport = await Sockets.open({
    clock,
    events: {
      onMessage: (bytes, from) => gateway?.agent.receive(bytes, from),
      onFailed: () => undefined,
      onRefused: () => undefined,
    },
    isTrusted: () => true,
    tls: { verify: false },
    listen: [{ protocol: 'UDP', address: HOST, port: places.gateway }],
  });
  gateway = new SipGateway({
    clock,
    transport,
    phones,
    host: HOST,
    token: () => randomBytes(8).toString('hex'),
    chance: () => randomInt(2 ** 32) / 2 ** 32,
    trunk: { protocol: 'UDP', address: HOST, port: places.trunk },
    openMedia: () => openRtpSession({ clock, ticker, ports }),
  });
  const close = async () => {
    await gateway?.close();
    await transport.close();
  };
  return { close };
}

/** The simulated network, and what its far ends have noted, by their numbers. @param {Engine} engine whose voices they have */
export async function openPhones(engine) {
  const sounds = new SoundLibrary(
    (text, voiceId) => engine.speech({ text, provider: 'flite', voiceId, signal: AbortSignal.timeout(20_000) }),
    packageFile('data/'),
  );
  /** @type {Map<string, Set<string>>} */
  const notes = new Map();
  const phones = new SimulatedNetwork({
    clock,
    ticker,
    ...(await readDirectory()),
    sounds,
    owned: [OWN],
    tap: (call) => notes.set(call.to, new Set(call.notes)),
  });
  return { phones, notes };
}

/** A mailbox is left a message, a person is talked to, a menu got through, and a guest's booking taken, all at once. */
export async function agentsOnATrunk() {
  /** @type {Readonly<Record<string, unknown>>[]} */
  const bookings = [];
  const desk = await openDemoDesk((booking) => bookings.push(booking));
  const engine = new Engine({ clock, allowUrls: [desk.url] });
  const { phones, notes } = await openPhones(engine);
  const gateway = await openGateway(phones, PORTS, badSockets());
  const badPorts = new RtpPorts({ clock, localAddress: HOST, portRange: [41_000, 41_999], openSocket: badSockets() });
  const carrier = await openTrunk({
    port: PORTS.trunk,
    servers: [{ protocol: 'UDP', port: PORTS.gateway }],
    options: {
      openMedia: (/** @type {object} */ listener, /** @type {string} */ address) =>
        openRtpSession({ clock, ticker, ports: badPorts, listener, advertisedAddress: address }),
    },
  });
  const switchboard = new Switchboard({ engine, carrier });
  try {
    const reminder = await loadAgentFile(packageFile('examples/reminder/agent.json').pathname);
    const restaurant = await loadAgentFile(packageFile('examples/restaurant/agent.json').pathname);
    /** @type {Promise<import('../../dist/telephony/calls/agent-call.js').CallReport>[]} */
    const taken = [];
    switchboard.receive(
      () => ({ agent: atDesk(restaurant.config, desk), script: restaurant.script }),
      (call) => taken.push(call.finished),
    );
    const flow = { ...reminder.config.flow, voicemail: { action: 'message', message: MESSAGE } };
    const place = async (/** @type {string} */ to) => {
      const agent = /** @type {typeof reminder.config} */ ({ ...reminder.config, flow });
      const call = await switchboard.place({ agent, script: reminder.script, from: OWN, to });
      return call.finished;
    };
    const calls = Promise.all([place(NUMBERS.mailbox), place(NUMBERS.person), place(NUMBERS.menu)]);
    const guest = phones.callers.get(NUMBERS.guest);
    assert.ok(guest);
    let guestCalls = 0;
    // Which words the lost packets are of is chance here: a guest who has not been understood calls again.
    while (bookings.length === 0 && guestCalls < MOST_GUEST_CALLS) {
      guestCalls++;
      const call = phones.callIn(guest, OWN);
      await until(() => call.end !== null && taken.length === guestCalls, 'the guest has hung up', 120_000);
      await taken[guestCalls - 1];
    }
    const [mailbox, person, menu] = await calls;
    await until(() => phones.calls.size === 0 && switchboard.calls.size === 0, 'all calls are over', 120_000);
    assert.equal(mailbox?.status, 'voicemail-message');
    assert.ok(notes.get(NUMBERS.mailbox)?.has('recording'));
    assert.match(person?.status ?? '', /^(user|agent)-ended$/);
    assert.deepEqual([...(notes.get(NUMBERS.menu) ?? [])], ['reservations']);
    assert.equal(menu?.carrier?.digitsSent, '1');
    const booked = (await Promise.all(taken)).at(-1);
    const said = booked?.session?.messages.map(({ role, content }) => `${role}: ${content}`).join('\n');
    assert.equal(bookings.length, 1, `the guest's call, ${String(booked?.status)}:\n${String(said)}`);
    assert.equal(bookings[0]?.['party'], 2);
    const lost = person?.carrier?.packets;
    const share = `${String(lost?.receivedLost)} of ${String(lost?.received)} packets lost in the person's call`;
    return `${share}; the guest called ${String(guestCalls)} times`;
  } finally {
    await switchboard.close();
    await carrier.close();
    await gateway.close();
    await phones.close();
    await engine.close();
    await desk.close();
  }
}
