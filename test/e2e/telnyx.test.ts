import { expect, it } from 'vitest';
import { CONNECTION_ID, TelnyxDouble } from '../vendors/carriers/telnyx/double.js';
import { describeAccount, PUBLIC_URL } from './carrier-account.js';

const API_KEY = 'KEY0123456789abcdef_e2e';
const WEBHOOK = '/carriers/telnyx/webhook';

describeAccount(
  'Telnyx',
  {
    carrier: 'telnyx',
    double: (parts) => new TelnyxDouble({ ...parts, nowUnixMs: () => Date.now(), webhookUrl: PUBLIC_URL + WEBHOOK }),
    apis: ({ rest }) => [rest],
    authorization: `Bearer ${API_KEY}`,
    settings: ({ publicKey }, [apiUrl]) => ({ connectionId: CONNECTION_ID, publicKey, apiUrl }),
    basePath: '/parley',
    secret: { variable: 'PARLEY_TELNYX_API_KEY', value: API_KEY },
    isDirected: ({ numbers }, number) => numbers.get(number)?.connectionId === CONNECTION_ID,
  },
  ({ address, double }) => {
    it('nobody but Telnyx gets in', async () => {
      const body = '{"data":{"event_type":"call.initiated","id":"e"}}';
      const post = (headers: Record<string, string>) =>
        fetch(address() + WEBHOOK, {
          method: 'POST',
          body,
          headers: { 'content-type': 'application/json', ...headers },
        });
      expect((await post({})).status).toBe(403);
      expect((await post(double().signed(body, Date.now() - 400_000))).status).toBe(403);
      expect((await post(double().signed(body))).status).toBe(200);
      expect((await fetch(`${address()}/carriers/telnyx/media/guess`)).status).toBe(404);
    });
  },
);
