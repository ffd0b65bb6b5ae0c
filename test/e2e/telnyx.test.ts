import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RealClock } from '../../src/clock/real.js';
import { tone } from '../vendors/carriers/people.js';
import { proxiedDoorway, serveRest } from '../vendors/carriers/served.js';
import { CONNECTION_ID, TelnyxDouble } from '../vendors/carriers/telnyx/double.js';
import { ServedDaemon } from './served-daemon.js';

const KEY = 'sk_telnyx_e2e_00000000000000000000000000';
const API_KEY = 'KEY0123456789abcdef_e2e';
const PUBLIC_URL = 'https://voice.example.com/parley';
const WEBHOOK = '/carriers/telnyx/webhook';
const PERSON = '+12025550101';

interface Logged {
  call_status: string;
  call_id: string;
  voip: { from: string; to: string } | null;
  carrier_call_log: { carrier: string; codec: string; packets: { sent: number; received: number } } | null;
}

/** The built command with an account at Telnyx, whose double reaches it over a proxy; see `proxiedDoorway`. */
describe('calls over Telnyx, with the daemon as it is built', () => {
  let folder = '';
  let daemon: ServedDaemon;
  let telnyx: TelnyxDouble;
  const closing: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    const clock = new RealClock();
    telnyx = new TelnyxDouble({
      ...{ clock, unixMs: () => Date.now(), webhookUrl: PUBLIC_URL + WEBHOOK },
      doorway: proxiedDoorway(clock, PUBLIC_URL, () => daemon.address),
      people: { [PERSON]: { does: 'answer', says: tone(300), leavesAfterMs: 7_000 } },
    });
    const api = await serveRest(telnyx.rest, `Bearer ${API_KEY}`);
    closing.push(api.close);
    folder = mkdtempSync(join(tmpdir(), 'parley-telnyx-e2e-'));
    const config = join(folder, 'settings.json');
    const account = { connectionId: CONNECTION_ID, publicKey: telnyx.publicKey, apiUrl: api.url };
    writeFileSync(config, JSON.stringify({ publicUrl: PUBLIC_URL, telnyx: account }));
    const env = { PARLEY_CONFIG: config, PARLEY_API_KEY: KEY, PARLEY_TELNYX_API_KEY: API_KEY };
    daemon = await ServedDaemon.start('0', undefined, env);
  }, 60_000);

  afterAll(async () => {
    await daemon.stop();
    for (const close of closing) await close();
    rmSync(folder, { recursive: true });
  });

  async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(daemon.address + path, {
      method,
      headers: { authorization: KEY, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${path}: ${String(response.status)} ${await response.text()}`);
    return (await response.json()) as T;
  }

  async function logged(matches: (call: Logged) => boolean): Promise<Logged> {
    for (;;) {
      const { histories } = await ask<{ histories: Logged[] }>('GET', '/call-logs');
      const call = histories.find(matches);
      if (call !== undefined && call.carrier_call_log !== null) return call;
      await setTimeout(250); // the daemon takes 600 requests a minute from one address
    }
  }

  it('a number is bought, its calls are answered, and people are called from it', async () => {
    const { id: number } = await ask<{ id: string }>('POST', '/phones/purchase', { country: 'US', area_code: '202' });
    expect(telnyx.numbers.get(number)?.connectionId).toBe(CONNECTION_ID);
    await ask('POST', `/phones/${number}/set_agent`, { agent_id: 'the-crooked-fork' });
    const far = telnyx.callIn('+12025550177', number, { does: 'answer', says: tone(300), leavesAfterMs: 7_000 });
    const call = { agent_id: 'the-crooked-fork', from_phone: number, to_phone: PERSON };
    await ask('POST', '/start_outbound_call', call);

    const inbound = await logged(({ voip }) => voip?.from === '+12025550177');
    expect(inbound).toMatchObject({ call_status: 'user-ended', call_id: far.facts.id, voip: { to: number } });
    expect(inbound.carrier_call_log).toMatchObject({ carrier: 'telnyx', codec: 'PCMU' });
    expect(inbound.carrier_call_log?.packets.received).toBeGreaterThan(100);
    expect(far.facts.person.loudness).toBeGreaterThan(1_000); // the greeting
    const outbound = await logged(({ voip }) => voip?.to === PERSON);
    expect(outbound).toMatchObject({ call_status: 'user-ended', voip: { from: number } });
    expect(telnyx.people.get(PERSON)?.loudness).toBeGreaterThan(1_000);

    await ask('DELETE', `/phones/${number}`);
    expect(telnyx.numbers.size).toBe(0);
    expect(telnyx.violations).toEqual([]);
    expect(daemon.log).not.toContain(API_KEY);
  }, 60_000);

  it('nobody but Telnyx gets in', async () => {
    const body = '{"data":{"event_type":"call.initiated","id":"e"}}';
    const post = (headers: Record<string, string>) =>
      fetch(daemon.address + WEBHOOK, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', ...headers },
      });
    expect((await post({})).status).toBe(403);
    expect((await post(telnyx.signed(body, Date.now() - 400_000))).status).toBe(403);
    expect((await post(telnyx.signed(body))).status).toBe(200);
    expect((await fetch(`${daemon.address}/carriers/telnyx/media/guess`)).status).toBe(404);
  });
});
