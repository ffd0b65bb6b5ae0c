import { expect, it } from 'vitest';
import { twilioSignature } from '../../src/telephony/carriers/twilio/carrier.js';
import { ACCOUNT_SID, TwilioDouble } from '../vendors/carriers/twilio/double.js';
import { describeAccount, PUBLIC_URL } from './carrier-account.js';

const TOKEN = 'e2e-auth-token-0123456789abcdef0';

describeAccount(
  'Twilio',
  {
    carrier: 'twilio',
    double: (parts) => new TwilioDouble({ ...parts, authToken: TOKEN }),
    apis: ({ rest, pricing }) => [rest, pricing],
    authorization: `Basic ${Buffer.from(`${ACCOUNT_SID}:${TOKEN}`).toString('base64')}`,
    settings: (_double, [apiUrl, pricingUrl]) => ({ accountSid: ACCOUNT_SID, apiUrl, pricingUrl }),
    basePath: '/parley',
    secret: { variable: 'PARLEY_TWILIO_AUTH_TOKEN', value: TOKEN },
    isDirected: ({ numbers }, number) => numbers.get(number)?.VoiceUrl === `${PUBLIC_URL}/carriers/twilio/voice`,
  },
  ({ address, double, ask }) => {
    it('nobody but Twilio gets in', async () => {
      const form = new URLSearchParams({ AccountSid: ACCOUNT_SID, CallSid: `CA${'0'.repeat(32)}` });
      const path = '/carriers/twilio/voice';
      const post = (signature: string) =>
        fetch(address() + path, { method: 'POST', body: form, headers: { 'x-twilio-signature': signature } });
      expect((await post('')).status).toBe(403);
      // Signed for another address than the public one.
      expect((await post(twilioSignature(TOKEN, address() + path, form))).status).toBe(403);
      expect((await post(twilioSignature(TOKEN, PUBLIC_URL + path, form))).status).toBe(200);
      const figures = await (await fetch(`${address()}/metrics`)).text();
      expect(figures).toContain('\nparley_carrier_events_total{carrier="twilio",what="refused"} 2\n');
      expect(figures).toMatch(/\nparley_carrier_events_total\{carrier="twilio",what="streams"\} [1-9]/);
      expect(figures).toContain('\nparley_carrier_refused_total{carrier="twilio",reason="signature"} 2\n');
      expect(await ask('GET', '/carriers')).toMatchObject([
        { name: 'twilio', calls: 0, refused: expect.arrayContaining([{ reason: 'signature', count: 2 }]) as unknown },
      ]);
      expect((await fetch(`${address()}/carriers/nobody/voice`, { method: 'POST' })).status).toBe(404);
      expect((await fetch(`${address()}/carriers/twilio/nothing`)).status).toBe(404);
      expect(
        double()
          .farCalls()
          .flatMap(({ errors }) => errors),
      ).toEqual([]);
    });
  },
);
