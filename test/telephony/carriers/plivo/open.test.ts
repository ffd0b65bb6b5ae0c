import { describe, expect, it } from 'vitest';
import { plivoCarrier, type PlivoCarrierParts } from '../../../../src/telephony/carriers/plivo/open.js';
import { VirtualClock } from '../../../../src/base/virtual-clock.js';
import { DEFAULT_PLIVO, plivoSchema } from '../../../../src/settings/carriers/plivo.js';
import type { Engine } from '../../../../src/engine/engine.js';

const RIGHT: PlivoCarrierParts = {
  engine: { clock: new VirtualClock() } as unknown as Engine,
  settings: { ...DEFAULT_PLIVO, authId: 'MA0123456789ABCDEFGH' },
  authToken: 'a token',
  publicUrl: 'https://voice.example.com/parley/',
};

describe('an account with Plivo', () => {
  it('has its endpoint below /carriers/plivo, and its initial numbers', async () => {
    const { carrier, close } = await plivoCarrier({ ...RIGHT, owned: ['+12025550199'] });
    expect([carrier.path, await carrier.ownedNumbers()]).toEqual(['/carriers/plivo', ['+12025550199']]);
    await close();
    await close();
    expect(() => carrier.placeCall({ from: '+12025550199', to: '+12025550101', ringTimeoutMs: 1 })).toThrow('closed');
  });

  it.each([
    ['its token', { authToken: null }, 'plivoAuthToken'],
    ['an address that Plivo reaches', { publicUrl: null }, 'publicUrl'],
    ['a safe address', { publicUrl: 'http://voice.example.com' }, 'https'],
    ['a safe address, also at a loopback address', { publicUrl: 'http://127.0.0.1:8080' }, 'https'],
    ['a public address', { publicUrl: 'https://localhost:8443' }, 'cannot reach localhost'],
    ['an API', { settings: { ...RIGHT.settings, apiUrl: 'ftp://x' } }, 'not an http(s) address'],
  ])('is refused without %s', async (_what, change, reason) => {
    await expect(plivoCarrier({ ...RIGHT, ...change })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining(reason) as unknown,
    });
  });

  it('is known by an id of its kind', () => {
    for (const authId of ['MA0123456789ABCDEFGH', 'SAXXXXXXXXXXXXXXXXXX']) {
      expect(plivoSchema.safeParse({ authId }).success).toBe(true);
    }
    for (const authId of ['AC0123456789ABCDEFGH', 'MA123', 'ma0123456789abcdefgh']) {
      expect(plivoSchema.safeParse({ authId }).success).toBe(false);
    }
  });
});
