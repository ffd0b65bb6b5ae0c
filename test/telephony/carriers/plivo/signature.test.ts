import { describe, expect, it } from 'vitest';
import { isSigned, plivoSignature } from '../../../../src/telephony/carriers/plivo/carrier.js';

const TOKEN = 'an auth token of 40 letters-------------';
const NONCE = '05429567804466091622';
const NONE = new URLSearchParams();
const URL_ = 'https://voice.example.com/x?foo=1&bar=2';
const FORM = new URLSearchParams({ A: '1' });
const HEADERS = {
  'x-plivo-signature-v3': 'WEjCPhA7VoB5P25i4gxt4yCVZaQiGQTGD9MPAiFcDdI=',
  'x-plivo-signature-v3-nonce': NONCE,
};

describe("Plivo's signature", () => {
  /** All of them are right to the validator of npm plivo 4.79.0. */
  it.each([
    [
      'fields that come several times',
      'POST',
      'https://voice.example.com:8443/x',
      'b=2&b=1&a=%C3%BC%26%3D',
      'kHvduDhK8D8thRsWLlzkKxQT79NpCBDLh07D3U4e7+0=',
    ],
    ['a query and fields', 'POST', URL_, 'A=1', 'WEjCPhA7VoB5P25i4gxt4yCVZaQiGQTGD9MPAiFcDdI='],
    ['a query without fields', 'POST', URL_, '', 'vuLJy5tzd0uCWlzjuukKIteTvO8H1zc0IfcSvga0cbQ='],
    [
      'nothing but an address',
      'POST',
      'https://voice.example.com/x',
      '',
      'gLGAIYLHZO3T2wEoFRlTIF1a3EbNXi/IrmeZU78JUk0=',
    ],
    [
      'a media socket',
      'GET',
      'wss://voice.example.com/carriers/plivo/media/abc',
      '',
      'uYa0jcIVueKxdwfFShPJK3ANym8WoMTzieEqmQZKZ48=',
    ],
    [
      'a media socket with a query',
      'GET',
      'wss://voice.example.com/carriers/plivo/media/A-b_c?z=1&y=a%20b',
      '',
      'hlMYIduxYEsWwWh1olVrsgj+Ug9MNAF26Mv/m0vEJ1A=',
    ],
  ] as const)('is right for %s', (_what, method, url, form, signature) => {
    expect(plivoSignature(TOKEN, { method, url, form: new URLSearchParams(form) }, NONCE)).toBe(signature);
  });

  it('may be one of several, or the one of the main account', () => {
    const right = HEADERS['x-plivo-signature-v3'];
    const several = { ...HEADERS, 'x-plivo-signature-v3': `bm90IHRoaXMgb25l,${right}` };
    const main = { 'x-plivo-signature-ma-v3': right, 'x-plivo-signature-v3-nonce': NONCE };
    for (const headers of [several, main]) {
      expect(isSigned(TOKEN, headers, ['https://other.example.com/', URL_], { method: 'POST', form: FORM })).toBe(true);
    }
  });

  it.each([
    ['another token', { token: 'another' }],
    ['another address', { url: 'https://voice.example.com/x?foo=1&bar=3' }],
    ['another field', { form: NONE }],
    ['another method', { method: 'GET' as const }],
    ['another nonce', { headers: { ...HEADERS, 'x-plivo-signature-v3-nonce': '1' } }],
    ['no nonce', { headers: { 'x-plivo-signature-v3': HEADERS['x-plivo-signature-v3'] } }],
    ['no signature', { headers: { 'x-plivo-signature-v3-nonce': NONCE } }],
    ['half of one', { headers: { ...HEADERS, 'x-plivo-signature-v3': 'WEjCPhA7VoB5P25i4gxt4yCV' } }],
  ])('is refused with %s', (_what, change) => {
    const right = { token: TOKEN, url: URL_, form: FORM, method: 'POST' as const, headers: HEADERS };
    const { token, url, form, method, headers } = { ...right, ...change };
    expect(isSigned(token, headers, [url], { method, form })).toBe(false);
  });
});
