import { parsePhoneNumberFromString } from 'libphonenumber-js/max';
import type { SessionLine } from '../../../../src/engine/remote-line.js';
import { describe, expect, it } from 'vitest';
import type { CarrierCall } from '../../../../src/telephony/carriers/carrier.js';
import type { SipCarrierOptions } from '../../../../src/telephony/carriers/sip/carrier.js';
import type { SipRequest } from '../../../../src/telephony/sip/message.js';
import { NUMBERS, openRig, OWN } from './support.js';

const OTHER = '+12025550198';
const national = (digits: string): string | null => {
  const parsed = parsePhoneNumberFromString(digits, 'US');
  return parsed?.isPossible() === true ? parsed.number : null;
};

/** The INVITE of a call of ours. */
async function inviteOf(
  options: Partial<SipCarrierOptions>,
  headers: Readonly<Record<string, string>> = {},
): Promise<SipRequest> {
  const rig = await openRig(options);
  rig.carrier.placeCall({ from: OWN, to: NUMBERS.busy, ringTimeoutMs: 1000, headers });
  await rig.until(() => rig.wire.times('INVITE').length > 0);
  const invite = rig.wire.last('INVITE') as SipRequest;
  await rig.dispose();
  return invite;
}

/** The call that comes of an INVITE; null = it is refused with 404. */
async function callOf(
  options: Partial<SipCarrierOptions>,
  ...[to, headers, named, from]: Parameters<Awaited<ReturnType<typeof openRig>>['exchange']['callIn']>
): Promise<CarrierCall<SessionLine> | null> {
  const rig = await openRig(options);
  const calls: CarrierCall<SessionLine>[] = [];
  rig.carrier.receiveCalls((call) => calls.push(call));
  await rig.exchange.callIn(to, headers, named, from);
  await rig.until(() => calls.length > 0 || rig.wire.times('404').length > 0);
  await rig.dispose();
  return calls[0] ?? null;
}

describe('the identity that a trunk gets', () => {
  it('is the number, and nothing beside it, unless the settings say otherwise', async () => {
    const { headers } = await inviteOf({ user: 'acme' });
    expect(headers.get('from')).toMatch(/^<sip:\+12025550199@trunk\.example\.com;user=phone>;tag=/);
    expect([headers.has('p-asserted-identity'), headers.has('p-preferred-identity')]).toEqual([false, false]);
  });

  it('is the account in From, and the number in P-Asserted-Identity', async () => {
    const { headers } = await inviteOf({
      user: 'acme',
      fromUser: 'account',
      identity: 'asserted',
      displayName: 'Acme',
    });
    expect(headers.get('from')).toMatch(/^"Acme" <sip:acme@trunk\.example\.com>;tag=/);
    expect(headers.get('p-asserted-identity')).toBe('"Acme" <sip:+12025550199@trunk.example.com;user=phone>');
  });

  it('is the number in P-Preferred-Identity, written as the trunk wants numbers', async () => {
    const { headers } = await inviteOf({ identity: 'preferred', numberFormat: 'digits' });
    expect(headers.get('p-preferred-identity')).toBe('<sip:12025550199@trunk.example.com;user=phone>');
  });

  it('is what a call brings of its own', async () => {
    const own = '<sip:+12025550111@example.com>';
    const { headers } = await inviteOf({ identity: 'asserted' }, { 'P-Asserted-Identity': own });
    expect(headers.lines('p-asserted-identity')).toEqual([own]);
  });
});

describe('a call to the contact of ours', () => {
  it.each([
    ['is to the number in To', [], OWN, OWN],
    ['is to the number in P-Called-Party-ID', [['p-called-party-id', `<sip:${OTHER}@example.com>`]], 'acme', OTHER],
    ['is to no number where it names one of others', [], '+12025550142', undefined],
    ['is to no number where we have several', [], 'acme', undefined],
  ] as const)('%s', async (_name, headers, named, number) => {
    const call = await callOf(
      { user: 'acme', owned: [OWN, OTHER] },
      'acme',
      headers.map(([n, v]) => [n, v]),
      named,
    );
    expect(call?.to).toBe(number);
  });

  it('is to the only number that there is', async () => {
    expect((await callOf({ user: 'acme' }, 'acme'))?.to).toBe(OWN);
    expect((await callOf({}, 'parley'))?.to).toBe(OWN);
  });

  it('is none if it is for another user', async () => {
    expect(await callOf({ user: 'acme' }, 'nobody', [], OWN)).toBeNull();
  });
});

describe('numbers without their country code', () => {
  it('are ours, and callers’, in the country of the trunk', async () => {
    const call = await callOf({ national }, '2025550199', [], '2025550199', '2025550177');
    expect([call?.to, call?.from]).toEqual([OWN, '+12025550177']);
  });

  it('belong to no call without one', async () => {
    expect(await callOf({}, '2025550199')).toBeNull();
  });

  it('leave numbers with a country code as they are', async () => {
    const call = await callOf({ national }, '12025550199', [], OWN, '442079460000');
    expect([call?.to, call?.from]).toEqual([OWN, '+442079460000']);
  });
});

describe('a caller who withholds the number', () => {
  const asserted: [string, string] = ['p-asserted-identity', '<sip:+12025550166@example.com>'];

  it('is anonymous to the agent, in headers too', async () => {
    const call = await callOf({}, OWN, [asserted, ['privacy', 'id; critical']], OWN, 'anonymous');
    expect([call?.from, call?.headers]).toEqual(['anonymous', {}]);
  });

  it('is known by what the trunk asserts without that', async () => {
    const call = await callOf({}, OWN, [asserted], OWN, 'anonymous');
    expect([call?.from, call?.headers]).toEqual(['+12025550166', { 'p-asserted-identity': asserted[1] }]);
  });

  it('may withhold the history of the call', async () => {
    const diversion: [string, string] = ['diversion', '<sip:+12025550133@example.com>'];
    const hidden = await callOf({}, OWN, [diversion, ['privacy', 'history']]);
    const shown = await callOf({}, OWN, [diversion]);
    expect([hidden?.headers['diversion'], shown?.headers['diversion']]).toEqual([undefined, diversion[1]]);
  });
});
