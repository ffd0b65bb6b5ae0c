import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { type Challenge, DigestClient, digestResponse, parseChallenge } from '../../../src/telephony/sip/digest.js';
import { DigestServer } from '../../../src/telephony/sip/digest-server.js';
import { Headers } from '../../../src/telephony/sip/headers.js';
import { NO_BODY, type SipRequest } from '../../../src/telephony/sip/message.js';
import { quoted } from '../../../src/telephony/sip/scan.js';

const ADDRESS = '203.0.113.9';

function server(most?: number): { clock: VirtualClock; digest: DigestServer; challenge: (at?: number) => Challenge } {
  const clock = new VirtualClock();
  let tokens = 0;
  const digest = new DigestServer({
    clock,
    realm: 'ours',
    secret: 'of this process',
    token: () => `t${String(++tokens)}`,
    passwordOf: (user) => (user === 'pbx' ? 'secret' : null),
    ...(most !== undefined && { most }),
  });
  const challenge = (at = 0): Challenge => parseChallenge(digest.challenges(ADDRESS, false)[at] ?? '')!;
  return { clock, digest, challenge };
}

function invite(authorization: string): SipRequest {
  const headers = new Headers([['authorization', authorization]]);
  return { kind: 'request', method: 'INVITE', uri: 'sip:desk@ours', headers, body: NO_BODY };
}

/** A proof as clients send it, some of it otherwise. */
function proof(challenge: Challenge, changes: Record<string, string> = {}, password = 'secret'): SipRequest {
  const count = Number.parseInt(changes['nc'] ?? '1', 16);
  const user = changes['username'] ?? 'pbx';
  const asked = {
    challenge,
    user,
    password,
    method: 'INVITE',
    uri: 'sip:desk@ours',
    count,
    cnonce: 'c',
    body: NO_BODY,
  };
  const fields = {
    username: user,
    realm: 'ours',
    nonce: challenge.nonce,
    uri: 'sip:desk@ours',
    response: digestResponse(asked),
    algorithm: challenge.algorithm,
    cnonce: 'c',
    qop: 'auth',
    nc: '00000001',
    ...changes,
  };
  return invite(
    `Digest ${Object.entries(fields)
      .map(([name, value]) => `${name}=${quoted(value)}`)
      .join(', ')}`,
  );
}

describe('a proof', () => {
  it.each([0, 1])('is taken in either algorithm (%i)', (at) => {
    const { digest, challenge } = server();
    expect(challenge(at).algorithm).toBe(['SHA-256', 'MD5'][at]);
    expect(digest.verify(proof(challenge(at)), ADDRESS)).toEqual({ kind: 'proved', user: 'pbx' });
  });

  it('of our own client is taken', () => {
    const { digest } = server();
    const client = new DigestClient({ user: 'pbx', password: 'secret' }, () => 'x');
    const request = invite('');
    request.headers.remove('authorization');
    const headers = new Headers(digest.challenges(ADDRESS, false).map((value) => ['www-authenticate', value]));
    client.learn({ kind: 'response', status: 401, reason: '', headers, body: NO_BODY }, request);
    client.sign(request);
    expect(digest.verify(request, ADDRESS)).toEqual({ kind: 'proved', user: 'pbx' });
  });

  it.each([
    ['of another password', {}, 'wrong', 'guess'],
    ['of somebody unknown', { username: 'nobody' }, 'wrong', 'secret'],
    ['for another address of ours', { uri: 'sip:other@ours' }, 'wrong', 'secret'],
    ['without a count', { nc: '' }, 'wrong', 'secret'],
    ['as RFC 2069 had it, which anybody could repeat', { qop: '' }, 'wrong', 'secret'],
    ['with a nonce that we did not make', { nonce: 'abc.t1.0123' }, 'wrong', 'secret'],
    ['to another realm', { realm: 'theirs' }, 'none', 'secret'],
  ])('%s is none', (_why, changes, kind, password) => {
    const { digest, challenge } = server();
    expect(digest.verify(proof(challenge(), changes, password), ADDRESS).kind).toBe(kind);
  });

  it('is good for one address, and each count once', () => {
    const { digest, challenge } = server();
    const asked = challenge();
    expect(digest.verify(proof(asked), '203.0.113.10').kind).toBe('wrong');
    const kinds = ['00000002', '00000002', '00000001', '00000003'].map(
      (nc) => digest.verify(proof(asked, { nc }), ADDRESS).kind,
    );
    expect(kinds).toEqual(['proved', 'replayed', 'replayed', 'proved']);
  });

  it('with an old nonce is stale, and so is one that has been forgotten', async () => {
    const { clock, digest, challenge } = server(2);
    const old = challenge();
    await clock.advanceBy(299_000);
    expect(digest.verify(proof(old), ADDRESS).kind).toBe('proved');
    await clock.advanceBy(2000);
    expect(digest.verify(proof(old, { nc: '00000002' }), ADDRESS).kind).toBe('stale');
    const three = [challenge(), challenge(), challenge()];
    for (const one of three) expect(digest.verify(proof(one), ADDRESS).kind).toBe('proved');
    expect(digest.verify(proof(three[0]!), ADDRESS).kind).toBe('stale');
  });
});
