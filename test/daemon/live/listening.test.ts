import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { loadOpus } from '../../../src/audio/codecs/opus.js';
import { Client, House, PRIVATE_KEY, PUBLIC_KEY } from '../house.js';

const PATIENCE = { timeout: 20_000 };
const DISCREET = {
  prompt: 'You listen.',
  llm: { model: 'scripted' },
  privacy_settings: { opt_out_data_collection: true },
};

let house: House;
const open: WebSocket[] = [];

beforeAll(async () => {
  house = await House.open({ listeningAnnouncement: 'A colleague is listening.' });
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

function listener(id: string, query = '', headers: Record<string, string> = { authorization: PRIVATE_KEY }): Client {
  const socket = new WebSocket(`${house.address.replace('http', 'ws')}/calls/${id}/audio${query}`, { headers });
  open.push(socket);
  return new Client(socket);
}

/** Loudest sample of one of two channels. */
function loudest(audio: readonly Buffer[], channel: 0 | 1): number {
  let most = 0;
  for (const block of audio) {
    for (let at = 2 * channel; at < block.length; at += 4) most = Math.max(most, Math.abs(block.readInt16LE(at)));
  }
  return most;
}

describe('GET /calls/{session_id}/audio', () => {
  it('lets a supervisor hear both sides, tells the user first, and is in the call log', async () => {
    const { id, caller } = await call();
    const both = listener(id, '?channels=stereo&sample_rate=8000&name=Ada');
    expect(await both.inbox.next()).toEqual({
      type: 'ready',
      session_id: id,
      channels: 'stereo',
      sample_rate: 8000,
      format: 'pcm',
      frame_ms: 20,
    });
    expect(JSON.stringify(caller.inbox.messages)).toContain('A colleague is listening.');
    const tone = Buffer.alloc(640);
    for (let i = 0; i < 320; i++)
      tone.writeInt16LE(Math.round(9_000 * Math.sin((2 * Math.PI * 300 * i) / 16_000)), 2 * i);
    for (let count = 0; count < 25; count++) caller.socket.send(tone);
    await expect.poll(() => loudest(both.inbox.audio, 0), PATIENCE).toBeGreaterThan(8_000);
    await caller.send({ method: 'text', data: 'Have you any bread?' });
    await expect.poll(() => loudest(both.inbox.audio, 1), PATIENCE).toBeGreaterThan(1_000);
    // 20 ms of two channels.
    expect(new Set(both.inbox.audio.map(({ length }) => length))).toEqual(new Set([640]));

    const opus = listener(id, '?format=opus&channels=agent&sample_rate=48000');
    expect(await opus.inbox.next()).toMatchObject({ format: 'opus' });
    await opus.inbox.heard(5);
    const decoder = (await loadOpus()).decoder(48_000);
    expect(opus.inbox.audio.slice(0, 5).map((packet) => decoder.decode(packet).length)).toEqual([
      960, 960, 960, 960, 960,
    ]);
    decoder.close();
    opus.socket.close();
    await opus.inbox.closed;

    await house.ask(`/sessions/${id}/terminate`, { method: 'POST', headers: { authorization: PRIVATE_KEY } });
    expect(await both.inbox.closed).toEqual({ code: 1000, reason: 'the call has ended' });
    await caller.inbox.closed;
    const log = await house.ask(`/call-logs/${id}`, { headers: { authorization: PRIVATE_KEY } });
    const { listeners } = log.body as { listeners: { key_id: string; name: string; from: number; to: number }[] };
    expect(listeners.map(({ name }) => name)).toEqual(['Ada', 'participant']);
    const keys = (await house.ask('/keys', { headers: { authorization: PRIVATE_KEY } })).body as {
      id: string;
      kind: string;
    }[];
    for (const { key_id: key, from, to } of listeners) {
      expect(key).toBe(keys.find(({ kind }) => kind === 'private')?.id);
      expect(to).toBeGreaterThan(from);
    }
  });

  it('is not for everybody, nor for every call', async () => {
    const { id } = await call();
    expect(await listener(id, '', {}).refused).toBe(401);
    expect(await listener(id, '', { authorization: PUBLIC_KEY }).refused).toBe(403);
    expect(await listener(id, '?channels=all').refused).toBe(422);
    expect(await listener('nobody').refused).toBe(404);
    const made = await house.ask('/agents', {
      method: 'POST',
      headers: { authorization: PRIVATE_KEY, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'Discreet', config: DISCREET }),
    });
    const { id: discreet } = await call((made.body as { id: string }).id);
    expect(await listener(discreet).refused).toBe(403);
    const two = listener(id, '?format=opus&channels=stereo');
    expect(await two.inbox.closed).toMatchObject({
      code: 1008,
      reason: expect.stringContaining('one channel') as string,
    });
  });
});
