import { describe, expect, it } from 'vitest';
import { isSigned, twilioSignature } from '../../../../src/telephony/carriers/twilio/carrier.js';

/** Twilio's own example (docs/usage/webhooks/webhooks-security), and two that twilio-node 6.2.0 has signed. */
const EXAMPLE = {
  token: '12345',
  url: 'https://mycompany.com/myapp.php?foo=1&bar=2',
  form: new URLSearchParams({
    CallSid: 'CA1234567890ABCDE',
    Caller: '+14158675309',
    Digits: '1234',
    From: '+14158675309',
    To: '+18005551212',
  }),
  signature: 'RSOYDt4T1cUTdK1PDd93/VVr8B8=',
};
const NONE = new URLSearchParams();

describe("Twilio's signature", () => {
  it("is that of Twilio's example", () => {
    const { token, url, form, signature } = EXAMPLE;
    expect(twilioSignature(token, url, form)).toBe(signature);
    expect(isSigned(token, signature, url, form)).toBe(true);
  });

  it('is over the address alone for a media socket', () => {
    const url = 'wss://mycompany.com/carriers/twilio/media/abc';
    expect(twilioSignature('12345', url, NONE)).toBe('aC5TVF3WQwSz5ivzSnk0eoO+BS0=');
  });

  it('takes each value of a name once, sorted', () => {
    const form = new URLSearchParams([
      ['b', '2'],
      ['b', '1'],
      ['b', '2'],
      ['a', 'ü&='],
    ]);
    expect(twilioSignature('12345', 'https://mycompany.com:8443/x', form)).toBe('aD3TUztmsaTZA7ji6aq+FnDxh4Y=');
  });

  it('is taken with the standard port in the address and without', () => {
    const { token, form } = EXAMPLE;
    const signature = twilioSignature(token, 'https://mycompany.com:443/x', form);
    expect(isSigned(token, signature, 'https://mycompany.com/x', form)).toBe(true);
    expect(
      isSigned(token, twilioSignature(token, 'https://mycompany.com/x', form), 'https://mycompany.com:443/x', form),
    ).toBe(true);
  });

  it.each([
    ['another token', { token: '12346' }],
    ['another address', { url: 'https://mycompany.com/myapp.php?foo=1&bar=3' }],
    ['another field', { form: new URLSearchParams({ CallSid: 'CA1234567890ABCDE' }) }],
    ['no signature', { signature: '' }],
    ['half of one', { signature: 'RSOYDt4T1cUTdK1PDd93' }],
  ])('is refused with %s', (_what, change) => {
    const { token, url, form, signature } = { ...EXAMPLE, ...change };
    expect(isSigned(token, signature, url, form)).toBe(false);
  });
});
