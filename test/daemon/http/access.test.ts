import type { IncomingMessage } from 'node:http';
import { expect, it } from 'vitest';
import { Access, type Caller } from '../../../src/daemon/http/access.js';
import { Clients } from '../../../src/daemon/http/clients.js';

const access = new Access({
  keys: { find: () => null, get: () => null, latest: async () => null, list: () => [] },
  tokens: { redeem: async () => null },
  clients: new Clients({ trustedProxies: [], forwardedHeader: 'x-forwarded-for' }),
  publicUrl: null,
  allowedOrigins: [],
  allowMissingOrigin: null,
  ownPublicKeys: new Set(),
  loopback: true,
});

/** Whether a request may open a session, by the address of the server's end of its connection. */
function mayTalk(localAddress: string | undefined, headers: Record<string, string>): boolean {
  const socket = { localAddress, remoteAddress: '198.51.100.7' };
  const caller: Caller = access.callerOf({ headers, socket } as unknown as IncomingMessage);
  try {
    access.origin(caller);
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: 'AUTH_FORBIDDEN' });
    return false;
  }
}

it('trusts requests without an origin only on loopback, also on the server of an application', () => {
  const found = ['127.0.0.1', '::1', '::ffff:127.0.0.1', '192.0.2.1', '::ffff:192.0.2.1', undefined].map((address) =>
    mayTalk(address, { host: 'calls.example' }),
  );
  expect(found).toEqual([true, true, true, false, false, false]);
});

it('knows pages of its own origin by any name, but on loopback only by names of this machine', () => {
  const own = { host: 'calls.example', origin: 'https://calls.example' };
  expect([mayTalk('192.0.2.1', own), mayTalk('127.0.0.1', own)]).toEqual([true, false]);
  expect(mayTalk('127.0.0.1', { host: 'localhost:8080', origin: 'http://localhost:8080' })).toBe(true);
  expect(mayTalk('192.0.2.1', { ...own, origin: 'https://other.example' })).toBe(false);
});

it('says which setting permits programs without an origin', () => {
  const refusal = (headers: Record<string, string>, localAddress: string): unknown => {
    const socket = { localAddress, remoteAddress: '198.51.100.7' };
    try {
      access.origin(access.callerOf({ headers, socket } as unknown as IncomingMessage));
    } catch (error) {
      return error;
    }
    return null;
  };
  const proxied = { host: 'calls.example', 'x-forwarded-for': '198.51.100.9' };
  for (const [found, where] of [
    [refusal(proxied, '127.0.0.1'), 'not through a proxy'],
    [refusal({ host: 'calls.example' }, '192.0.2.1'), 'on loopback only'],
  ] as const) {
    expect(String(found)).toContain(where);
    expect(String(found)).toContain('PARLEY_ALLOW_MISSING_ORIGIN=true');
  }
});
