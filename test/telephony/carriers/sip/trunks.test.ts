import { describe, expect, it } from 'vitest';
import type { SessionLine } from '../../../../src/engine/remote-line.js';
import type { SipCarrierOptions } from '../../../../src/telephony/carriers/sip/carrier.js';
import { SipTrunks } from '../../../../src/telephony/carriers/sip/trunks.js';
import type { CarrierCall } from '../../../../src/telephony/carriers/carrier.js';
import { Ticker } from '../../../../src/base/ticker.js';
import { Random } from '../../../../src/base/random.js';
import { RtpPorts } from '../../../../src/transports/rtp/ports.js';
import { openRtpSession } from '../../../../src/transports/rtp/session.js';
import { type SipRequest, messageBytes } from '../../../../src/telephony/sip/message.js';
import type { UserAgent } from '../../../../src/telephony/sip/user-agent.js';
import { HOPS, messageOf, phoneAt, type Placed, place, Wire } from '../../sip/support.js';
import { MediaNet } from './support.js';

const none = (): Promise<never> => Promise.reject(new Error('none'));

const FIRST = '+12025550191';
const SECOND = '+12025550192';
const CARL = { ...HOPS.bob, address: '192.0.2.3' };

type Trunk = Partial<Pick<SipCarrierOptions, 'servers' | 'numbers' | 'user' | 'isAddress'>>;

/** Trunks at 192.0.2.1, and whoever calls and is called there. */
async function openTrunks(trunks: readonly Trunk[], callers: Record<string, string> = {}) {
  const wire = new Wire();
  const net = new MediaNet(wire);
  const ticker = new Ticker(wire.clock);
  const random = new Random(3);
  const { clock } = wire;
  let tokens = 0;
  const chances = { token: () => `k${String(++tokens)}`, chance: () => random.next() };
  const portsAt = (localAddress: string) => new RtpPorts({ clock, localAddress, openSocket: net.open });
  const ours = portsAt(HOPS.ann.address);
  const opened = await SipTrunks.open({
    clock,
    ...chances,
    callers: new Map(Object.entries(callers)),
    realm: 'ours.example.com',
    algorithms: ['SHA-256', 'MD5'],
    openTransport: (events, isTrusted) => {
      wire.attach(HOPS.ann, (bytes, from) => {
        if (isTrusted(from)) events.onMessage(bytes, from);
        else events.onRefused('stranger');
      });
      return Promise.resolve({
        send: (bytes, to) => wire.send(bytes, HOPS.ann, to),
        localPlace: () => ({ host: HOPS.ann.address, port: HOPS.ann.port, bound: HOPS.ann.address }),
        isOpen: () => true,
        close: () => Promise.resolve(),
      });
    },
    trunks: trunks.map((trunk) => ({
      clock,
      ticker,
      ...chances,
      credentials: null,
      register: false,
      sources: [],
      keepAliveMs: 0,
      servers: [],
      names: { naptr: none, srv: none, addresses: none },
      openMedia: (listener) => openRtpSession({ clock, ticker, ports: ours, listener }),
      domain: 'ours.example.com',
      codecs: ['PCMU'],
      numberFormat: 'e164',
      transfer: 'auto',
      numbers: [],
      owned: trunk.numbers ?? [],
      countryOf: () => Promise.resolve('US'),
      ...trunk,
    })),
  });
  const calls: { trunk: number; call: CarrierCall<SessionLine> }[] = [];
  for (const [trunk, carrier] of opened.carriers.entries()) {
    carrier.receiveCalls((call) => {
      calls.push({ trunk, call });
      call.answer();
    });
  }
  /** A user agent outside, with real media. */
  const phone = (hop: typeof HOPS.bob | typeof CARL | typeof HOPS.eve, password?: string) => {
    const agent = phoneAt(wire, hop, 9, password === undefined ? undefined : { user: 'pbx', password });
    const callUs = async (to: string): Promise<Placed> => {
      const media = await openRtpSession({ clock, ticker, ports: portsAt(hop.address) });
      const placed = place(agent, HOPS.ann, { target: `sip:${to}@192.0.2.1`, to: `<sip:${to}@192.0.2.1>`, media });
      await clock.advanceBy(3000);
      return placed;
    };
    return { ...agent, callUs };
  };
  return { wire, opened, calls, phone };
}

const at = (host: string): SipCarrierOptions['servers'] => [{ protocol: 'UDP', host, port: null }];
const dialogs = ({ dialogs: count }: UserAgent): number => count;

describe('several trunks', () => {
  it('call over the one that has the number, and take calls from it alone', async () => {
    const { wire, opened, calls, phone } = await openTrunks([
      { servers: at(HOPS.bob.address), numbers: [FIRST] },
      { servers: at(CARL.address), numbers: [SECOND] },
    ]);
    const [bob, carl] = [phone(HOPS.bob), phone(CARL)];
    opened.carriers[1]?.placeCall({ from: SECOND, to: '+12025550101', ringTimeoutMs: 5000 });
    await wire.clock.advanceBy(1000);
    expect([bob.calls.length, carl.calls.length]).toEqual([0, 1]);
    expect((await carl.callUs(SECOND)).reported).toContain('answered');
    expect((await bob.callUs(SECOND)).reported).toEqual(['failed 404 Not Found']);
    expect(calls.map(({ trunk, call }) => [trunk, call.to])).toEqual([[1, SECOND]]);
    await opened.close();
  });

  it('at one server are distinguished by the number, and by the call', async () => {
    const servers = at(HOPS.bob.address);
    const { wire, opened, calls, phone } = await openTrunks([
      { servers, numbers: [FIRST], user: 'one' },
      { servers, numbers: [SECOND], user: 'two' },
    ]);
    const bob = phone(HOPS.bob);
    const [to1, to2] = [await bob.callUs(FIRST), await bob.callUs(SECOND)];
    expect([to1.reported, to2.reported].map((reported) => reported.includes('answered'))).toEqual([true, true]);
    expect(calls.map(({ trunk, call }) => [trunk, call.to])).toEqual([
      [0, FIRST],
      [1, SECOND],
    ]);
    to2.leg().bye();
    await wire.clock.advanceBy(1000);
    expect(calls.map(({ call }) => call.state)).toEqual(['answered', 'ended']);
    const ringing = opened.carriers[1]!.placeCall({ from: SECOND, to: '+12025550101', ringTimeoutMs: 9000 });
    await wire.clock.advanceBy(100);
    bob.calls.at(-1)?.listen({ onEnded: () => undefined, onKeys: () => undefined });
    bob.calls.at(-1)?.reject(486);
    await wire.clock.advanceBy(1000);
    expect(ringing.end?.cause).toBe('busy');
    await opened.close();
  });

  it('take calls to other addresses of ours on each of them', async () => {
    const isAddress = (user: string): boolean => user === 'abcdef';
    const { opened, calls, phone } = await openTrunks([
      { isAddress, servers: at(HOPS.bob.address), numbers: [FIRST] },
      { isAddress, servers: at(CARL.address), numbers: [SECOND] },
    ]);
    expect(opened.addressOf('abcdef')).toBe('sip:abcdef@192.0.2.1:5060');
    expect((await phone(CARL).callUs('abcdef')).reported).toContain('answered');
    expect(calls).toHaveLength(1);
    await opened.close();
  });
});

describe('a caller without a fixed address', () => {
  const TRUNK = [{ servers: at(HOPS.bob.address), numbers: [FIRST] }];

  it('comes in with a proof, talks and hangs up', async () => {
    const { wire, opened, calls, phone } = await openTrunks(TRUNK, { pbx: 'secret' });
    const eve = phone(HOPS.eve, 'secret');
    const placed = await eve.callUs(FIRST);
    expect(placed.reported).toContain('answered');
    expect(calls.map(({ call }) => call.to)).toEqual([FIRST]);
    expect(wire.said.startsWith('INVITE 401 ACK INVITE 100')).toBe(true);
    placed.leg().bye();
    await wire.clock.advanceBy(2000);
    expect(calls[0]?.call.end?.cause).toBe('hangup');
    expect(dialogs(eve.agent)).toBe(0);
    await opened.close();
  });

  it.each([
    ['with a wrong password', 'wrong', FIRST, ['401']],
    ['who proves nothing', undefined, FIRST, ['401']],
    ['to a number that is none of ours', 'secret', '+12025550000', []],
  ])('%s does not', async (_why, password, to, answers) => {
    const { wire, opened, calls, phone } = await openTrunks(TRUNK, { pbx: 'secret' });
    await phone(HOPS.eve, password).callUs(to);
    const said = wire.log.filter(({ from }) => from === HOPS.ann.address).map(({ what }) => what);
    expect([...new Set(said)]).toEqual(answers);
    expect(calls).toEqual([]);
    await opened.close();
  });

  it('gets an answer only to an INVITE, and none at all without callers in the settings', async () => {
    for (const callers of [{ pbx: 'secret' }, {}]) {
      const { wire, opened, phone } = await openTrunks(TRUNK, callers);
      const eve = phone(HOPS.eve, 'secret');
      for (const method of ['OPTIONS', 'REGISTER', 'BYE', ...('pbx' in callers ? [] : ['INVITE'])]) {
        const uri = `sip:${FIRST}@192.0.2.1`;
        eve.agent.request({
          method,
          uri,
          from: '<sip:e@e>',
          to: `<${uri}>`,
          hops: [HOPS.ann],
          onFinal: () => undefined,
        });
      }
      await wire.clock.advanceBy(5000);
      expect(wire.log.filter(({ from }) => from === HOPS.ann.address)).toEqual([]);
      await opened.close();
    }
  });

  it("cannot reuse another caller's proof, and is ignored after many wrong attempts", async () => {
    const { wire, opened, calls, phone } = await openTrunks(TRUNK, { pbx: 'secret' });
    await phone(HOPS.eve, 'secret').callUs(FIRST);
    expect(calls).toHaveLength(1);
    const proved = messageBytes(wire.last('INVITE'));
    for (let n = 0; n < 12; n++) {
      const copy = messageOf(proved) as SipRequest;
      copy.headers.set('via', `SIP/2.0/UDP 203.0.113.9:5060;branch=z9hG4bKcopy${String(n)};rport`);
      copy.headers.set('call-id', `copy${String(n)}`);
      wire.send(messageBytes(copy), HOPS.eve, HOPS.ann);
      await wire.clock.advanceBy(100);
    }
    expect(calls).toHaveLength(1);
    // One to the first INVITE; then one each until it is enough.
    expect(wire.times('401')).toHaveLength(1 + 10);
    await opened.close();
  });
});
