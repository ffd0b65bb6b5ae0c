import { describe, expect, it } from 'vitest';
import type { Hop } from '../../../../src/telephony/sip/hop.js';
import type { SipRequest } from '../../../../src/telephony/sip/message.js';
import { responseTo } from '../../../../src/telephony/sip/respond.js';
import { KeepAlive } from '../../../../src/telephony/sip/trunk/keep-alive.js';
import { TrunkRegistration, type RegistrationState } from '../../../../src/telephony/sip/trunk/registration.js';
import { resolveServer, type ServerAddress } from '../../../../src/telephony/sip/trunk/resolver.js';
import { Servers } from '../../../../src/telephony/sip/trunk/servers.js';
import { HOPS, phoneAt, Puppet, Wire } from '../support.js';

const none = (): Promise<never> => Promise.reject(new Error('none'));

const NAMES = { naptr: none, srv: none, addresses: none };

function registered(answer: (request: SipRequest, count: number) => ReturnType<typeof responseTo> | null) {
  const wire = new Wire();
  const ann = phoneAt(wire, HOPS.ann, 1, { user: 'parley', password: 'secret' });
  let count = 0;
  const registrar = new Puppet(wire, HOPS.bob, (message, me, from) => {
    const response = message.kind === 'request' ? answer(message, ++count) : null;
    if (response !== null) me.say(response, from);
  });
  const states: RegistrationState[] = [];
  let tokens = 0;
  const registration = new TrunkRegistration({
    clock: wire.clock,
    agent: ann.agent,
    registrar: 'sip:example.com',
    address: '<sip:parley@example.com>',
    token: () => `r${String(++tokens)}`,
    chance: () => 0.5,
    hops: () => [HOPS.bob],
    onState: (state) => states.push(state),
  });
  registration.start();
  return { wire, registration, registrar, states, kinds: () => states.map(({ state }) => state).join(' ') };
}

const ok = (request: SipRequest, expires: number) =>
  responseTo(request, 200, {
    toTag: 'r',
    headers: [['contact', `<sip:parley@192.0.2.1:5060>;expires=${String(expires)}`]],
  });

describe('a registration', () => {
  it('is given up, and taken again later', async () => {
    const { wire, registration, registrar, kinds } = registered((request) => ok(request, 600));
    await wire.clock.advanceBy(100);
    registration.stop('standby');
    await wire.clock.advanceBy(1_000_000);
    expect(registrar.requests('REGISTER').map(({ headers }) => headers.get('expires'))).toEqual(['600', '0']);
    registration.start();
    registration.start();
    await wire.clock.advanceBy(100);
    expect(registrar.requests('REGISTER').at(-1)?.headers.get('expires')).toBe('600');
    registration.stop('ended');
    expect(kinds()).toBe('registering registered standby registering registered ended');
  });

  it('proves itself, is refreshed in time with the same Call-ID, and ended', async () => {
    const { wire, registration, registrar, states } = registered((request, count) =>
      count === 1
        ? responseTo(request, 401, { headers: [['www-authenticate', 'Digest realm="a", nonce="n", qop="auth"']] })
        : ok(request, 120),
    );
    await wire.clock.advanceBy(100);
    expect(states.at(-1)).toEqual({ state: 'registered', seconds: 120 });
    await wire.clock.advanceBy(100_000);
    const asked = registrar.requests('REGISTER');
    expect(asked).toHaveLength(3);
    expect(new Set(asked.map(({ headers }) => headers.get('call-id'))).size).toBe(1);
    const sequences = asked.map(({ headers }) => Number.parseInt(headers.get('cseq') ?? '', 10));
    expect(sequences).toEqual(sequences.toSorted((one, other) => one - other));
    registration.stop('ended');
    registration.stop('ended');
    await wire.clock.advanceBy(100);
    expect(registrar.requests('REGISTER').at(-1)?.headers.get('expires')).toBe('0');
  });

  it('asks for longer where the registrar wants it: 423', async () => {
    const { wire, registrar, kinds } = registered((request) =>
      request.headers.get('expires') === '600'
        ? responseTo(request, 423, { headers: [['min-expires', '3600']] })
        : ok(request, 3600),
    );
    await wire.clock.advanceBy(100);
    expect(registrar.requests('REGISTER').at(-1)?.headers.get('expires')).toBe('3600');
    expect(kinds()).toBe('registering registering registered');
  });

  it('that fails is tried again, at growing intervals', async () => {
    const { wire, registrar, states } = registered((request) => responseTo(request, 403));
    await wire.clock.advanceBy(60_000);
    expect(states.find(({ state }) => state === 'failed')).toEqual({ state: 'failed', reason: '403 Forbidden' });
    const count = registrar.requests('REGISTER').length;
    expect(count).toBeGreaterThan(2);
    expect(count).toBeLessThan(6);
  });
});

describe('a registration over a connection', () => {
  it('is made anew when the connection is lost', async () => {
    const wire = new Wire();
    const { agent } = phoneAt(wire, HOPS.ann, 1);
    const tcp: Hop = { ...HOPS.bob, protocol: 'TCP' };
    const registrar = new Puppet(wire, HOPS.bob, (message, me, from) => {
      if (message.kind === 'request') me.say(ok(message, 600), from);
    });
    const registration = new TrunkRegistration({
      clock: wire.clock,
      agent,
      registrar: 'sip:example.com',
      address: '<sip:parley@example.com>',
      token: () => 'r1',
      chance: () => 0.5,
      hops: () => [tcp],
      onState: () => undefined,
    });
    registration.start();
    await wire.clock.advanceBy(100);
    registration.connectionLost({ ...tcp, port: 9 });
    await wire.clock.advanceBy(5000);
    expect(registrar.requests('REGISTER')).toHaveLength(1);
    registration.connectionLost(tcp);
    await wire.clock.advanceBy(5000);
    expect(registrar.requests('REGISTER')).toHaveLength(2);
    registration.stop('ended');
  });
});

describe('servers', () => {
  it('are found by SRV, in the order of their priorities', async () => {
    const asked: string[] = [];
    const names = {
      naptr: none,
      srv: (name: string) => {
        asked.push(name);
        return Promise.resolve([
          { name: 'b.example.com', port: 5070, priority: 20, weight: 0 },
          { name: 'a.example.com', port: 5060, priority: 10, weight: 5 },
        ]);
      },
      addresses: (name: string) => Promise.resolve(name.startsWith('a') ? ['192.0.2.1', '2001:db8::1'] : ['192.0.2.2']),
    };
    const hops = await resolveServer({ protocol: 'TCP', host: 'example.com', port: null }, names, () => 0.5);
    expect(asked).toEqual(['_sip._tcp.example.com']);
    expect(hops.map(({ address, port }) => `${address} ${String(port)}`)).toEqual([
      '192.0.2.1 5060',
      '2001:db8::1 5060',
      '192.0.2.2 5070',
    ]);
    expect(await resolveServer({ protocol: 'TLS', host: '2001:db8::7', port: null }, NAMES, () => 0)).toEqual([
      { protocol: 'TLS', address: '2001:db8::7', port: 5061 },
    ]);
  });

  it('are found by NAPTR where neither a transport nor a port is named', async () => {
    const asked: string[] = [];
    const record = (order: number, service: string, replacement: string, flags = 's') => {
      return { order, preference: 10, flags, service, replacement };
    };
    const names = {
      naptr: (name: string) => {
        asked.push(`naptr ${name}`);
        return Promise.resolve([
          record(90, 'SIP+D2T', '_sip._tcp.example.com'),
          record(50, 'SIPS+D2T', '_sips._tcp.example.com', 'S'),
          record(10, 'SIP+D2W', '_sip._ws.example.com'),
          record(10, 'E2U+sip', '', 'u'),
        ]);
      },
      srv: (name: string) => {
        asked.push(name);
        return Promise.resolve([
          { name: 'a.example.com', port: name.includes('sips') ? 5061 : 5060, priority: 1, weight: 1 },
        ]);
      },
      addresses: () => Promise.resolve(['192.0.2.1']),
    };
    const found = async (server: Partial<ServerAddress>) => {
      asked.length = 0;
      const hops = await resolveServer(
        { protocol: null, host: 'example.com', port: null, ...server },
        names,
        () => 0.5,
      );
      return hops.map(({ protocol, port }) => `${protocol} ${String(port)}`);
    };
    expect(await found({})).toEqual(['TLS 5061', 'TCP 5060']);
    expect(asked).toEqual(['naptr example.com', '_sips._tcp.example.com', '_sip._tcp.example.com']);
    expect(await found({ isSecure: true })).toEqual(['TLS 5061']);
    expect(await found({ protocol: 'TCP' })).toEqual(['TCP 5060']);
    expect(asked).toEqual(['_sip._tcp.example.com']);
    expect(await found({ port: 5080 })).toEqual(['UDP 5080']);
    expect(asked).toEqual([]);
  });

  it('without NAPTR are those of the first transport that has SRV records, else of the name itself', async () => {
    const names = (known: string) => ({
      naptr: none,
      srv: (name: string) =>
        name === known ? Promise.resolve([{ name: 'a.example.com', port: 5070, priority: 1, weight: 1 }]) : none(),
      addresses: () => Promise.resolve(['192.0.2.1']),
    });
    const server = { protocol: null, host: 'example.com', port: null };
    const hop = { address: '192.0.2.1', port: 5070 };
    expect(await resolveServer(server, names('_sip._tcp.example.com'), () => 0)).toEqual([{ ...hop, protocol: 'TCP' }]);
    expect(await resolveServer(server, names(''), () => 0)).toEqual([{ ...hop, protocol: 'UDP', port: 5060 }]);
  });

  it('that do not answer come last, until they do', async () => {
    const wire = new Wire();
    const ann = phoneAt(wire, HOPS.ann, 1);
    let isThere = false;
    new Puppet(wire, HOPS.bob, (message, me, from) => {
      if (isThere && message.kind === 'request') me.say(responseTo(message, 404), from);
    });
    const other = { ...HOPS.bob, port: 5080 };
    new Puppet(wire, other, (message, me, from) => {
      if (message.kind === 'request') me.say(responseTo(message, 200), from);
    });
    const { clock } = wire;
    const address = { protocol: 'UDP', host: '192.0.2.2' } as const;
    const changes: string[] = [];
    const servers = new Servers({
      clock,
      names: NAMES,
      chance: () => 0,
      onChange: (hop, answers) => changes.push(`${String(hop?.port)} ${String(answers)}`),
      addresses: [
        { ...address, port: 5060 },
        { ...address, port: 5080 },
      ],
    });
    await servers.open();
    const keepAlive = new KeepAlive({
      clock,
      agent: ann.agent,
      servers,
      address: '<sip:parley@example.com>',
      target: 'sip:example.com',
      intervalMs: 60_000,
    });
    keepAlive.start();
    expect(servers.hops[0]?.port).toBe(5060);
    await clock.advanceBy(40_000);
    expect([servers.hops[0]?.port, servers.states.filter(({ answers }) => answers === false).length]).toEqual([
      5080, 1,
    ]);
    await clock.advanceBy(120_000);
    // Told once, however long it lasts.
    expect(changes).toEqual(['5060 false']);
    isThere = true;
    await clock.advanceBy(60_000);
    expect(changes).toEqual(['5060 false', '5060 true']);
    expect(servers.states.map(({ last }) => last?.status)).toEqual([404, 200]);
    expect([servers.hops[0]?.port, servers.states.filter(({ answers }) => answers === false).length]).toEqual([
      5060, 0,
    ]);
    keepAlive.close();
    servers.close();
    ann.agent.close();
    expect(clock.pending).toBe(0);
  });
});
