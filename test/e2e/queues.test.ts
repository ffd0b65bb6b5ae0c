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
import { sippCall } from './sipp-call.js';
import { ANN, type Item, OURS, PATIENCE, TrunkHouse } from './trunk-house.js';

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
    daemon = await TrunkHouse.open(threads, { limits: { ...DEFAULT_SETTINGS.limits, sessions: 1 } });
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
    const place = `127.0.0.1:${String(daemon.port)}`;
    const sipp = sippCall(own, await freePort('udp'), place, ['-s', OURS]);
    await expect.poll(() => packets.filter(({ dbfs }) => dbfs > -50).length, PATIENCE).toBeGreaterThan(100);
    expect([daemon.house.engine.sessions.size, (await callsWith('queued')).length]).toEqual([1, 1]);
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
      queue: { id: expect.any(String) as string, position: 1, left: 'answered' },
    });
    expect(String(item['chat'])).toContain('Hello, this is the desk.');
  });
});
