import { beforeEach, describe, expect, it } from 'vitest';
import { SignedUrls } from '../../../src/daemon/http/signed-urls.js';

const BASE = 'http://127.0.0.1:8080';

describe('SignedUrls', () => {
  let nowUnixMs = 1_700_000_000_000;
  const urls = new SignedUrls({ keys: [Buffer.alloc(32, 7)], nowUnixMs: () => nowUnixMs, base: () => BASE });
  const pathOf = (url: string): string => url.slice(BASE.length);

  beforeEach(() => {
    nowUnixMs = 1_700_000_000_000;
  });

  it('opens until it expires', () => {
    const url = urls.url('/calls/a%2Fb/recording', 60);
    expect(url).toMatch(
      /^http:\/\/127\.0\.0\.1:8080\/calls\/a%2Fb\/recording\?expires=1700000060&signature=[\w-]{43}$/,
    );
    expect(() => urls.check(pathOf(url))).not.toThrow();
    nowUnixMs += 59_999;
    expect(() => urls.check(pathOf(url))).not.toThrow();
    nowUnixMs += 1;
    expect(() => urls.check(pathOf(url))).toThrow('it has expired');
  });

  it('opens nothing else, and no longer', () => {
    const url = pathOf(urls.url('/calls/1/recording', 60));
    for (const changed of [
      url.replace('/1/', '/2/'),
      url.replace(/expires=\d+/, 'expires=1800000000'),
      url.replace(/expires=\d+/, 'expires=1700000060.0'),
      url.replace(/&signature=.*/, ''),
      url.replace(/signature=../, 'signature=AA'),
      '/calls/1/recording',
      '/calls/1/recording?expires=&signature=',
    ]) {
      // A number in another spelling is the same moment.
      if (changed.includes('.0')) expect(() => urls.check(changed)).not.toThrow();
      else expect(() => urls.check(changed), changed).toThrow('signature is missing or wrong');
    }
  });

  it('does not know the addresses of another key', () => {
    const other = new SignedUrls({ keys: [Buffer.alloc(32, 8)], nowUnixMs: () => nowUnixMs, base: () => BASE });
    expect(() => urls.check(pathOf(other.url('/a', 60)))).toThrow('signature is missing or wrong');
  });

  it('knows the addresses of other keys that it has, and signs with the first', () => {
    const next = new SignedUrls({
      keys: [Buffer.alloc(32, 8), Buffer.alloc(32, 7)],
      nowUnixMs: () => nowUnixMs,
      base: () => BASE,
    });
    expect(() => next.check(pathOf(urls.url('/a', 60)))).not.toThrow();
    expect(() => urls.check(pathOf(next.url('/a', 60)))).toThrow('signature is missing or wrong');
  });

  it('stands under the address that the request came to', () => {
    expect(urls.url('/a', 60, 'https://voice.example')).toMatch(/^https:\/\/voice\.example\/a\?expires=/);
  });
});
