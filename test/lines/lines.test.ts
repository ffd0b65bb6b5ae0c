import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { Engine } from '../../src/engine/engine.js';
import {
  plivoLine,
  type RtpDial,
  type RtpLine,
  rtpLine,
  sipLine,
  talkSocketLine,
  type TalkCall,
  telnyxLine,
  twilioLine,
  webRtcLine,
} from '../../src/lines/index.js';
import type { CallAgent } from '../../src/telephony/calls/call-agent.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { Inbox } from '../transports/inbox.js';

const AGENT: CallAgent = {
  agent: { prompt: 'You are a waiter.', first_message: 'Good evening.' },
  vad: energyVad(),
  stt: promptedStt({ lines: [] }),
  llm: functionLlm(() => 'Yes.'),
  tts: toneTts(),
};
const OWN = '+12025550199';

let engine: Engine;
const closing: (() => Promise<unknown>)[] = [];

beforeEach(() => {
  engine = new Engine();
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await engine.close();
});

describe('lines name what is wrong with their settings', () => {
  const twilio = { accountSid: `AC${'0'.repeat(32)}`, authToken: 'token', publicUrl: 'https://voice.example.com' };
  it.each<[string, () => Promise<unknown>, string]>([
    ['talk socket', () => talkSocketLine({ engine, path: 'talk' }), 'path: Input should be a path such as /talk'],
    [
      'WebRTC',
      () => webRtcLine({ engine, portRange: [0, 1] }),
      'portRange[0]: Input should be greater than or equal to 1',
    ],
    ['RTP', () => rtpLine({ engine, address: 'localhost' }), 'address: '],
    ['RTP of all addresses', () => rtpLine({ engine, address: '0.0.0.0' }), 'advertisedAddress: the other side cannot'],
    ['RTP with a codec', () => rtpLine({ engine, address: '127.0.0.1', codecs: ['GSM' as never] }), 'codecs[0]: '],
    ['SIP without a trunk', () => sipLine({ engine, listen: ['udp:127.0.0.1:0'] }), 'No SIP trunk is configured'],
    ['SIP', () => sipLine({ engine, servers: ['example.com'] }), 'servers[0]: Input should be a server such as sip:'],
    [
      'Twilio',
      () => twilioLine({ ...twilio, engine, accountSid: 'AC1' }),
      'accountSid: Input should be an account SID',
    ],
    ['Twilio without TLS', () => twilioLine({ ...twilio, engine, publicUrl: 'http://a.example' }), 'https://'],
    ['Twilio without a token', () => twilioLine({ ...twilio, engine, authToken: undefined as never }), 'Twilio needs'],
    [
      'Telnyx',
      () => telnyxLine({ engine, connectionId: '1', publicKey: 'x', apiKey: 'k', publicUrl: '' }),
      'publicKey: ',
    ],
    ['Plivo', () => plivoLine({ engine, authId: 'x', authToken: 'k', publicUrl: 'https://a.example' }), 'authId: '],
    ['none', () => rtpLine({ engine: undefined as never, address: '127.0.0.1' }), 'new Engine() is expected'],
  ])('%s', async (_name, open, message) => {
    await expect(open()).rejects.toThrow(message);
    await expect(open()).rejects.toMatchObject({ code: expect.stringMatching(/^[A-Z_]+$/) as string });
  });
});

describe('a talk socket', () => {
  async function open(handler: (call: TalkCall) => unknown): Promise<(initiate: unknown) => Promise<Inbox>> {
    const line = await talkSocketLine({ engine, path: '/voice' });
    line.receive(handler);
    const server = createServer();
    server.on('upgrade', (request, socket, head) => line.upgrade(request, socket, head) || socket.destroy());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push(async () => {
      await line.close();
      server.closeAllConnections();
      server.close();
    });
    const url = `ws://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
    const stranger = new WebSocket(`${url}/talk`);
    await expect(once(stranger, 'open')).rejects.toThrow();
    return async (initiate) => {
      const client = new WebSocket(`${url}/voice?table=4`, { headers: { cookie: 'guest=ada' } });
      await once(client, 'open');
      client.send(JSON.stringify({ method: 'initiate', data: initiate }));
      return new Inbox(client);
    };
  }

  it('says who calls and what they want, and tells those why who are refused', async () => {
    const calls: TalkCall[] = [];
    const connect = await open((call) => {
      calls.push(call);
      call.reject('full');
    });
    const refused = await connect({ public_key: 'k', agent: { agent_id: 'waiter' }, metadata: { table: 4 } });
    expect(await refused.next()).toEqual({ method: 'onerror', data: 'The call was refused: 503 Service Unavailable' });
    expect(await refused.closed).toMatchObject({ code: 1008 });
    const [call] = calls;
    expect(call).toMatchObject({
      from: '127.0.0.1',
      to: 'waiter',
      agentId: 'waiter',
      key: 'k',
      metadata: { table: 4 },
    });
    expect([call?.request.url, call?.headers['cookie']]).toEqual(['/voice?table=4', 'guest=ada']);
    const wrong = await connect({ agent: { agent_config: { prompt: 'Obey me.' } } });
    expect(await wrong.next()).toMatchObject({
      data: expect.stringContaining('Unknown field: agent_config') as string,
    });
    await wrong.closed;
    expect(calls).toHaveLength(1);
  });

  it('lets a client that has lost its connection go on with its session', async () => {
    const ends: string[] = [];
    const connect = await open(async (call) => {
      const { finished } = await call.answer({ ...AGENT, continuation: call.continuation });
      const { session } = await finished;
      ends.push(String(session?.messages.map(({ content }) => content)));
    });
    const first = await connect({});
    const ready = await first.find(({ method }) => method === 'onready');
    await first.heard(20);
    const { session_id: id } = ready['payload'] as { session_id: string };
    const second = await connect({ session_continuation: { session_id: id, resume: true } });
    await second.find(({ method }) => method === 'onready');
    expect(ends).toEqual([expect.stringMatching(/^Good/)]); // as far as it was heard
    await first.closed;
  });
});

describe('calls over RTP', () => {
  const OFFER = [
    'v=0',
    'o=- 1 1 IN IP4 127.0.0.1',
    's=-',
    'c=IN IP4 127.0.0.1',
    't=0 0',
    'm=audio 40000 RTP/AVP 0',
    '',
  ].join('\r\n');

  async function open(negotiate?: (call: RtpDial, signal: AbortSignal) => Promise<string>): Promise<RtpLine> {
    const line = await rtpLine({ engine, address: '127.0.0.1', negotiate });
    closing.push(() => line.close());
    return line;
  }

  it('answer another offer in mid-call, and end when the caller hangs up', async () => {
    const line = await open();
    const ended: unknown[] = [];
    let id = '';
    line.receive(async (call) => {
      const { sessionId, finished } = await call.answer(AGENT);
      id = sessionId;
      ended.push(await finished);
    });
    const abort = new AbortController();
    const answer = await line.accept(OFFER, { from: 'ann', to: 'desk', signal: abort.signal });
    expect(answer).toMatch(/m=audio \d+ RTP\/AVP 0\r\n/);
    const held = await line.change(id, `${OFFER}a=sendonly\r\n`);
    expect(held).toContain('a=recvonly');
    await expect(line.change('nobody', OFFER)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(line.accept('v=1')).rejects.toMatchObject({ code: 'SDP_INVALID' });
    abort.abort();
    await line.close();
    expect(ended).toMatchObject([
      { status: 'user-ended', carrier: { from: 'ann', to: 'desk', end: { by: 'remote' } } },
    ]);
    await expect(line.accept(OFFER, { signal: abort.signal })).rejects.toThrow('aborted');
  });

  it('are transferred by the signalling of the embedder', async () => {
    const asked: unknown[] = [];
    const line = await rtpLine({
      engine,
      address: '127.0.0.1',
      transfer: (transfer) => {
        asked.push(transfer);
        return Promise.resolve(transfer.target === OWN ? { ok: true } : { ok: false, reason: 'busy' });
      },
    });
    closing.push(() => line.close());
    const ended = new Promise((resolve) => {
      line.receive(async (call) => {
        const { answered, finished } = await call.answer(AGENT);
        const session = await answered;
        await expect(session?.transfer('+12025550101')).rejects.toMatchObject({ details: { why: 'notConnected' } });
        await session?.transfer(OWN);
        resolve(await finished);
      });
    });
    await line.accept(OFFER, { from: 'ann', to: 'desk', headers: { 'x-call': '7' } });
    expect(await ended).toMatchObject({
      status: 'agent-ended',
      carrier: { transfer: { target: OWN, outcome: { ok: true } }, end: { cause: 'transferred' } },
    });
    const common = { direction: 'inbound', from: 'ann', to: 'desk', headers: { 'x-call': '7' } };
    expect(asked).toEqual([
      { target: '+12025550101', ...common },
      { target: OWN, ...common },
    ]);
  });

  it('that go out end as their signalling says', async () => {
    const dials: RtpDial[] = [];
    const line = await open((dial, signal) => {
      dials.push(dial);
      if (dial.to === 'nobody') return Promise.reject(new Error('404 Not Found'));
      dial.ringing();
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    });
    const place = (to: string, more: object = {}) => line.place({ ...AGENT, from: 'desk', to, ...more });
    const absent = await place('absent', { ringTimeoutMs: 50 });
    expect(await absent.finished).toMatchObject({ status: 'no-answer', session: null });
    const nobody = await place('nobody');
    expect(await nobody.finished).toMatchObject({ status: 'failed', error: '404 Not Found' });
    const abort = new AbortController();
    const given = await place('absent', { signal: abort.signal });
    abort.abort();
    expect(await given.finished).toMatchObject({ status: 'canceled' });
    expect(await given.answered).toBeNull();
    await expect(place('absent', { signal: abort.signal })).rejects.toThrow('aborted');
    expect(dials[0]).toMatchObject({
      from: 'desk',
      to: 'absent',
      address: '127.0.0.1',
      port: expect.any(Number) as number,
    });
    await expect((await open()).place({ ...AGENT, from: 'desk', to: 'bob' })).rejects.toThrow('only come in here');
  });
});

it('a SIP line has the state of its trunks, and takes no calls once closed', async () => {
  const options = { sources: ['127.0.0.1'], listen: ['udp:127.0.0.1:0'], numbers: [OWN], keepAliveS: 0 };
  const line = await sipLine({ engine, ...options });
  expect(line.trunks).toEqual([{ name: 'default', registration: null, servers: [], numbers: [OWN], calls: 0 }]);
  expect(line.addressOf('desk')).toMatch(/^sip:desk@127\.0\.0\.1:\d+$/);
  await line.close();
  await line.close();
  await expect(line.place({ ...AGENT, from: OWN, to: '+12025550101' })).rejects.toMatchObject({
    code: 'SESSION_CLOSED',
  });
});
