import { describe, expect, it } from 'vitest';
import { EMPTY_PAYLOAD, presignedQuery, signed, type SigningScope } from '../../../src/store/files/s3/signature.js';

/** https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html */
const S3: SigningScope = {
  key: { id: 'AKIAIOSFODNN7EXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY', sessionToken: null },
  region: 'us-east-1',
  service: 's3',
};
const S3_TIME = Date.UTC(2013, 4, 24);
const HOST = 'examplebucket.s3.amazonaws.com';

function signature(headers: Record<string, string>): string {
  return headers['authorization'] ?? '';
}

describe("the examples of S3's documentation", () => {
  const empty = { host: HOST, query: {}, payload: EMPTY_PAYLOAD };

  it('signs the reading of a range', () => {
    const headers = signed(
      {
        ...empty,
        method: 'GET',
        path: '/test.txt',
        headers: { range: 'bytes=0-9', 'x-amz-content-sha256': EMPTY_PAYLOAD },
      },
      S3,
      S3_TIME,
    );
    expect(signature(headers)).toBe(
      'AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, ' +
        'SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, ' +
        'Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    );
  });

  it('signs the writing of an object', () => {
    const payload = '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072';
    const headers = {
      date: 'Fri, 24 May 2013 00:00:00 GMT',
      'x-amz-storage-class': 'REDUCED_REDUNDANCY',
      'x-amz-content-sha256': payload,
    };
    const request = { method: 'PUT', host: HOST, path: '/test%24file.text', query: {}, headers, payload };
    expect(signature(signed(request, S3, S3_TIME))).toContain(
      'Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    );
  });

  it.each([
    [{ lifecycle: '' }, 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543'],
    [{ prefix: 'J', 'max-keys': '2' }, '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7'],
  ])('signs the query %j', (query, expected) => {
    const headers = { 'x-amz-content-sha256': EMPTY_PAYLOAD };
    const request = { ...empty, method: 'GET', path: '/', query, headers };
    expect(signature(signed(request, S3, S3_TIME))).toContain(`Signature=${expected}`);
  });

  it('signs a link', () => {
    const request = { method: 'GET', host: HOST, path: '/test.txt', query: {} };
    expect(presignedQuery(request, S3, { unixMs: S3_TIME, lifeS: 86_400 })).toBe(
      'X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2F' +
        'aws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature=' +
        'aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
    );
  });
});

describe("cases of AWS's test suite for Signature Version 4", () => {
  const scope: SigningScope = {
    key: { id: 'AKIDEXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY', sessionToken: null },
    region: 'us-east-1',
    service: 'service',
  };
  const time = Date.UTC(2015, 7, 30, 12, 36);
  const request = {
    method: 'GET',
    host: 'example.amazonaws.com',
    path: '/',
    query: {},
    headers: {},
    payload: EMPTY_PAYLOAD,
  };

  it.each([
    ['get-vanilla', {}, '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31'],
    ['post-vanilla', { method: 'POST' }, '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b'],
    [
      'get-vanilla-query-order-key-case',
      { query: { Param2: 'value2', Param1: 'value1' } },
      'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
    ],
    ['get-utf8', { path: '/%E1%88%B4' }, '8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85'],
    [
      'get-header-value-trim',
      { headers: { 'my-header1': ' value1', 'my-header2': ' "a   b   c"' } },
      'acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736',
    ],
  ])('%s', (_name, change, expected) => {
    expect(signature(signed({ ...request, ...change }, scope, time))).toContain(`Signature=${expected}`);
  });

  it('signs the token of a temporary key', () => {
    const key = { ...scope.key, sessionToken: 'token' };
    const headers = signed(request, { ...scope, key }, time);
    expect(headers['x-amz-security-token']).toBe('token');
    expect(signature(headers)).toContain('SignedHeaders=host;x-amz-date;x-amz-security-token');
  });
});
