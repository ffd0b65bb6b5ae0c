import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AgentCall, Engine, type SessionReport } from '@parley-voice/parley';
import type { Line, RtpDial, RtpRemote, SipLine } from '@parley-voice/parley/lines';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { freePort } from '../../scripts/daemon-process.mjs';
import { hasTool } from '../../scripts/system-tools.mjs';
import { decodeG711, encodeG711 } from '../../src/audio/codecs/g711.js';
import { loadOpus } from '../../src/audio/codecs/opus.js';
import { RealClock } from '../../src/base/real-clock.js';
import { packageFile } from '../../src/package-files.js';
import type { CarrierCall } from '../../src/telephony/carriers/carrier.js';
import type { Rest } from '../../src/telephony/carriers/media-socket/rest.js';
import { parseRtp, serialiseRtp } from '../../src/transports/rtp/packet.js';
import { PcmReader, pcmBytes } from '../../src/transports/pcm.js';
import { WeriftCaller } from '../../src/transports/webrtc/werift-caller.js';
import type { CarrierDouble } from '../vendors/carriers/carrier-double.js';
import type { Doorway } from '../vendors/carriers/doorway.js';
import { type Habits, tone } from '../vendors/carriers/people.js';
import { AUTH_ID, PlivoDouble } from '../vendors/carriers/plivo/double.js';
import { proxiedDoorway, serveRest } from '../vendors/carriers/served.js';
import { CONNECTION_ID, TelnyxDouble } from '../vendors/carriers/telnyx/double.js';
import { ACCOUNT_SID, TwilioDouble } from '../vendors/carriers/twilio/double.js';
import { FarPhones } from './far-phones.js';
import { type FarSide, halved, Heard } from './line-examples.js';
import { sippCall } from './sipp-call.js';

/** What the examples return. */
interface Serving {
  line: Line<never>;
  server: Server;
  call: (to: string) => Promise<AgentCall>;
}

const OWN = '+12025550199';
const PERSON = '+12025550101';
const CALLER = '+12025550177';

const engine = new Engine();
const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
  await engine.close();
});
beforeEach(() => void vi.spyOn(console, 'log').mockReturnValue());

/** A file of examples/lines. */
async function example<F>(name: string): Promise<F> {
  const module = (await import(packageFile(`examples/lines/${name}.mjs`).href)) as Record<string, F>;
  return Object.values(module)[0] as F;
}

/** The port of an example's server, which is closed after the tests. */
async function listening({ line, server }: Serving): Promise<number> {
  if (!server.listening) await once(server, 'listening');
  closing.push(async () => {
    await line.close();
    await line.close();
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Both sides were heard and understood. */
function expectConversation(report: SessionReport, { words }: Heard, status = 'user-ended'): void {
  // On a busy machine the tone comes in several pieces, each of which is understood.
  const once = (text: string): string => text.replaceAll(new RegExp(`${words}( ${words})+`, 'g'), words);
  const messages = report.messages.map(({ role, content }) => ({ role, content: once(content) }));
  expect({ status: report.status, messages }).toEqual({
    status,
    messages: [
      { role: 'assistant', content: 'Good evening.' },
      { role: 'user', content: words },
      { role: 'assistant', content: `You want ${words}.` },
    ],
  });
}

describe.concurrent('the examples of lines hold conversations', () => {
  it('over the talk socket', async () => {
    const serveTalk = await example<(...args: unknown[]) => Promise<Serving>>('talk-socket');
    const heard = new Heard(engine);
    const port = await listening(await serveTalk(engine, heard.agent, 0));
    const socket = new WebSocket(`ws://127.0.0.1:${String(port)}/talk`);
    const reader = new PcmReader();
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) heard.hear(reader.read(data));
    });
    await once(socket, 'open');
    socket.send(JSON.stringify({ method: 'initiate', data: { agent: { agent_id: 'waiter' } } }));
    const far: FarSide = { send: (frame) => socket.send(pcmBytes(frame)), leave: () => socket.close() };
    expectConversation(await heard.converse(far), heard);
  });

  it('over WebRTC', async () => {
    const serveWebRtc = await example<(...args: unknown[]) => Promise<Serving>>('webrtc');
    const heard = new Heard(engine);
    const serving = await serveWebRtc(engine, heard.agent, 0, ['127.0.0.1']);
    const port = await listening(serving);
    const opus = await loadOpus();
    const [encoder, decoder] = [opus.encoder({ sampleRateHz: 16_000, dtx: false }), opus.decoder(16_000)];
    const caller = new WeriftCaller({ addresses: ['127.0.0.1'], ipv6: false });
    caller.onAudio = ({ payload }) => heard.hear(decoder.decode(payload));
    const url = `http://127.0.0.1:${String(port)}/offer`;
    const reply = await fetch(url, { method: 'POST', body: await caller.offer() });
    expect(reply.status).toBe(200);
    await caller.accept(await reply.text());
    await caller.connected;
    let ticks = 0;
    const far: FarSide = {
      send: (frame) => caller.sendAudio(encoder.encode(frame), (ticks += 960)),
      // A peer that closes is missed only after some seconds of silence: the agent hangs up here.
      leave: async () => {
        for (const call of serving.line.calls) await call.hangUp();
        await caller.close();
      },
    };
    const report = await heard.converse(far);
    caller.onAudio = () => undefined;
    encoder.close();
    decoder.close();
    expectConversation(report, heard, 'api-ended');

    const refused = await fetch(url, { method: 'POST', body: 'v=0' });
    expect([refused.status, await refused.text()]).toEqual([422, 'The offer cannot be answered: it has no audio']);
  });

  it('over RTP, with descriptions in and addresses out', async () => {
    const serveRtp = await example<(...args: unknown[]) => Promise<RtpServing>>('rtp');
    const [called, caller] = [new Heard(engine), new Heard(engine)];
    const [near, far] = [await RtpPeer.open(called.hear), await RtpPeer.open(caller.hear)];
    let dialled: RtpDial | null = null;
    const dial = (call: RtpDial): RtpRemote => {
      dialled = call;
      far.to = call.port;
      return { address: '127.0.0.1', port: far.port, codec: 'PCMU' };
    };
    const serving = await serveRtp(engine, called.agent, '127.0.0.1', dial);
    closing.push(() => serving.line.close());
    const offer = ['v=0', 'o=- 1 1 IN IP4 127.0.0.1', 's=-', 'c=IN IP4 127.0.0.1', 't=0 0'];
    offer.push(`m=audio ${String(near.port)} RTP/AVP 0`, '');
    const hangUp = new AbortController();
    const answer = await serving.answer(offer.join('\r\n'), 'alice', hangUp.signal);
    near.to = Number(/m=audio (\d+)/.exec(answer)?.[1]);
    expectConversation(await called.converse({ send: near.send, leave: () => hangUp.abort() }), called);

    Object.assign(called.agent, caller.agent); // the example has one agent for both
    const call = await serving.call('bob');
    expectConversation(await caller.converse({ send: far.send, leave: () => dialled?.hungUp() }), caller);
    expect(dialled).toMatchObject({ to: 'bob', from: 'reception', address: '127.0.0.1' });
    expect(await call.finished).toMatchObject({
      status: 'user-ended',
      carrier: { carrier: 'rtp', codec: 'PCMU', direction: 'outbound', end: { by: 'remote' } },
    });
    near.close();
    far.close();
  });

  it('over a SIP trunk, in and out', async () => {
    const serveSip = await example<(...args: unknown[]) => Promise<SipServing>>('sip');
    const [called, caller] = [new Heard(engine), new Heard(engine)];
    const [port, theirs] = [await freePort('udp'), await freePort('udp')];
    const trunk = {
      servers: [`sip:127.0.0.1:${String(theirs)}`],
      listen: [`udp:127.0.0.1:${String(port)}`],
      numbers: [OWN],
      keepAliveS: 0,
    };
    const serving = await serveSip(engine, called.agent, trunk);
    const phones = await FarPhones.open(theirs, port, [PERSON]);
    closing.push(
      () => phones.close(),
      () => serving.line.close(),
    );
    expect(serving.line.trunks).toMatchObject([{ name: 'default', numbers: [OWN], calls: 0 }]);
    const incoming = phones.carrier.placeCall({ from: PERSON, to: OWN, ringTimeoutMs: 20_000 });
    expectConversation(await called.converse(sideOf(incoming as CarrierCall, called)), called);

    Object.assign(called.agent, caller.agent);
    const ringing = new Promise<CarrierCall>((resolve) => (phones.take = resolve));
    const call = await serving.call(PERSON);
    const phone = await ringing;
    phone.answer();
    expectConversation(await caller.converse(sideOf(phone, caller)), caller);
    expect(await call.finished).toMatchObject({ status: 'user-ended', carrier: { codec: 'PCMU', to: PERSON } });
    await expect(serving.call('+1911')).rejects.toMatchObject({ code: 'CALL_FORBIDDEN' });
  });

  it.skipIf(!hasTool('sipp'))('over SIP, with a caller of another make', async () => {
    const serveSip = await example<(...args: unknown[]) => Promise<SipServing>>('sip');
    const heard = new Heard(engine);
    const [port, theirs] = [await freePort('udp'), await freePort('udp')];
    const listen = [`udp:127.0.0.1:${String(port)}`];
    const trunk = { sources: ['127.0.0.1'], listen, numbers: [OWN], keepAliveS: 0 };
    const { line } = await serveSip(engine, heard.agent, trunk);
    closing.push(() => line.close());
    // It says a tone for a second and hangs up.
    const folder = mkdtempSync(join(tmpdir(), 'parley-lines-'));
    closing.push(() => Promise.resolve(rmSync(folder, { recursive: true })));
    writeFileSync(join(folder, 'TONE'), tone(1_000));
    const place = `127.0.0.1:${String(port)}`;
    const { done, output } = sippCall('uac-media', theirs, place, ['-s', OWN], folder);
    await Promise.race([heard.spokenTo(), done]);
    const [call] = Array.from(line.calls);
    expect((await heard.ended()).status).toBe('user-ended');
    expect(await done, output()).toBe(0);
    const report = await call?.finished;
    expect(report).toMatchObject({ status: 'user-ended', carrier: { from: CALLER, to: OWN, codec: 'PCMU' } });
    expect(report?.carrier?.packets.received).toBeGreaterThan(20);
    expect(report?.carrier?.packets.sent).toBeGreaterThan(20);
  });

  it('with a number of Twilio', async () => {
    const authToken = 'lines-auth-token-0123456789abcdef';
    await overCarrier({
      name: 'twilio',
      double: (parts) => {
        const double = new TwilioDouble({ ...parts, authToken });
        double.numbers.set(OWN, { sid: `PN${'1'.repeat(32)}`, VoiceUrl: '', StatusCallback: '' });
        return double;
      },
      apis: ({ rest, pricing }) => [rest, pricing],
      authorization: `Basic ${Buffer.from(`${ACCOUNT_SID}:${authToken}`).toString('base64')}`,
      account: (_double, [apiUrl, pricingUrl]) => ({ accountSid: ACCOUNT_SID, authToken, apiUrl, pricingUrl }),
    });
  });

  it('with a number of Telnyx', async () => {
    const apiKey = 'KEY0123456789abcdef_lines';
    await overCarrier({
      name: 'telnyx',
      double: (parts) => {
        const webhookUrl = `${PUBLIC_URL}/carriers/telnyx/webhook`;
        const double = new TelnyxDouble({ ...parts, nowUnixMs: () => Date.now(), webhookUrl });
        double.numbers.set(OWN, { id: '1', connectionId: '' });
        return double;
      },
      apis: ({ rest }) => [rest],
      authorization: `Bearer ${apiKey}`,
      account: ({ publicKey }, [apiUrl]) => ({ connectionId: CONNECTION_ID, publicKey, apiKey, apiUrl }),
    });
  });

  it('with a number of Plivo', async () => {
    const authToken = 'lines-auth-token-0123456789abcdef01234567';
    await overCarrier({
      name: 'plivo',
      double: (parts) => {
        const double = new PlivoDouble({ ...parts, authToken });
        double.numbers.set(OWN.slice(1), { app_id: '' });
        return double;
      },
      apis: ({ rest }) => [rest],
      authorization: `Basic ${Buffer.from(`${AUTH_ID}:${authToken}`).toString('base64')}`,
      account: (_double, [apiUrl]) => ({ authId: AUTH_ID, authToken, apiUrl }),
    });
  });
});

interface RtpServing extends Pick<Serving, 'line' | 'call'> {
  answer: (offer: string, from: string, signal: AbortSignal) => Promise<string>;
}

interface SipServing extends Pick<Serving, 'call'> {
  line: SipLine;
}

/** A program that speaks RTP with a socket of Node's own: PCMU, 20 ms a packet. */
class RtpPeer {
  /** Where its packets go. */
  to = 0;
  readonly port: number;
  readonly #socket: Socket;
  #sent = 0;

  private constructor(socket: Socket) {
    this.#socket = socket;
    ({ port: this.port } = socket.address());
  }

  static async open(hear: (samples: Int16Array) => void): Promise<RtpPeer> {
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    await once(socket, 'listening');
    socket.on('message', (datagram) => {
      const packet = parseRtp(datagram);
      if (packet?.payloadType === 0) hear(decodeG711('mulaw', packet.payload));
    });
    return new RtpPeer(socket);
  }

  readonly send = (frame: Int16Array): void => {
    const payload = encodeG711('mulaw', halved(frame));
    const [sequence, timestamp] = [this.#sent, this.#sent * 160];
    this.#socket.send(
      serialiseRtp({ payloadType: 0, marker: false, sequence, timestamp, ssrc: 7, payload }),
      this.to,
      '127.0.0.1',
    );
    this.#sent++;
  };

  close(): void {
    this.#socket.close();
  }
}

/** Somebody on a telephone of the other side of the trunk. */
function sideOf(phone: CarrierCall, heard: Heard): FarSide {
  const nothing = (): void => undefined;
  phone.line.start({ audio: heard.hear, digits: nothing, text: nothing, formResult: nothing, closed: nothing });
  return { send: (frame) => phone.line.play(halved(frame)), leave: () => phone.hangUp() };
}

const PUBLIC_URL = 'https://voice.example.com';

interface CarrierParts<D extends CarrierDouble> {
  name: string;
  double: (parts: { clock: RealClock; doorway: Doorway; people: Readonly<Record<string, Habits>> }) => D;
  /** APIs of the double's, all with the same credentials. */
  apis: (double: D) => readonly Rest[];
  authorization: string;
  account: (double: D, urls: readonly string[]) => object;
}

/** The example of a carrier, whose double reaches it through a proxy with TLS: a call comes in, and one goes out. */
async function overCarrier<D extends CarrierDouble>(parts: CarrierParts<D>): Promise<void> {
  const serve = await example<(...args: unknown[]) => Promise<Serving>>(parts.name);
  const clock = new RealClock();
  let port = 0;
  const doorway = proxiedDoorway(clock, PUBLIC_URL, () => `http://127.0.0.1:${String(port)}`);
  const [called, caller] = [new Heard(engine), new Heard(engine)];
  const [near, far] = [habitsOf(called), habitsOf(caller)];
  const double = parts.double({ clock, doorway, people: { [PERSON]: far.habits } });
  const served = await Promise.all(parts.apis(double).map((api) => serveRest(api, parts.authorization)));
  closing.push(...served.map(({ close }) => close));
  const account = {
    ...parts.account(
      double,
      served.map(({ url }) => url),
    ),
    publicUrl: PUBLIC_URL,
    numbers: [OWN],
  };
  const serving = await serve(engine, called.agent, account, 0);
  port = await listening(serving);
  const incoming = double.callIn(CALLER, OWN, near.habits);
  const leave = (): void => incoming.hangUp();
  expectConversation(await called.converse({ send: near.send, leave }), called);

  Object.assign(called.agent, caller.agent);
  const call = await serving.call(PERSON);
  const hangUp = (): void =>
    double
      .farCalls()
      .find(({ to }) => to === PERSON)
      ?.hangUp();
  expectConversation(await caller.converse({ send: far.send, leave: hangUp }), caller);
  expect(await call.finished).toMatchObject({ status: 'user-ended', carrier: { carrier: parts.name, to: PERSON } });
  expect(double.violations).toEqual([]);
  const forged = await fetch(`http://127.0.0.1:${String(port)}/carriers/${parts.name}/voice`, { method: 'POST' });
  expect([403, 404]).toContain(forged.status);
  expect((await fetch(`http://127.0.0.1:${String(port)}/elsewhere`)).status).toBe(404);
}

/** A person whose words are given frame by frame. */
function habitsOf(heard: Heard): { habits: Habits; send: (frame: Int16Array) => void } {
  const queue: Uint8Array[] = [];
  const habits: Habits = { does: 'answer', speaks: () => queue.shift() ?? null, hears: heard.hear };
  return { habits, send: (frame) => queue.push(encodeG711('mulaw', halved(frame))) };
}
