import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { levelOf } from '../../src/audio/level.js';
import { decodeWav } from '../../src/audio/wav.js';
import { DEFAULT_SETTINGS } from '../../src/config/settings.js';
import type { CodecName } from '../../src/rtp/codecs.js';
import { ANN, BOB, type Item, OURS, PATIENCE, TrunkHouse } from './trunk-house.js';

const CLERK = {
  name: 'Clerk',
  config: {
    prompt: 'You answer the phone.',
    first_message: 'Hello, the harbour office.',
    llm: { model: 'scripted' },
    call_settings: { enable_recording: true },
    flow: { call_transfer: { phone: BOB, instruction: 'Whenever they want a person.' } },
  },
  script: {
    rules: [
      { when: '5', say: 'You have pressed five. Goodbye.', end: true },
      { when: '9', call: { tool: 'transfer_call', arguments: { phone: BOB }, ok: {}, failed: { say: 'No.', end: true } } },
    ],
  },
};
const PRICES = { stt: { embedded: 3 }, tts: { flite: 5 }, voip: { sip: { inbound: { '*': 7 }, outbound: { '*': 9 } } } };
const HEARD_DBFS = -45;

// Two threads load their engines.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 120_000 });

/** Numbers are what they are in this call; everything else is as it is in every call of this kind. */
function kinds(value: unknown, name = ''): unknown {
  if (typeof value === 'number') return name === 'chars' || name === 'chars_used' || name === 'turns' ? value : 'number';
  if (typeof value === 'string') return /(?:id|Id|url)$/.test(name) ? name : value;
  if (Array.isArray(value)) return value.map((one) => kinds(one));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, kinds(member, key)]));
}

describe('calls are the same, in media threads and on the main thread', () => {
  let daemons: readonly TrunkHouse[];

  beforeAll(async () => {
    const settings = {
      prices: PRICES,
      calls: { ...DEFAULT_SETTINGS.calls, ringS: 5, concurrent: 1, perDestinationPerMinute: 20 },
      limits: { ...DEFAULT_SETTINGS.limits, sessions: 1 },
    };
    const sip = { codecs: ['opus', 'G722', 'PCMU', 'PCMA'] as CodecName[] };
    daemons = await Promise.all([0, 2].map((threads) => TrunkHouse.open(threads, settings, sip)));
    await both((daemon) => daemon.answeredBy(CLERK));
    await both(({ house }) => house.daemon.warmUp());
  });

  afterEach(async () => void (await both((daemon) => daemon.hush())));
  afterAll(async () => void (await both((daemon) => daemon.close())));

  function both<T>(act: (daemon: TrunkHouse) => Promise<T>): Promise<T[]> {
    return Promise.all(daemons.map(act));
  }

  /** What comes of it with threads, which is what comes of it without. */
  async function alike<T>(act: (daemon: TrunkHouse) => Promise<T>): Promise<T> {
    const [without, within] = await both(act);
    expect(within).toEqual(without);
    return within as T;
  }

  const recordings = ({ house }: TrunkHouse): string[] => readdirSync(join(house.dataDir, 'recordings'));

  it.each([
    ['PCMU', 'off'],
    ['G722', 'required'],
    ['opus', 'off'],
  ] as const)('with what is recorded, counted and paid: %s, SRTP %s', async (codec, srtp) => {
    const item = await alike(async (daemon) => {
      const phones = await daemon.phones({ codecs: [codec], srtp });
      const phone = phones.call(ANN, OURS);
      const id = await daemon.session();
      phone.speak();
      await expect.poll(() => phone.loud, PATIENCE).toBeGreaterThan(30);
      await phone.press('5');
      await expect.poll(() => phone.isOver, PATIENCE).toBe(true);
      const logged = await daemon.logged(id);
      const { duration, recording } = logged as { duration: number; recording: { recording_url: string } };
      const file = new Uint8Array(await (await fetch(recording.recording_url)).arrayBuffer());
      const { channels, sampleRateHz } = decodeWav(file);
      expect(Math.abs((channels[0]?.length ?? 0) / sampleRateHz - duration)).toBeLessThan(0.3);
      expect(recordings(daemon)).toEqual([`${id}.wav`]);
      const { erased } = await daemon.asked<{ erased: unknown }>('POST', '/erase', { phone: ANN });
      expect(recordings(daemon)).toEqual([]);
      expect(existsSync(join(daemon.house.dataDir, 'traces', `${id}.jsonl`))).toBe(false);
      const sides = channels.map((side) => levelOf(side).rmsDbfs > HEARD_DBFS);
      return { item: kinds(logged) as Item, erased, sides, sampleRateHz, isSecure: phone.sip.media?.stats().isSecure };
    });
    expect(item).toMatchObject({
      ...{ sides: [true, true], erased: { calls: 1, recordings: 1, traces: 1 }, isSecure: srtp === 'required' },
      item: { call_status: 'agent-ended', carrier_call_log: { codec, digitsReceived: '5' }, call_metrics: { turns: 1 } },
    });
  });

  it('put on hold and taken back', async () => {
    const heard = await alike(async ({ far }) => {
      const phone = far.call(ANN, OURS);
      await expect.poll(() => phone.sip.media?.stats().received ?? 0, PATIENCE).toBeGreaterThan(25);
      const sent: boolean[] = [];
      for (const direction of ['sendonly', 'sendrecv', 'inactive', 'sendrecv'] as const) {
        await phone.turn(direction);
        sent.push((await phone.packetsIn(20)) > 5);
      }
      phone.call.hangUp();
      return sent;
    });
    expect(heard).toEqual([false, true, false, true]);
  });
});
