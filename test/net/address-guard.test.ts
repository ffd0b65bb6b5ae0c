import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { describe, expect, it } from 'vitest';
import { ParleyError } from '../../src/base/errors.js';
import { AddressGuard } from '../../src/net/address-guard.js';

const refusedWith = (reason: RegExp): unknown =>
  expect.objectContaining({ code: 'NET_ADDRESS_REFUSED', message: expect.stringMatching(reason) as string });

function refusal(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  return 'nothing was refused';
}

describe('AddressGuard.check', () => {
  const guard = new AddressGuard();

  it.each(['http://example.com/', 'https://example.com:8443/hook?x=1', 'http://8.8.8.8/', 'http://[2606:4700::1]/x'])(
    'lets %s through',
    (text) => {
      expect(guard.check(text)).toEqual({ url: new URL(text), exempt: false });
    },
  );

  it.each([
    'http://127.0.0.1/',
    'http://127.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0x7f.0.0.1/',
    'http://0177.0.0.1/',
    'http://017700000001/',
    'http://127.0.0.1./',
    'http://１２７.０.０.１/',
    'http://127。0。0。1/',
    'http://①②⑦.0.0.1/',
    'http://%31%32%37.0.0.1/',
    'http://0/',
    'http://0.0.0.0:80/',
    'http://169.254.169.254/latest/meta-data/',
    'http://2852039166/',
    'http://[::1]/',
    'http://[::]/',
    'http://[0:0:0:0:0:0:0:1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://[::127.0.0.1]/',
    'http://[64:ff9b::127.0.0.1]/',
    'http://[2002:7f00:1::]/',
    'http://[fe80::1]/',
    'http://[fd00:ec2::254]/',
    'http://10.0.0.1:22/',
  ])('refuses the closed address %s', (text) => {
    expect(refusal(() => guard.check(text))).toEqual(refusedWith(/public internet/));
  });

  it.each([
    'http://localhost/',
    'http://LOCALHOST:8080/',
    'http://localhost./',
    'http://api.localhost/',
    'http://router/',
    'http://printer.local/',
    'http://metadata.google.internal/',
    'http://metadata.google.internal./',
    'http://nas.home.arpa/',
  ])('refuses the local name %s', (text) => {
    expect(refusal(() => guard.check(text))).toEqual(refusedWith(/local network/));
  });

  it.each([
    'ftp://example.com/',
    'file:///etc/passwd',
    'gopher://example.com/',
    'ws://example.com/',
    'data:text/plain,x',
  ])('refuses the scheme of %s', (text) => {
    expect(refusal(() => guard.check(text))).toEqual(refusedWith(/not allowed/));
  });

  it('takes other schemes where the caller does', () => {
    expect(guard.check('wss://example.com/llm', ['ws:', 'wss:']).url.protocol).toBe('wss:');
  });

  it.each(['http://user:secret@example.com/', 'http://user@example.com/', 'http://:secret@example.com/'])(
    'refuses credentials in %s',
    (text) => {
      const error = refusal(() => guard.check(text));
      expect(error).toEqual(refusedWith(/user name or a password/));
      expect(String(error)).not.toContain('secret');
    },
  );

  it.each(['', 'nonsense', 'http://', 'http://[::1', 'http://999.1.1.1/', '//example.com'])('refuses %j', (text) => {
    expect(refusal(() => guard.check(text))).toEqual(refusedWith(/not an address/));
  });

  it('exempts a listed origin with all its paths, and nothing else on that host', () => {
    const listing = new AddressGuard({ allowUrls: ['http://127.0.0.1:9000'] });
    expect(listing.check('http://127.0.0.1:9000/any?thing=1').exempt).toBe(true);
    expect(refusal(() => listing.check('http://127.0.0.1:9001/'))).toBeInstanceOf(ParleyError);
    expect(refusal(() => listing.check('https://127.0.0.1:9000/'))).toBeInstanceOf(ParleyError);
    expect(refusal(() => listing.check('http://user:x@127.0.0.1:9000/'))).toBeInstanceOf(ParleyError);
  });

  it('exempts a listed address exactly', () => {
    const listing = new AddressGuard({ allowUrls: ['http://127.0.0.1:9000/hook?key=1'] });
    expect(listing.check('http://127.0.0.1:9000/hook?key=1#part').exempt).toBe(true);
    for (const other of ['/hook', '/hook?key=2', '/hook/?key=1', '/', '/hook/../admin']) {
      expect(refusal(() => listing.check(`http://127.0.0.1:9000${other}`))).toBeInstanceOf(ParleyError);
    }
  });
});

describe('AddressGuard.lookup', () => {
  const resolveTo =
    (...addresses: LookupAddress[]): LookupFunction =>
    (_hostname, _options, callback) => {
      callback(null, addresses);
    };
  const good = { address: '93.184.216.34', family: 4 };
  const good6 = { address: '2606:4700::1', family: 6 };
  const bad = { address: '127.0.0.1', family: 4 };

  function ask(guard: AddressGuard, all: boolean): Promise<unknown> {
    return new Promise((resolve) => {
      guard.lookup('example.com', { all }, (error, address, family) => {
        resolve(error ?? (all ? address : { address, family }));
      });
    });
  }

  it('gives the very answer that it checked', async () => {
    const guard = new AddressGuard({ lookup: resolveTo(good6, good) });
    expect(await ask(guard, true)).toEqual([good6, good]);
    expect(await ask(guard, false)).toEqual(good6);
  });

  it.each([true, false])('refuses a name when any of its addresses is closed (all: %s)', async (all) => {
    const guard = new AddressGuard({ lookup: resolveTo(good, bad) });
    const error = await ask(guard, all);
    expect(error).toEqual(refusedWith(/public internet/));
    expect(String(error)).not.toContain('127.0.0.1');
  });

  it('refuses a name without addresses, and hands on what the resolver says', async () => {
    expect(await ask(new AddressGuard({ lookup: resolveTo() }), true)).toEqual(refusedWith(/no address/));
    const failure = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
    const failing: LookupFunction = (_hostname, _options, callback) => {
      callback(failure, []);
    };
    expect(await ask(new AddressGuard({ lookup: failing }), true)).toBe(failure);
  });

  it('looks again for each connection, so a name that changes its mind is caught', async () => {
    const answers = [[good], [bad]];
    const guard = new AddressGuard({
      lookup: (_hostname, _options, callback) => {
        callback(null, answers.shift() ?? []);
      },
    });
    expect(await ask(guard, true)).toEqual([good]);
    expect(await ask(guard, true)).toEqual(refusedWith(/public internet/));
  });
});
