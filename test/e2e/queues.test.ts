import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { freePort } from '../../scripts/daemon-process.mjs';
import { hasTool } from '../../scripts/system-tools.mjs';
import { decodeG711 } from '../../src/audio/codecs/g711.js';
import { levelOf } from '../../src/audio/dsp/level.js';
import { packageFile } from '../../src/package-files.js';
import { DEFAULT_SETTINGS } from '../../src/settings/settings.js';
import { PRIVATE_KEY } from '../daemon/house.js';
import { accessibilityFaults, hasChromium, TalkingBrowser } from './browser.js';
import { sippCall } from './sipp-call.js';
import { ANN, BOB, type Item, OURS, PATIENCE, TrunkHouse } from './trunk-house.js';

const DESK = {
  name: 'Desk',
  config: { first_message: 'Hello, this is the desk.', llm: { model: 'scripted' } },
  script: { rules: [] },
  extensions: { queue: { limit: 2, greeting: 'Please wait. You are number {position}.' } },
};

/** Requests have a limit. */
const SLOWLY = { ...PATIENCE, interval: 500 };

interface Packet {
  sequence: number;
  timestamp: number;
  dbfs: number;
}

/** Packets of RTP (RFC 3550) with PCMU. */
function listenTo(socket: Socket): Packet[] {
  const packets: Packet[] = [];
  socket.on('message', (packet) => {
    const sound = decodeG711('mulaw', packet.subarray(12));
    packets.push({
      sequence: packet.readUInt16BE(2),
      timestamp: packet.readUInt32BE(4),
      dbfs: levelOf(sound).rmsDbfs,
    });
  });
  return packets;
}

vi.setConfig({ testTimeout: 120_000, hookTimeout: 240_000 });

describe.skipIf(!hasTool('sipp')).each([0, 1])('a queue for calls over SIP, with %i media threads', (threads) => {
  let daemon: TrunkHouse;
  const folder = mkdtempSync(join(tmpdir(), 'parley-queue-e2e-'));

  beforeAll(async () => {
    const limits = { ...DEFAULT_SETTINGS.limits, sessions: 1 };
    const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
    const campaigns = { ...DEFAULT_SETTINGS.campaigns, hoursStart: '00:00', hoursEnd: '24:00', days: [...days] };
    daemon = await TrunkHouse.open(threads, { limits, campaigns });
    await daemon.answeredBy(DESK);
    await daemon.house.daemon.warmUp();
  });

  afterAll(async () => {
    await daemon.close();
    rmSync(folder, { recursive: true });
  });

  async function callsWith(status: string): Promise<Item[]> {
    const { histories } = await daemon.asked<{ histories: Item[] }>('GET', '/call-logs');
    return histories.filter((item) => item['call_status'] === status);
  }

  it('plays to sipp while it waits, and then the agent, in one stream of packets', async () => {
    const ann = daemon.far.call(ANN, OURS);
    const first = await daemon.session();
    await expect.poll(() => ann.loud, PATIENCE).toBeGreaterThan(10);
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const packets = listenTo(socket);
    const scenario = readFileSync(packageFile('scripts/sip/scenarios/uac-waits-bye.xml'), 'utf8');
    const own = join(folder, 'waits.xml');
    writeFileSync(own, scenario.replace(/\[(auto_)?media_port\]/, String(socket.address().port)));
    const sipp = sippCall(own, await freePort('udp'), `127.0.0.1:${String(daemon.port)}`, ['-s', OURS]);
    await expect.poll(() => packets.filter(({ dbfs }) => dbfs > -50).length, PATIENCE).toBeGreaterThan(100);
    const [waiting] = await callsWith('queued');
    const { id } = (waiting ?? {})['queue'] as { id: string };
    const place = { position: 1, priority: 0, kind: 'call', from: '+12025550177', session_id: waiting?.['session_id'] };
    expect(await daemon.asked('GET', `/queues/${id}`)).toMatchObject({ active: 1, waiting: 1, calls: [place] });
    expect(await daemon.asked('GET', '/queues')).toMatchObject([{ id, limit: 2, active: 1, waiting: 1 }]);
    expect(await daemon.figure('parley_queue_length')).toBe(`parley_queue_length{queue="${id}"} 1`);
    const path = `/queued_calls/${String(waiting?.['session_id'])}`;
    expect(await daemon.asked('POST', `${path}/priority`, { priority: 3 })).toMatchObject({ ...place, priority: 3 });
    expect((await daemon.tried('POST', '/queued_calls/nobody/priority', { priority: 3 })).status).toBe(404);
    expect((await daemon.tried('GET', '/queues/nobody')).status).toBe(404);
    const bob = daemon.far.call(BOB, OURS);
    await expect.poll(async () => (await callsWith('queued')).length, SLOWLY).toBe(2);
    const removed = (await callsWith('queued')).find((item) => item['session_id'] !== waiting?.['session_id']);
    if (threads === 0 && hasChromium) await endWaitInConsole(daemon.house.address);
    else await daemon.asked('DELETE', `/queued_calls/${String(removed?.['session_id'])}`);
    await expect.poll(() => bob.isOver, PATIENCE).toBe(true);
    expect(await daemon.logged(String(removed?.['session_id']))).toMatchObject({ queue: { left: 'removed' } });
    expect(daemon.house.engine.sessions.size).toBe(1);
    await daemon.asked('POST', `/sessions/${first}/terminate`);
    const isFirst = (): boolean => [...daemon.house.engine.sessions].some(({ id }) => id === first);
    await expect.poll(isFirst, PATIENCE).toBe(false);
    const second = await daemon.session();
    expect(second).not.toBe(first);
    await expect.poll(() => daemon.trace(second), SLOWLY).toContain('utterance.finished');
    const { length } = packets;
    await daemon.asked('POST', `/sessions/${second}/terminate`);
    expect(await sipp.done, sipp.output()).toBe(0);
    socket.close();
    const heard = packets.slice(0, length);
    // The stream goes on from the wait to the agent: no packet and no time is missing.
    const steps = heard.slice(1).map(({ sequence, timestamp }, at) => {
      const before = heard[at] ?? { sequence, timestamp };
      return [(sequence - before.sequence) & 0xffff, (timestamp - before.timestamp) >>> 0];
    });
    expect(steps.filter(([one, more]) => one !== 1 || more !== 160)).toEqual([]);
    const item = await daemon.logged(second);
    expect(item).toMatchObject({
      call_status: 'api-ended',
      queue: { id, position: 1, priority: 3, left: 'answered' },
    });
    expect(String(item['chat'])).toContain('Hello, this is the desk.');
  });

  it('calls back who asks for it with a key, when it is their turn', async () => {
    await daemon.answeredBy({ ...DESK, extensions: { queue: { callback: { key: '5' } } } });
    const ann = daemon.far.call(ANN, OURS);
    const first = await daemon.session();
    await expect.poll(() => ann.loud, PATIENCE).toBeGreaterThan(10);
    const bob = daemon.far.call(BOB, OURS);
    await expect.poll(() => bob.loud, PATIENCE).toBeGreaterThan(25);
    await bob.press('5');
    const [waiting] = await callsWith('queued');
    const id = String(waiting?.['session_id']);
    const isAsked = async (): Promise<boolean> => {
      if (!bob.isOver) await bob.press('1').catch(() => undefined); // it may end meanwhile
      return bob.isOver;
    };
    // The keys count once the number was read out.
    await expect.poll(isAsked, { timeout: 60_000, interval: 1000 }).toBe(true);
    expect(await daemon.logged(id)).toMatchObject({ call_status: 'agent-ended', queue: { left: 'callback' } });
    const campaigns = await daemon.asked<Item[]>('GET', '/campaigns');
    expect(campaigns.at(-1)).toMatchObject({ name: expect.stringMatching(/^Call backs of /) as string, caller: OURS });
    expect(daemon.far.called).toEqual([]);
    await daemon.asked('POST', `/sessions/${first}/terminate`);
    await expect.poll(() => daemon.far.called.length, PATIENCE).toBe(1);
    await expect.poll(() => daemon.far.called[0]?.loud ?? 0, PATIENCE).toBeGreaterThan(25);
    const second = await daemon.session();
    await daemon.asked('POST', `/sessions/${second}/terminate`);
    expect(await daemon.logged(second)).toMatchObject({
      voip: { from: OURS, to: BOB, direction: 'outbound' },
      metadata: { callback_of: id },
    });
  });

  it('records the message of a caller outside the opening hours, beside the sessions', async () => {
    const days = [new Date(Date.now() + 3 * 86_400_000).toLocaleDateString('en', { weekday: 'short' }).toLowerCase()];
    const open = [{ days, from: '09:00', to: '10:00' }];
    const hours = { open, closed: { action: 'voicemail', message: 'Please speak.' } };
    await daemon.answeredBy(DESK);
    const ann = daemon.far.call(ANN, OURS);
    const first = await daemon.session();
    await expect.poll(() => ann.loud, PATIENCE).toBeGreaterThan(10);
    await daemon.answeredBy({ ...DESK, extensions: { queue: { hours, voicemail_limit: 5 } } });
    const bob = daemon.far.call(BOB, OURS);
    await expect.poll(() => daemon.house.engine.sessions.size, PATIENCE).toBe(2);
    const id = [...daemon.house.engine.sessions].map((session) => session.id).find((one) => one !== first) ?? '';
    bob.speak();
    await expect.poll(() => bob.isOver, PATIENCE).toBe(true);
    const item = await daemon.logged(id);
    expect(item).toMatchObject({
      queue: { left: 'voicemail' },
      recording: { recording_url: expect.any(String) as string },
    });
    await daemon.asked('POST', `/sessions/${first}/terminate`);
  });
});

/** A supervisor makes Bob's call the next one, and then ends its wait. */
async function endWaitInConsole(address: string): Promise<void> {
  const browser = await TalkingBrowser.launch();
  try {
    const page = await browser.visit(`${address}/console#/active`, (fresh) =>
      fresh.addInitScript({ content: `sessionStorage.setItem('parley.key', '${PRIVATE_KEY}')` }),
    );
    const place = page.locator('tr', { hasText: BOB }).locator('td').first();
    await expect.poll(() => place.textContent(), PATIENCE).toBe('2');
    expect(await accessibilityFaults(page)).toEqual([]);
    const row = page.locator('tr', { hasText: BOB });
    await row.getByRole('button', { name: 'Next' }).click();
    await expect.poll(() => place.textContent(), PATIENCE).toBe('1');
    await row.getByRole('button', { name: 'Remove' }).click();
    await row.getByRole('button', { name: 'Really end its wait?' }).click();
    await row.waitFor({ ...PATIENCE, state: 'detached' });
    expect(browser.errors).toEqual([]);
  } finally {
    await browser.close();
  }
}
