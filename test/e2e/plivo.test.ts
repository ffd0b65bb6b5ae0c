import { expect, it } from 'vitest';
import { plivoSignature } from '../../src/telephony/carriers/plivo/carrier.js';
import { AUTH_ID, PlivoDouble } from '../vendors/carriers/plivo/double.js';
import { describeAccount, PUBLIC_URL } from './carrier-account.js';

const TOKEN = 'e2e-auth-token-0123456789abcdef012345678';
const NONCE = '05429567804466091622';

describeAccount(
  'Plivo',
  {
    carrier: 'plivo',
    double: (parts) => new PlivoDouble({ ...parts, authToken: TOKEN }),
    apis: ({ rest }) => [rest],
    authorization: `Basic ${Buffer.from(`${AUTH_ID}:${TOKEN}`).toString('base64')}`,
    settings: (_double, [apiUrl]) => ({ authId: AUTH_ID, apiUrl }),
    secret: { variable: 'PARLEY_PLIVO_AUTH_TOKEN', value: TOKEN },
    isDirected: (double, number) => double.applicationOf(number)?.answer_url === `${PUBLIC_URL}/carriers/plivo/answer`,
  },
  ({ address, double }) => {
    it('nobody but Plivo gets in', async () => {
      const form = new URLSearchParams({ CallUUID: 'no-such-call', From: '12025550177', To: '12025550198' });
      const path = '/carriers/plivo/answer';
      const post = (signedUrl: string | null) => {
        const signature =
          signedUrl === null ? '' : plivoSignature(TOKEN, { method: 'POST', url: signedUrl, form }, NONCE);
        const headers = { 'x-plivo-signature-v3': signature, 'x-plivo-signature-v3-nonce': NONCE };
        return fetch(address() + path, { method: 'POST', body: form, headers });
      };
      expect((await post(null)).status).toBe(403);
      // Signed for another address than the public one.
      expect((await post(address() + path)).status).toBe(403);
      const taken = await post(PUBLIC_URL + path);
      expect([taken.status, await taken.text()]).toEqual([200, expect.stringContaining('<Hangup reason="rejected"/>')]);
      const figures = await (await fetch(`${address()}/metrics`)).text();
      expect(figures).toContain('\nparley_carrier_events_total{carrier="plivo",what="refused"} 2\n');
      expect(figures).toMatch(/\nparley_carrier_events_total\{carrier="plivo",what="streams"\} [1-9]/);
      const wrong = double()
        .farCalls()
        .flatMap(({ errors, stream }) => [...errors, ...(stream?.violations ?? [])]);
      expect(wrong).toEqual([]);
    });
  },
);
