import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_WEBRTC } from '../../src/settings/setting-groups.js';
import { WeriftCaller } from '../../src/transports/webrtc/werift-caller.js';
import { House, PRIVATE_KEY, PUBLIC_KEY } from './house.js';

const LOOPBACK = { addresses: ['127.0.0.1'], ipv6: false };
const PATIENCE = { timeout: 15_000, interval: 20 };

interface Reply {
  status: number;
  body: { answer?: { sdp: string }; detail?: unknown };
}

let house: House;
let caller: WeriftCaller;
let messages: { method: string; data?: unknown; payload?: Record<string, unknown> }[];

beforeEach(async () => {
  house = await House.open({ webrtc: { ...DEFAULT_WEBRTC, ...LOOPBACK } });
  caller = new WeriftCaller(LOOPBACK);
  messages = [];
  caller.onMessage = (text) => messages.push(JSON.parse(text) as (typeof messages)[number]);
});

afterEach(async () => {
  await caller.close();
  await house.close();
  expect(house.faults).toEqual([]);
});

async function offer(sdp: string, more: object = {}, authorization = PRIVATE_KEY): Promise<Reply> {
  const body = JSON.stringify({ offer: { sdp, type: 'offer' }, agent_id: 'baker', ...more });
  const headers = { authorization, 'content-type': 'application/json' };
  return (await house.ask('/webrtc/offer', { method: 'POST', headers, body })) as Reply;
}

/** A call whose agent has greeted. Returns its session's id. */
async function connected(): Promise<string> {
  const { status, body } = await offer(await caller.offer());
  expect(status).toBe(200);
  await caller.accept(body.answer?.sdp ?? '');
  await caller.connected;
  await expect.poll(() => messages.find(({ data }) => data === 'Hello.'), PATIENCE).toBeDefined();
  return String(messages.find(({ method }) => method === 'onready')?.payload?.['session_id']);
}

describe('POST /webrtc/offer', () => {
  it('begins a session: the agent is heard and understands', async () => {
    const heard = new Promise((resolve) => (caller.onAudio = resolve));
    await connected();
    await heard;
    caller.send(JSON.stringify({ method: 'text', data: 'Have you any bread?' }));
    await expect.poll(() => messages.find(({ data }) => data === 'We have bread.'), PATIENCE).toBeDefined();
  });

  it('with its session_id changes a session, for the one whose it is', async () => {
    const sessionId = await connected();
    const another = await caller.offer(true);
    const { token } = await house.token();
    expect((await offer(another, { session_id: sessionId }, token)).status).toBe(404);
    expect((await offer(another, { session_id: 'x' })).status).toBe(404);
    expect((await offer(another, { session_id: sessionId, metadata: {} })).status).toBe(422);
    const { status, body } = await offer(another, { session_id: sessionId });
    expect(status).toBe(200);
    await caller.accept(body.answer?.sdp ?? '');
    caller.send(JSON.stringify({ method: 'text', data: 'bread' }));
    await expect.poll(() => messages.find(({ data }) => data === 'We have bread.'), PATIENCE).toBeDefined();
    expect(house.engine.sessions.size).toBe(1);
  });

  it.each([
    ['is no description', () => 'hello'],
    ['has no audio', (sdp: string) => sdp.replace('m=audio', 'm=video')],
    ['has no Opus', (sdp: string) => sdp.replaceAll(/opus\/48000\/2/gi, 'PCMU/8000')],
    ['only listens', (sdp: string) => sdp.replace('a=sendrecv', 'a=recvonly')],
    ['is too large', (sdp: string) => `${sdp}a=x:${'y'.repeat(66_000)}\r\n`],
    ['has too many sections', (sdp: string) => sdp + 'm=video 9 UDP/TLS/RTP/SAVPF 96\r\n'.repeat(32)],
  ])('refuses an offer that %s with 422', async (_what, change) => {
    const { status, body } = await offer(change(await caller.offer()));
    expect(status).toBe(422);
    expect(JSON.stringify(body.detail)).toContain('The offer cannot be answered');
    expect(house.engine.sessions.size).toBe(0);
  });

  it('takes private keys and tokens, which are good for one request', async () => {
    const sdp = await caller.offer();
    expect((await offer(sdp, {}, PUBLIC_KEY)).status).toBe(403);
    expect((await offer(sdp, {}, 'sk_wrong')).status).toBe(401);
    const { token } = await house.token();
    expect((await offer(sdp, {}, token)).status).toBe(200);
    expect((await offer(sdp, {}, token)).status).toBe(401);
  });
});
