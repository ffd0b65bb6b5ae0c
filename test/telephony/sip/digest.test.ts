import { describe, expect, it } from 'vitest';
import {
  type Challenge,
  DigestClient,
  digestResponse,
  parseChallenge,
  parseFields,
} from '../../../src/telephony/sip/digest.js';
import { Headers } from '../../../src/telephony/sip/headers.js';
import type { SipRequest, SipResponse } from '../../../src/telephony/sip/message.js';

const NO_BODY = new Uint8Array(0);

describe('the proof of a digest', () => {
  // The example of RFC 2617, 3.5, and the two of RFC 7616, 3.9.1: the same arithmetic as SIP's.
  it.each([
    [
      { realm: 'testrealm@host.com', nonce: 'dcd98b7102dd2f0e8b11d0f600bfb0c093', algorithm: 'MD5' as const },
      { user: 'Mufasa', password: 'Circle Of Life', cnonce: '0a4f113b' },
      '6629fae49393a05397450978507c4ef1',
    ],
    [
      {
        realm: 'http-auth@example.org',
        nonce: '7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v',
        algorithm: 'MD5' as const,
      },
      { user: 'Mufasa', password: 'Circle of Life', cnonce: 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ' },
      '8ca523f5e9506fed4657c9700eebdbec',
    ],
    [
      {
        realm: 'http-auth@example.org',
        nonce: '7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v',
        algorithm: 'SHA-256' as const,
      },
      { user: 'Mufasa', password: 'Circle of Life', cnonce: 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ' },
      '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1',
    ],
  ])('%o', (asked, who, response) => {
    const challenge: Challenge = { ...asked, opaque: null, qop: 'auth', stale: false };
    expect(digestResponse({ ...who, challenge, method: 'GET', uri: '/dir/index.html', count: 1, body: NO_BODY })).toBe(
      response,
    );
  });
});

describe('a challenge', () => {
  it.each(['Basic realm="a"', 'Digest realm="a"', 'Digest realm="a", nonce="b", algorithm=SHA-512', 'Digest nonce="b'])(
    '%s cannot be used',
    (text) => {
      expect(parseChallenge(text)).toBeNull();
    },
  );

  it('may leave out what is usual', () => {
    expect(parseChallenge('Digest realm="a b, c", nonce="n"')).toEqual({
      realm: 'a b, c',
      nonce: 'n',
      opaque: null,
      algorithm: 'MD5',
      qop: null,
      stale: false,
    });
  });
});

describe('who proves', () => {
  const client = (): DigestClient => new DigestClient({ user: 'parley', password: 'secret' }, () => 'cn');
  const request = (): SipRequest => ({
    kind: 'request',
    method: 'INVITE',
    uri: 'sip:x@example.com',
    headers: new Headers(),
    body: NO_BODY,
  });
  const asks = (status: number, ...challenges: string[]): SipResponse => ({
    kind: 'response',
    status,
    reason: '',
    body: NO_BODY,
    headers: new Headers(
      challenges.map((text) => [status === 407 ? 'proxy-authenticate' : 'www-authenticate', text] as const),
    ),
  });

  it('takes the best algorithm, counts each use of a nonce, and signs for each realm', () => {
    const digest = client();
    const first = request();
    expect(
      digest.learn(
        asks(
          401,
          'Digest realm="a", nonce="1", qop="auth"',
          'Digest realm="a", nonce="2", qop="auth", algorithm=SHA-256',
        ),
        first,
      ),
    ).toBe(true);
    expect(digest.learn(asks(407, 'Digest realm="p", nonce="3"'), first)).toBe(true);
    digest.sign(first);
    const second = request();
    digest.sign(second);
    const fields = parseFields(second.headers.get('authorization') ?? '');
    expect([fields?.get('algorithm'), fields?.get('nc'), fields?.get('nonce')]).toEqual(['SHA-256', '00000002', '2']);
    expect(parseFields(second.headers.get('proxy-authorization') ?? '')?.get('realm')).toBe('p');
  });

  it('gives up where what it proved is not good enough, and not where the nonce was stale', () => {
    const digest = client();
    const tried = request();
    digest.learn(asks(401, 'Digest realm="a", nonce="1", qop="auth"'), tried);
    digest.sign(tried);
    expect(digest.learn(asks(401, 'Digest realm="a", nonce="2", qop="auth"'), tried)).toBe(false);
    expect(digest.learn(asks(401, 'Digest realm="a", nonce="3", qop="auth", stale=true'), tried)).toBe(true);
  });

  it('proves anew to a server that has forgotten its nonce', () => {
    const digest = client();
    digest.learn(asks(401, 'Digest realm="a", nonce="1", qop="auth"'), request());
    digest.sign(request());
    const later = request();
    digest.sign(later);
    expect(digest.learn(asks(401, 'Digest realm="a", nonce="9", qop="auth"'), later)).toBe(true);
  });
});
