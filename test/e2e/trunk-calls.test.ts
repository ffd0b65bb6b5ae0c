import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Log } from '../../src/daemon/operations/log.js';
import { RawCaller, type RawInvite } from './raw-caller.js';
import { type Item, OURS, PATIENCE, TrunkHouse } from './trunk-house.js';

const FIRST: RawInvite = { callId: 'one-call-id@192.0.2.9', fromTag: 'a', sequence: 1, to: OURS, payloads: '0' };
const AGENT = { name: 'Baker', config: { prompt: 'You sell bread.', llm: { model: 'scripted' } } };

describe('calls from a trunk that says what it likes', () => {
  let daemon: TrunkHouse;
  let caller: RawCaller;
  const lines: string[] = [];

  beforeAll(async () => {
    const log: Log = { write: (level, message) => lines.push(`${level} ${message}`) };
    daemon = await TrunkHouse.open(0, {}, { keepAliveS: 60 }, log);
    await daemon.answeredBy({ ...AGENT, script: { rules: [] } });
    caller = await RawCaller.open(daemon.port);
  }, 60_000);

  afterAll(async () => {
    caller.close();
    await daemon.close();
  });

  const histories = async (): Promise<Item[]> =>
    (await daemon.asked<{ histories: Item[] }>('GET', '/call-logs?phone_number=%2B12025550177')).histories;

  it('has a Call-ID again: after a CANCEL, with another tag at the same time, and in a later call', async () => {
    const given = caller.invite(FIRST);
    await caller.hears(180, FIRST);
    given.cancel();
    expect(await given.final).toMatchObject({ status: 487 });
    const again = caller.invite({ ...FIRST, sequence: 2 });
    expect(await again.final).toMatchObject({ status: 200 });
    const beside = caller.invite({ ...FIRST, fromTag: 'b' });
    expect(await beside.final).toMatchObject({ status: 200 });
    for (const call of [again, beside]) call.bye();
    await expect.poll(() => daemon.house.engine.sessions.size, PATIENCE).toBe(0);
    const later = caller.invite({ ...FIRST, fromTag: 'c' });
    expect(await later.final).toMatchObject({ status: 200 });
    later.bye();
    await expect
      .poll(async () => (await histories()).filter((one) => one['carrier_call_log'] !== null).length, PATIENCE)
      .toBe(4);
    const ids = (await histories()).map((one) => String(one['call_id'])).toReversed();
    expect(ids[0]).toBe(FIRST.callId);
    expect(new Set(ids).size).toBe(4);
    for (const id of ids) expect(id.startsWith(FIRST.callId)).toBe(true);
    for (const item of await histories()) expect(item['carrier_call_log']).toMatchObject({ callId: FIRST.callId });
  }, 60_000);

  it('learns why a call is refused, and so is the operator', async () => {
    const nobody = caller.invite({ ...FIRST, callId: 'nobody', to: 'frontdesk' });
    expect(await nobody.final).toMatchObject({ status: 404 });
    const mute = caller.invite({ ...FIRST, callId: 'mute', payloads: '18' });
    const refusal = await mute.final;
    expect(refusal).toMatchObject({ status: 488 });
    expect(refusal.headers.get('warning')).toBe('305 parley "none of its codecs is among PCMU, PCMA"');
    const reported = lines.filter((line) => line.startsWith('warn SIP: a call from UDP 127.0.0.1:'));
    expect(reported).toHaveLength(2);
    expect(reported[0]).toMatch(/is refused with 404: frontdesk is no number of ours$/);
    expect(reported[1]).toMatch(/is refused with 488: .*none of its codecs/);
    expect(await daemon.figure('parley_sip_calls_refused_total{trunk="default",status="488"}')).toMatch(/ 1$/);
    await expect
      .poll(async () => (await daemon.asked<Item[]>('GET', '/trunks'))[0]?.['servers'], PATIENCE)
      .toMatchObject([
        { answers: true, last_status: 200, address: expect.stringMatching(/^UDP 127\.0\.0\.1:\d+$/) as string },
      ]);
    expect(await daemon.asked('GET', '/trunks')).toMatchObject([
      {
        name: 'default',
        numbers: [OURS],
        calls: 0,
        registration: null,
        refused: [
          { status: 404, count: 1 },
          { status: 488, count: 1 },
        ],
      },
    ]);
  }, 60_000);
});
