import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from 'vitest';
import { type Client, Clients } from '../../../src/daemon/http/clients.js';
import { House, PUBLIC_KEY } from '../house.js';

const PROXIES = ['127.0.0.1', '10.0.0.0/8', 'fd00::/8'];

/** A request as Node gives it: the peer's address and headers. */
function request(peer: string, headers: Record<string, string> = {}): IncomingMessage {
  const socket = Object.assign(new EventEmitter(), { remoteAddress: peer });
  return { socket, headers: { host: 'inside:8080', ...headers } } as unknown as IncomingMessage;
}

function found(
  peer: string,
  headers: Record<string, string>,
  header: 'x-forwarded-for' | 'forwarded' = 'x-forwarded-for',
): Client {
  return new Clients({ trustedProxies: PROXIES, forwardedHeader: header }).of(request(peer, headers));
}

describe('the client behind proxies', () => {
  it.each<[what: string, peer: string, header: string, address: string]>([
    ['one proxy', '127.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['a proxy over a socket of both families', '::ffff:127.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['two proxies', '127.0.0.1', '203.0.113.9, 10.1.2.3', '203.0.113.9'],
    ['what the client made up, to the left of it', '127.0.0.1', '1.1.1.1, 127.0.0.1, 203.0.113.9', '203.0.113.9'],
    ['a made-up trusted address', '127.0.0.1', '10.9.9.9, 203.0.113.9, 10.1.2.3', '203.0.113.9'],
    ['none but proxies', '127.0.0.1', '10.0.0.7', '10.0.0.7'],
    ['IPv6', '127.0.0.1', '2001:db8::7', '2001:db8::7'],
    ['IPv6 with a port', '127.0.0.1', '[2001:db8::7]:4711', '2001:db8::7'],
    ['IPv4 with a port', '127.0.0.1', '203.0.113.9:4711', '203.0.113.9'],
    ['a proxy of IPv6', 'fd00::1', '203.0.113.9', '203.0.113.9'],
    ['something that is no address', '127.0.0.1', '203.0.113.9, unknown', '127.0.0.1'],
    ['a script', '127.0.0.1', '<script>', '127.0.0.1'],
    ['an empty header', '127.0.0.1', ' , ,', '127.0.0.1'],
    ['nobody whom we trust', '198.51.100.2', '203.0.113.9', '198.51.100.2'],
  ])('by X-Forwarded-For: %s', (_, peer, header, address) => {
    expect(found(peer, { 'x-forwarded-for': header }).address).toBe(address);
  });

  it.each<[what: string, header: string, expected: Partial<Client>]>([
    [
      'one element',
      'for=203.0.113.9;proto=https;host=calls.test',
      { address: '203.0.113.9', protocol: 'https', host: 'calls.test' },
    ],
    ['IPv6, quoted', 'For="[2001:db8::7]:4711"', { address: '2001:db8::7' }],
    ['quoted separators', 'for=203.0.113.9;by="a,b;c";proto=https', { address: '203.0.113.9', protocol: 'https' }],
    [
      'two proxies',
      'for=203.0.113.9;host=calls.test, for=10.0.0.7;host=inner',
      { address: '203.0.113.9', host: 'calls.test' },
    ],
    [
      'what the client made up',
      'for=1.1.1.1;host=evil.test, for=203.0.113.9;host=calls.test',
      { address: '203.0.113.9', host: 'calls.test' },
    ],
    ['a hidden client', 'for=_hidden, for=10.0.0.7', { address: '10.0.0.7' }],
    ['an unknown client', 'for=unknown', { address: '127.0.0.1', viaProxy: true }],
    ['no for', 'proto=https', { address: '127.0.0.1', protocol: 'http' }],
    ['a broken quote', 'for="203.0.113.9', { address: '127.0.0.1' }],
  ])('by Forwarded: %s', (_, header, expected) => {
    expect(found('127.0.0.1', { forwarded: header }, 'forwarded')).toMatchObject(expected);
  });

  it('takes scheme and host from a trusted proxy only, the last of several', () => {
    const headers = {
      'x-forwarded-for': '203.0.113.9',
      'x-forwarded-proto': 'http, https',
      'x-forwarded-host': 'calls.test',
    };
    expect(found('127.0.0.1', headers)).toMatchObject({ protocol: 'https', host: 'calls.test', viaProxy: true });
    expect(found('198.51.100.2', headers)).toMatchObject({ protocol: 'http', host: 'inside:8080', viaProxy: false });
    expect(found('127.0.0.1', { ...headers, 'x-forwarded-proto': 'javascript' }).protocol).toBe('http');
  });

  it('ignores the header that the proxies do not set: a client may have sent it', () => {
    const headers = { 'x-forwarded-for': '203.0.113.9', forwarded: 'for=1.1.1.1' };
    expect(found('127.0.0.1', headers).address).toBe('203.0.113.9');
    expect(found('127.0.0.1', headers, 'forwarded').address).toBe('1.1.1.1');
    expect(found('127.0.0.1', { forwarded: 'for=1.1.1.1' })).toMatchObject({ viaProxy: false, isForwarded: true });
  });

  it('reads no more than fifty hops', () => {
    const hops = Array.from({ length: 10_000 }, () => '10.0.0.1').join(', ');
    expect(found('127.0.0.1', { 'x-forwarded-for': `203.0.113.9, ${hops}` }).address).toBe('10.0.0.1');
  });

  it('tells once of a proxy nearby that nobody trusts', () => {
    const strangers: string[] = [];
    const clients = new Clients({ trustedProxies: [], forwardedHeader: 'x-forwarded-for' }, (one) =>
      strangers.push(one),
    );
    clients.of(request('8.8.8.8', { 'x-forwarded-for': '1.1.1.1' }));
    for (let time = 0; time < 3; time++) clients.of(request('127.0.0.1', { 'x-forwarded-for': '203.0.113.9' }));
    expect(strangers).toEqual(['127.0.0.1']);
  });
});

describe('a daemon that trusts a proxy on its machine', () => {
  const visitor = (origin: string, more: Record<string, string> = {}) => ({
    method: 'POST',
    headers: { authorization: PUBLIC_KEY, origin, 'x-forwarded-for': '203.0.113.9', ...more },
  });

  it('lets the page of the forwarded host talk, and no other', async () => {
    const house = await House.open({ trustedProxies: ['127.0.0.1'] });
    try {
      const forwarded = { 'x-forwarded-host': 'calls.test', 'x-forwarded-proto': 'https' };
      const token = (origin: string, more = {}) => house.ask('/sessions/token', visitor(origin, more));
      expect((await token('https://calls.test', forwarded)).status).toBe(200);
      expect((await token('https://evil.test', forwarded)).status).toBe(403);
      expect((await house.request('/metrics', { headers: { 'x-forwarded-for': '127.0.0.1' } })).status).toBe(401);
      const client = house.connect({ origin: 'https://calls.test', 'x-forwarded-for': '203.0.113.9', ...forwarded });
      expect(await client.refused).toBeNull();
      // Without an Origin only programs on this machine are the operator's own.
      expect(await house.connect({ 'x-forwarded-for': '203.0.113.9' }).refused).toBe(403);
      expect(await house.connect().refused).toBeNull();
    } finally {
      await house.close();
    }
  });

  it('lets pages of its public address talk without trusting anybody', async () => {
    const house = await House.open({ publicUrl: 'https://calls.test' });
    try {
      expect((await house.ask('/sessions/token', visitor('https://calls.test'))).status).toBe(200);
      expect((await house.ask('/sessions/token', visitor('https://evil.test'))).status).toBe(403);
    } finally {
      await house.close();
    }
  });
});
