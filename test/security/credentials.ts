import { createHash } from 'node:crypto';
import { type House, PRIVATE_KEY, PUBLIC_KEY } from '../daemon/house.js';

/** An origin that may use the bound public key, and one that may use none. */
export const SHOP = 'https://shop.example';
export const STRANGER = 'https://stranger.example';

export interface Credential {
  name: string;
  headers: Readonly<Record<string, string>>;
}

/** Credentials that open no endpoint of the private kind, and what they were made of. */
export interface Credentials {
  bad: readonly Credential[];
  /** A public key for the agent `baker` and pages of `SHOP`. */
  boundKey: string;
  /** A session token that was minted now. */
  freshToken: () => Promise<string>;
}

/**
 * Makes every kind of wrong credential. `expire` advances the daemon's wall clock beyond the lifetime of a session token.
 */
export async function makeCredentials(house: House, expire: () => void): Promise<Credentials> {
  const post = async (path: string, body: unknown, authorization = PRIVATE_KEY) => {
    const answer = await house.ask(path, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (answer.status !== 200) throw new Error(`POST ${path}: ${String(answer.status)}`);
    return answer.body as { id: string; key: string };
  };
  const bound = await post('/keys', { kind: 'public', name: 'shop', agents: ['baker'], origins: [SHOP] });
  const other = await post('/agents', { name: 'Other', config: {} });
  const otherKey = await post('/keys', { kind: 'public', name: 'other', agents: [other.id] });
  const revoked = await post('/keys', { kind: 'private', name: 'revoked' });
  await house.request('/keys', {
    method: 'DELETE',
    headers: { authorization: PRIVATE_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ id: revoked.id }),
  });
  const freshToken = async () => (await house.token()).token;
  const expired = await freshToken();
  expire();
  const used = await freshToken();
  const client = house.connect();
  await client.initiate({ public_key: used, agent: { agent_id: 'nobody' } });
  await client.inbox.find(({ method }) => method === 'onerror');
  const named = (name: string, authorization: string, more = {}): Credential => ({
    name,
    headers: { authorization, ...more },
  });
  return {
    boundKey: bound.key,
    freshToken,
    bad: [
      { name: 'no key', headers: {} },
      {
        name: 'the key in another header',
        headers: { 'x-api-key': PRIVATE_KEY, cookie: `authorization=${PRIVATE_KEY}` },
      },
      named('an empty key', ''),
      named('a scheme alone', 'Bearer'),
      named('a wrong key', 'sk_wrong'),
      named('a wrong key of the right length', PRIVATE_KEY.replace(/.$/, 'x')),
      named('the start of the key', PRIVATE_KEY.slice(0, -1)),
      named('the key and more', `${PRIVATE_KEY}0`),
      named('the key twice', `${PRIVATE_KEY}, ${PRIVATE_KEY}`),
      named('the key in capitals', PRIVATE_KEY.toUpperCase()),
      named('the key as a password', `Basic ${Buffer.from(`user:${PRIVATE_KEY}`).toString('base64')}`),
      named('the hash of the key', createHash('sha256').update(PRIVATE_KEY).digest('hex')),
      named('a revoked key', revoked.key),
      named('a long key', 'k'.repeat(8_000)),
      named('a word of SQL', `' OR 1=1 --`),
      named('a public key from a page that may use none', PUBLIC_KEY, { origin: STRANGER }),
      named('a bound public key from a page that may use none', bound.key, { origin: STRANGER }),
      named('a public key of another agent', otherKey.key, { origin: house.address }),
      named('an expired token', expired, { origin: house.address }),
      named('a used token', used, { origin: house.address }),
    ],
  };
}
