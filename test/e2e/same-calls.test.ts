import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { levelOf } from '../../src/audio/dsp/level.js';
import { decodeWav } from '../../src/audio/files/wav.js';
import type { CarrierCall } from '../../src/telephony/carriers/carrier.js';
import { DEFAULT_SETTINGS } from '../../src/settings/settings.js';
import type { CodecName } from '../../src/transports/rtp/media-codec.js';
import { ANN, BOB, type Item, OURS, PATIENCE, TrunkHouse } from './trunk-house.js';

const CLERK = {
  name: 'Clerk',
  config: {
    prompt: 'You answer the phone.',
    first_message: 'Hello, the harbour office.',
    llm: { model: 'scripted' },
    call_settings: { enable_recording: true },
    flow: {
      agent_terminate_call: { enabled: true },
      call_transfer: { phone: BOB, instruction: 'Whenever they want a person.' },
    },
  },
  script: {
    rules: [
      {
        when: '9',
        call: { tool: 'transfer_call', arguments: { phone: BOB }, ok: {}, failed: { say: 'No.', end: true } },
      },
    ],
  },
};
const PRICES = {
  stt: { embedded: 3 },
  tts: { flite: 5 },
  voip: { sip: { inbound: { '*': 7 }, outbound: { '*': 9 } } },
};
const HEARD_DBFS = -55;

// Two threads load their engines.
vi.setConfig({ testTimeout: 400_000, hookTimeout: 240_000 });

/** Whether the other side's reports have come is chance in calls of some seconds. */
const CHANCE = /^(?:reported_loss|round_trip_ms)$/;

/** Numbers are what they are in this call; everything else is as it is in every call of this kind. */
function kinds(value: unknown, name = ''): unknown {
  if (CHANCE.test(name)) return name;
  if (typeof value === 'number')
    return name === 'chars' || name === 'chars_used' || name === 'turns' ? value : 'number';
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

  it('with what is recorded, counted, paid and erased, and a transfer that nobody takes', async () => {
    const [codec, srtp] = ['opus', 'required'] as const;
    const item = await alike(async (daemon) => {
      const phones = await daemon.phones({ codecs: [codec], srtp });
      daemon.far.take = (call) => call.hangUp('declined');
      const phone = phones.call(ANN, OURS);
      const id = await daemon.session();
      await expect.poll(() => daemon.trace(id), PATIENCE).toContain('"utterance.finished"');
      phone.speak();
      await phone.packetsIn(1); // nobody takes it for a word
      phone.hush();
      await phone.press('9');
      await expect.poll(() => phone.isOver, PATIENCE).toBe(true);
      const logged = await daemon.logged(id);
      const { duration, recording } = logged as { duration: number; recording: { recording_url: string } };
      const file = new Uint8Array(await (await fetch(recording.recording_url)).arrayBuffer());
      const { channels, sampleRateHz } = decodeWav(file);
      // A phone on a thread that stands still now and then sends more sound than time.
      const beyondS = (channels[0]?.length ?? 0) / sampleRateHz - duration;
      expect(beyondS > -0.3 && beyondS < 1.5, `the recording is ${String(beyondS)} s longer than the call`).toBe(true);
      expect(recordings(daemon)).toEqual([`${id}.wav`]);
      const { erased } = await daemon.asked<{ erased: unknown }>('POST', '/erase', { phone: ANN });
      expect(recordings(daemon)).toEqual([]);
      expect(existsSync(join(daemon.house.dataDir, 'traces', `${id}.jsonl`))).toBe(false);
      const sides = channels.map((side) => levelOf(side).rmsDbfs > HEARD_DBFS);
      return { item: kinds(logged) as Item, erased, sides, sampleRateHz, isSecure: phone.sip.media?.stats().isSecure };
    });
    expect(item).toMatchObject({
      sides: [true, true],
      erased: { calls: 1, recordings: 1, traces: 1 },
      isSecure: true,
      item: {
        call_status: 'agent-ended',
        voip: { transfer: { to: BOB, ok: false, reason: 'rejected' } },
        carrier_call_log: {
          codec,
          digitsReceived: '9',
          transfer: { target: BOB, outcome: { ok: false, reason: 'rejected' } },
        },
        call_metrics: { turns: 1 },
      },
    });
  });

  it('placed: answered late, refused, not answered, given up, stopped; one at a time', async () => {
    const items = await alike(async (daemon) => {
      const { far, house } = daemon;
      const place = async (
        take: (call: CarrierCall) => void,
        then?: (id: string) => Promise<unknown>,
      ): Promise<Item> => {
        far.take = take;
        const before = far.called.length;
        const wanted = { from_phone: OURS, to_phone: BOB };
        const { session_id: id } = await daemon.asked<{ session_id: string }>('POST', '/start_outbound_call', wanted);
        const second = await daemon.tried('POST', '/start_outbound_call', { ...wanted, to_phone: ANN });
        expect(second).toMatchObject({ status: 429 });
        await expect.poll(() => far.called.length, PATIENCE).toBe(before + 1);
        await then?.(id);
        const logged = (await daemon.logged(id)) as { carrier_call_log: { packets: { sent: number } } };
        const wasHeard = logged.carrier_call_log.packets.sent > 0;
        await expect.poll(() => [house.engine.sessions.size, house.daemon.busy], PATIENCE).toEqual([0, 0]);
        return { ...(kinds(logged) as Item), wasHeard };
      };
      const never = (): void => undefined;
      const isUp = (id: string) => expect.poll(() => daemon.trace(id), PATIENCE).toContain('"utterance.finished"');
      const isRinging = (id: string) => {
        const status = async () => (await daemon.asked('GET', `/call-logs/${id}`))['call_status'];
        return expect.poll(status, PATIENCE).toBe('ringing');
      };
      return [
        await place(
          (call) =>
            void far.called
              .at(-1)
              ?.packetsIn(50)
              .then(() => call.answer()),
          async (id) => {
            await isUp(id);
            far.called.at(-1)?.call.hangUp();
          },
        ),
        await place((call) => call.hangUp('declined')),
        await place((call) => call.hangUp('unavailable')),
        await place(never),
        await place(never, async (id) => {
          await isRinging(id);
          await daemon.asked('POST', `/sessions/${id}/terminate`);
        }),
        await place(
          (call) => call.answer(),
          async (id) => {
            await isUp(id);
            await daemon.asked('POST', '/calls/stop', { end_running: true });
            const again = { from_phone: OURS, to_phone: ANN };
            const refused = async () => (await daemon.tried('POST', '/start_outbound_call', again)).answer;
            await expect
              .poll(refused, PATIENCE)
              .toMatchObject({ detail: expect.stringContaining('stopped') as string });
            await daemon.asked('POST', '/calls/resume');
          },
        ),
      ].map(({ call_status, error_message, wasHeard, carrier_call_log: log, ...rest }) => {
        return { call_status, error_message, wasHeard, log, rest };
      });
    });
    expect(items.map(({ call_status: status, wasHeard }) => [status, wasHeard])).toEqual([
      ['user-ended', true],
      ['failed', false],
      ['no-answer', false],
      ['no-answer', false],
      ['canceled', false],
      ['api-ended', true],
    ]);
  });

  it('put on hold and taken back', async () => {
    const heard = await alike(async ({ far }) => {
      const phone = far.call(ANN, OURS);
      await expect.poll(() => phone.sip.media?.stats().received ?? 0, PATIENCE).toBeGreaterThan(25);
      const is: Record<string, string> = { sendonly: 'held', inactive: 'held', sendrecv: 'heard' };
      const states: string[] = [];
      for (const direction of ['sendonly', 'sendrecv', 'inactive', 'sendrecv'] as const) {
        await phone.turn(direction);
        const state = async (): Promise<string> => ((await phone.packetsIn(20)) > 0 ? 'heard' : 'held');
        await expect.poll(state, PATIENCE).toBe(is[direction]);
        states.push(await state());
      }
      phone.call.hangUp();
      return states;
    });
    expect(heard).toEqual(['held', 'heard', 'held', 'heard']);
  });

  it('as many as may be: what is more is refused, and drained daemons take none while those that run go on', async () => {
    const ends = await alike(async (daemon) => {
      const { far, house } = daemon;
      const first = far.call(ANN, OURS);
      const id = await daemon.session();
      await expect.poll(() => daemon.trace(id), PATIENCE).toContain('"utterance.finished"');
      const isOver = (phone: typeof first) => expect.poll(() => phone.call.end, PATIENCE).not.toBeNull();
      const second = far.call(BOB, OURS);
      await isOver(second);
      const drained = house.daemon.drain();
      const third = far.call(BOB, OURS);
      await isOver(third);
      const isHeard = await expect
        .poll(() => first.packetsIn(20), PATIENCE)
        .toBeGreaterThan(0)
        .then(() => true);
      first.call.hangUp();
      await drained;
      return { ends: [first, second, third].map(({ call }) => call.end), isHeard };
    });
    expect(ends).toMatchObject({
      isHeard: true,
      ends: [
        { cause: 'hangup', by: 'agent' },
        ...[0, 1].map(() => ({ cause: 'failed', reason: expect.stringContaining('503') as string })),
      ],
    });
  });
});
