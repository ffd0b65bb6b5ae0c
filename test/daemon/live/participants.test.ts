import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { resample } from '../../../src/audio/dsp/resample.js';
import { DEFAULT_WEBRTC } from '../../../src/settings/setting-groups.js';
import { WeriftCaller } from '../../../src/transports/webrtc/werift-caller.js';
import { Client, House, PRIVATE_KEY, PUBLIC_KEY } from '../house.js';

const PATIENCE = { timeout: 20_000, interval: 20 };
const LOOPBACK = { addresses: ['127.0.0.1'], ipv6: false };
const AUTH = { authorization: PRIVATE_KEY };

let house: House;
const open: WebSocket[] = [];
let words: Int16Array;

beforeAll(async () => {
  house = await House.open({ webrtc: { ...DEFAULT_WEBRTC, ...LOOPBACK } });
  const { samples, sampleRateHz } = await house.engine.speech({
    text: 'bread',
    provider: 'flite',
    signal: AbortSignal.timeout(20_000),
  });
  words = resample(samples, sampleRateHz, 16_000);
});

afterEach(() => {
  for (const socket of open.splice(0)) socket.terminate();
});

afterAll(async () => {
  await house.close();
  expect(house.faults).toEqual([]);
});

async function call(agentId = 'baker'): Promise<{ id: string; caller: Client }> {
  const caller = house.connect();
  await caller.initiate({ agent: { agent_id: agentId } });
  const { payload } = await caller.inbox.find(({ method }) => method === 'onready');
  return { id: (payload as { session_id: string }).session_id, caller };
}

function socket(id: string, query = '', headers: Record<string, string> = AUTH): Client {
  const ws = new WebSocket(`${house.address.replace('http', 'ws')}/calls/${id}/join${query}`, { headers });
  open.push(ws);
  return new Client(ws);
}

async function ask(
  method: string,
  path: string,
  body?: object,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const headers = body === undefined ? AUTH : { ...AUTH, 'content-type': 'application/json' };
  const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
  return (await house.ask(path, init)) as { status: number; body: Record<string, unknown> };
}

/** Says words at the pace of speech, then silence until it is stopped. */
function speak({ socket: ws }: Client, samples: Int16Array): () => void {
  let at = 0;
  return house.engine.ticker.subscribe(() => {
    const frame = new Int16Array(320);
    frame.set(samples.subarray(at, at + 320));
    at += 320;
    if (ws.readyState === ws.OPEN) ws.send(Buffer.from(frame.buffer));
  });
}

function loudest(audio: readonly Buffer[]): number {
  let most = 0;
  for (const block of audio) for (let at = 0; at < block.length; at += 2) most = Math.max(most, block.readInt16LE(at));
  return most;
}

const said = ({ inbox }: Client): string[] => inbox.messages.map((message) => JSON.stringify(message));

describe('GET /calls/{session_id}/join', () => {
  it('whispers, barges in and takes over; a client that is gone leaves the caller with the agent', async () => {
    const { id, caller } = await call();
    const ada = socket(id, '?name=Ada&mode=take_over');
    const ready = await ada.inbox.next();
    expect(ready).toMatchObject({
      type: 'ready',
      session_id: id,
      mode: 'take_over',
      sample_rate: 16_000,
      frame_ms: 20,
    });
    const [session] = house.engine.sessions;
    const heard = new Promise((resolve) => session!.on('participantSaid', resolve));
    const stop = speak(ada, words);
    caller.inbox.audio.length = 0;
    await expect.poll(() => loudest(caller.inbox.audio), PATIENCE).toBeGreaterThan(2_000);
    expect(await heard).toMatchObject({ name: 'Ada', text: 'bread', whispered: false });
    await caller.send({ method: 'text', data: 'Have you any bread?' });
    const { body } = await ask('POST', `/sessions/${id}/control`, { type: 'say', text: 'No.' });
    expect(body['detail']).toContain('a participant has taken over');
    expect(said(caller).join()).not.toContain('We have bread.');
    ada.socket.send(JSON.stringify({ type: 'mute', on: true }));
    expect(await ada.inbox.find(({ type }) => type === 'participant')).toMatchObject({ muted: true, name: 'Ada' });
    ada.socket.send(JSON.stringify({ type: 'mute', loud: 1 }));
    expect(JSON.stringify(await ada.inbox.find(({ type }) => type === 'error'))).toContain('CONFIG_INVALID');
    ada.socket.send(Buffer.from([1]));
    expect(JSON.stringify(await ada.inbox.find(({ type }) => type === 'error'))).toContain('whole samples');
    stop();
    ada.socket.terminate();
    await expect.poll(() => said(caller).join(), PATIENCE).toContain('I am with you again.');
    await expect.poll(() => said(caller).join(), PATIENCE).toContain('We have bread.');
    const running = (await ask('GET', `/call-logs/${id}/transcript`)).body;
    expect(running['call_status']).toBe('in-progress');
    expect(running['lines']).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ who: 'participant', name: 'Ada', text: 'bread' }),
        expect.objectContaining({ who: 'user', text: 'Have you any bread?', at_ms: expect.any(Number) as number }),
        expect.objectContaining({ who: 'agent', text: 'I am with you again.' }),
      ]),
    );
    expect(JSON.stringify(running['lines'])).not.toContain('[cut]');
    await ask('POST', `/sessions/${id}/terminate`);
    await caller.inbox.closed;
    const log = (await ask('GET', `/call-logs/${id}`)).body;
    expect(log['participants']).toMatchObject([
      { name: 'Ada', channel: 'socket', mode: 'take_over', modes: [{ mode: 'take_over' }], left: 'lost' },
    ]);
    expect(log['chat']).toContain('{"role":"user","content":"bread","name":"Ada"}');
    const { lines } = (await ask('GET', `/call-logs/${id}/transcript`)).body;
    expect(lines).toContainEqual(expect.objectContaining({ who: 'participant', name: 'Ada', text: 'bread' }));
  });

  it('is for keys with the right, and says what is wrong', async () => {
    const { id } = await call();
    expect(await socket(id, '', {}).refused).toBe(401);
    expect(await socket(id, '', { authorization: PUBLIC_KEY }).refused).toBe(403);
    expect(await socket(id, '?mode=shout').refused).toBe(422);
    expect(await socket('nobody').refused).toBe(404);
    const made = (await ask('POST', '/keys', { kind: 'private', name: 'Front desk', scopes: ['calls'] })).body;
    const desk = socket(id, '', { authorization: String(made['key']) });
    await desk.inbox.next();
    const { participants } = (await ask('GET', `/sessions/${id}/participants`)).body;
    expect(participants).toMatchObject([{ name: 'Front desk' }]);
    desk.socket.send(JSON.stringify({ type: 'leave' }));
    await desk.inbox.closed;
    const full = Array.from({ length: 5 }, () => socket(id));
    for (const one of full) await one.inbox.next();
    expect(await socket(id).inbox.closed).toMatchObject({
      code: 1008,
      reason: expect.stringContaining('as many') as string,
    });
    full[0]!.socket.send(JSON.stringify({ type: 'leave' }));
    expect(await full[0]!.inbox.closed).toEqual({ code: 1000, reason: 'left' });
  });
});

describe('/sessions/{session_id}/participants', () => {
  it('lets a browser join over WebRTC, changes what it may do, and lets it go', async () => {
    const { id } = await call();
    const browser = new WeriftCaller(LOOPBACK);
    let packets = 0;
    browser.onAudio = () => void packets++;
    const sdp = await browser.offer();
    const wish = { channel: 'webrtc', name: 'Bob', mode: 'listen', offer: { type: 'offer', sdp } };
    const made = await ask('POST', `/sessions/${id}/participants`, wish);
    expect(made).toMatchObject({ status: 200, body: { name: 'Bob', status: 'connecting', channel: 'webrtc' } });
    await browser.accept((made.body['answer'] as { sdp: string }).sdp);
    await browser.connected;
    const who = String(made.body['participant_id']);
    const listed = async (): Promise<unknown[]> =>
      (await ask('GET', `/sessions/${id}/participants`)).body['participants'] as unknown[];
    await expect.poll(listed, PATIENCE).toMatchObject([{ participant_id: who, status: 'joined', mode: 'listen' }]);
    // More than the greeting and what follows it: packets come in silence, too.
    await expect.poll(() => packets, PATIENCE).toBeGreaterThan(100);
    const changed = await ask('PUT', `/sessions/${id}/participants/${who}`, { mode: 'barge_in', held: true });
    expect(changed).toMatchObject({ status: 200, body: { mode: 'barge_in', held: true } });
    expect((await ask('PUT', `/sessions/${id}/participants/x`, { held: true })).status).toBe(404);
    expect((await ask('PUT', `/sessions/${id}/participants/${who}`, { held: 'yes' })).status).toBe(422);
    const bad = { ...wish, offer: { type: 'offer', sdp: 'hello' } };
    expect((await ask('POST', `/sessions/${id}/participants`, bad)).status).toBe(422);
    expect((await ask('DELETE', `/sessions/${id}/participants/${who}`)).status).toBe(200);
    expect(await listed()).toEqual([]);
    await browser.close();
    await ask('POST', `/sessions/${id}/terminate`);
    await expect.poll(async () => (await ask('GET', `/sessions/${id}/participants`)).status, PATIENCE).toBe(409);
  });
});
