import { describe, expect, it } from 'vitest';
import type { SipRequest } from '../../../../src/telephony/sip/message.js';
import { responseTo } from '../../../../src/telephony/sip/respond.js';
import type { LeadRegistration } from '../../../../src/telephony/carriers/sip/trunk.js';
import { HOPS, Puppet } from '../../sip/support.js';
import { NUMBERS, openRig, OWN } from './support.js';

const EDGE = { ...HOPS.bob, address: '192.0.2.3' };
const ORIGIN = { ...HOPS.bob, address: '192.0.2.4' };

/** A registrar behind an edge proxy; both belong to the trunk. */
async function registeredAt(serviceRoutes: readonly string[][], leadRegistration?: LeadRegistration) {
  const asked: SipRequest[] = [];
  const rig = await openRig({
    register: true,
    registerS: 60,
    leadRegistration,
    servers: [{ protocol: 'UDP', host: EDGE.address, port: null }],
    sources: [ORIGIN.address],
  });
  let count = 0;
  const answer = (message: Parameters<ConstructorParameters<typeof Puppet>[2]>[0], me: Puppet): void => {
    if (message.kind !== 'request' || message.method === 'ACK') return;
    asked.push(message);
    if (message.method !== 'REGISTER') return me.say(responseTo(message, 486, { toTag: 'f' }), HOPS.ann);
    const routes = serviceRoutes[Math.min(count++, serviceRoutes.length - 1)] ?? [];
    me.say(
      responseTo(message, 200, {
        toTag: 'r',
        headers: [
          ['contact', `${message.headers.get('contact') ?? ''};expires=60`],
          ['path', message.headers.get('path') ?? '<sip:192.0.2.3;lr>'],
          ...routes.map((route): [string, string] => ['service-route', route]),
        ],
      }),
      HOPS.ann,
    );
  };
  const edge = new Puppet(rig.wire, EDGE, answer);
  const origin = new Puppet(rig.wire, ORIGIN, answer);
  await rig.wire.clock.advanceBy(100);
  const invite = async (): Promise<SipRequest | undefined> => {
    const before = asked.length;
    const call = rig.carrier.placeCall({ from: OWN, to: NUMBERS.person, ringTimeoutMs: 5000 });
    await rig.until(() => call.state === 'ended');
    return asked.slice(before).find(({ method }) => method === 'INVITE');
  };
  return { rig, edge, origin, asked, invite };
}

describe('a registration that one of several processes holds', () => {
  it('begins with the lease and ends with it', async () => {
    let begin = (_lost: AbortSignal): void => undefined;
    let released = 0;
    const { rig, edge } = await registeredAt([[]], (work) => {
      begin = work;
      return { release: async () => void released++ };
    });
    const sent = (): (string | undefined)[] => edge.requests('REGISTER').map(({ headers }) => headers.get('expires'));
    const state = (): string | undefined => rig.carrier.state.registration?.state;
    expect([sent(), state()]).toEqual([[], 'standby']);
    const term = new AbortController();
    begin(term.signal);
    await rig.wire.clock.advanceBy(100);
    expect([sent(), state()]).toEqual([['60'], 'registered']);
    term.abort();
    await rig.wire.clock.advanceBy(1_000_000);
    expect([sent(), state()]).toEqual([['60', '0'], 'standby']);
    await rig.dispose();
    expect(released).toBe(1);
  });
});

describe('a registration through an edge proxy', () => {
  it('supports Path (RFC 3327, 5.1)', async () => {
    const { rig, asked } = await registeredAt([[]]);
    expect(asked[0]?.headers.lists('supported', 'path')).toBe(true);
    await rig.dispose();
  });

  it('routes calls as the registrar wants, in its order (RFC 3608, 5 and 6.2)', async () => {
    const routes = ['<sip:192.0.2.4;lr>', '<sip:home.example.com;lr>'];
    const { rig, edge, origin, invite } = await registeredAt([routes]);
    expect((await invite())?.headers.values('route')).toEqual(routes);
    expect([edge.requests('INVITE').length, origin.requests('INVITE').length]).toEqual([0, 1]);
    await rig.dispose();
  });

  it.each([
    ['an address that the trunk does not have', '<sip:203.0.113.9;lr>'],
    ['a host name', '<sip:home.example.com;lr>'],
  ])('sends calls to where it registered, if the route starts with %s', async (_what, route) => {
    const { rig, edge, invite } = await registeredAt([[route]]);
    expect((await invite())?.headers.values('route')).toEqual([route]);
    expect(edge.requests('INVITE')).toHaveLength(1);
    await rig.dispose();
  });

  it('takes the route of the last answer, and none if that has none (RFC 3608, 6.1)', async () => {
    const { rig, invite } = await registeredAt([['<sip:192.0.2.4;lr>'], []]);
    expect((await invite())?.headers.values('route')).toEqual(['<sip:192.0.2.4;lr>']);
    await rig.wire.clock.advanceBy(60_000);
    expect((await invite())?.headers.has('route')).toBe(false);
    await rig.dispose();
  });
});
