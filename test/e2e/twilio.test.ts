import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { twilioSignature } from '../../src/carriers/twilio/signature.js';
import { RealClock } from '../../src/clock/real.js';
import { tone } from '../vendors/carriers/people.js';
import { proxiedDoorway, serveRest } from '../vendors/carriers/served.js';
import { ACCOUNT_SID, TwilioDouble } from '../vendors/carriers/twilio/double.js';
import { ServedDaemon } from './served-daemon.js';

const KEY = 'sk_twilio_e2e_00000000000000000000000000';
const TOKEN = 'e2e-auth-token-0123456789abcdef0';
const PUBLIC_URL = 'https://voice.example.com/parley';
const PERSON = '+12025550101';
const BUSY = '+12025550103';

interface Logged {
  call_status: string;
  call_id: string;
  voip: { from: string; to: string; direction: string } | null;
  carrier_call_log: { carrier: string; codec: string; packets: { sent: number; received: number } } | null;
}

/** The built command with an account at Twilio, whose double reaches it over a proxy; see `proxiedDoorway`. */
describe('calls over Twilio, with the daemon as it is built', () => {
  let folder = '';
  let daemon: ServedDaemon;
  let twilio: TwilioDouble;
  const closing: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    const clock = new RealClock();
    const doorway = proxiedDoorway(clock, PUBLIC_URL, () => daemon.address);
    twilio = new TwilioDouble({
      ...{ clock, authToken: TOKEN, doorway },
      people: { [PERSON]: { does: 'answer', says: tone(300), leavesAfterMs: 4_000 }, [BUSY]: { does: 'busy' } },
    });
    const authorization = `Basic ${Buffer.from(`${ACCOUNT_SID}:${TOKEN}`).toString('base64')}`;
    const api = await serveRest(twilio.rest, authorization);
    const pricing = await serveRest(twilio.pricing, authorization);
    closing.push(api.close, pricing.close);
    folder = mkdtempSync(join(tmpdir(), 'parley-twilio-e2e-'));
    const config = join(folder, 'settings.json');
    writeFileSync(
      config,
      JSON.stringify({
        publicUrl: PUBLIC_URL,
        twilio: { accountSid: ACCOUNT_SID, apiUrl: api.url, pricingUrl: pricing.url },
      }),
    );
    const env = { PARLEY_CONFIG: config, PARLEY_API_KEY: KEY, PARLEY_TWILIO_AUTH_TOKEN: TOKEN };
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
    expect(twilio.numbers.get(number)?.VoiceUrl).toBe(`${PUBLIC_URL}/carriers/twilio/voice`);
    await ask('POST', `/phones/${number}/set_agent`, { agent_id: 'the-crooked-fork' });

    const far = twilio.callIn('+12025550177', number, { does: 'answer', says: tone(300), leavesAfterMs: 5_000 });
    const inbound = await logged(({ voip }) => voip?.from === '+12025550177');
    expect(inbound).toMatchObject({ call_status: 'user-ended', call_id: far.facts.sid, voip: { to: number } });
    expect(inbound.carrier_call_log).toMatchObject({ carrier: 'twilio', codec: 'PCMU' });
    expect(inbound.carrier_call_log?.packets.received).toBeGreaterThan(150);
    expect(far.facts.person.loudness).toBeGreaterThan(1_000); // the greeting

    const call = { agent_id: 'the-crooked-fork', from_phone: number };
    await ask('POST', '/start_outbound_call', { ...call, to_phone: PERSON });
    const outbound = await logged(({ voip }) => voip?.to === PERSON);
    expect(outbound).toMatchObject({ call_status: 'user-ended', voip: { from: number, direction: 'outbound' } });
    expect(twilio.people.get(PERSON)?.loudness).toBeGreaterThan(1_000);

    await ask('POST', '/start_outbound_call', { ...call, to_phone: BUSY });
    expect((await logged(({ voip }) => voip?.to === BUSY)).call_status).toBe('busy');

    await ask('DELETE', `/phones/${number}`);
    expect(twilio.numbers.size).toBe(0);
    expect(twilio.violations).toEqual([]);
    expect([...twilio.calls.values()].flatMap(({ errors }) => errors)).toEqual([]);
    expect(daemon.log).not.toContain(TOKEN);
  }, 60_000);

  it('nobody but Twilio gets in', async () => {
    const form = new URLSearchParams({ AccountSid: ACCOUNT_SID, CallSid: `CA${'0'.repeat(32)}` });
    const path = '/carriers/twilio/voice';
    const post = (signature: string) =>
      fetch(daemon.address + path, { method: 'POST', body: form, headers: { 'x-twilio-signature': signature } });
    expect((await post('')).status).toBe(403);
    // Signed for another address than the public one.
    expect((await post(twilioSignature(TOKEN, daemon.address + path, form))).status).toBe(403);
    expect((await post(twilioSignature(TOKEN, PUBLIC_URL + path, form))).status).toBe(200);
    const figures = await (await fetch(`${daemon.address}/metrics`)).text();
    expect(figures).toContain('\nparley_carrier_events_total{carrier="twilio",what="refused"} 2\n');
    expect(figures).toMatch(/\nparley_carrier_events_total\{carrier="twilio",what="streams"\} [1-9]/);
    expect((await fetch(`${daemon.address}/carriers/nobody/voice`, { method: 'POST' })).status).toBe(404);
    expect((await fetch(`${daemon.address}/carriers/twilio/nothing`)).status).toBe(404);
  });
});
