import fc from 'fast-check';
import { gzipSync } from 'node:zlib';

/** A body as bytes, with the headers that announce it. */
export interface RawBody {
  headers: Readonly<Record<string, string>>;
  bytes: Buffer;
}

const JSON_TYPE = 'application/json';
const DEEP = 100_000;

const raw = (text: string, encoding: BufferEncoding = 'utf8', headers: Record<string, string> = {}): RawBody => ({
  headers: { 'content-type': JSON_TYPE, ...headers },
  bytes: Buffer.from(text, encoding),
});

/** Bodies that cost a parser or a walker much, or that mean two things at once. */
const ATTACKS: readonly RawBody[] = [
  // Nesting.
  raw('['.repeat(DEEP)),
  raw(`${'['.repeat(DEEP)}${']'.repeat(DEEP)}`),
  raw(`${'{"a":'.repeat(DEEP)}1${'}'.repeat(DEEP)}`),
  raw(`{"metadata":${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}}`),
  raw(`{"config":${'['.repeat(5_000)}${']'.repeat(5_000)}}`),
  // Size.
  raw(`"${'x'.repeat(900_000)}"`),
  raw(`[${'0,'.repeat(200_000)}0]`),
  raw(`[${'{},'.repeat(100_000)}{}]`),
  raw(`{${Array.from({ length: 30_000 }, (_each, at) => `"k${String(at)}":1`).join(',')}}`),
  raw(`{"name":"${'\\u0000'.repeat(50_000)}"}`),
  raw(`{"phone":"+${'1'.repeat(100_000)}"}`),
  raw(`{"pattern":"${'(a+)+'.repeat(1_000)}$"}`),
  raw(`1${'0'.repeat(100_000)}`),
  raw('1e999'),
  raw('-1e-999'),
  // Names.
  raw('{"name":"a","name":{"b":1},"name":["c"]}'),
  raw('{"__proto__":{"polluted":true}}'),
  raw('{"constructor":{"prototype":{"polluted":true}}}'),
  raw('{"config":{"__proto__":{"polluted":true}},"metadata":{"__proto__":{"polluted":true}}}'),
  raw('{"hasOwnProperty":1,"toString":1,"valueOf":1,"toJSON":1,"then":1}'),
  raw('[{"__proto__":null},{"__proto__":[]}]'),
  // Texts.
  raw('{"name":"\\ud800","metadata":{"\\udfff":"\\udc00\\ud800"}}'),
  raw('{"name":"\\u0000\\u202e\\ufeff\\uffff"}'),
  raw('\ufeff{}'),
  raw('{}', 'utf16le'),
  raw('{"name":"\u00ff"}', 'latin1'),
  raw('7b226e616d65223a22eda080227d', 'hex'), // half a surrogate pair, as bytes
  raw('c0af', 'hex'), // an overlong slash
  raw('{}', 'utf8', { 'content-type': 'application/json; charset=utf-16' }),
  raw('{}', 'utf8', { 'content-type': 'application/json; charset="' }),
  raw('a=1&__proto__[polluted]=1', 'utf8', { 'content-type': 'application/x-www-form-urlencoded' }),
  raw('--x\r\n', 'utf8', { 'content-type': 'multipart/form-data; boundary=x' }),
  raw('--x\r\n', 'utf8', { 'content-type': 'multipart/form-data; boundary=' }),
  raw('<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><a>&b;</a>', 'utf8', {
    'content-type': 'application/xml',
  }),
  { headers: { 'content-type': JSON_TYPE, 'content-encoding': 'gzip' }, bytes: gzipSync(Buffer.alloc(50_000_000)) },
  { headers: { 'content-type': JSON_TYPE, 'content-encoding': 'br, br, deflate' }, bytes: Buffer.from('{}') },
];

/** Bodies that are no JSON of an endpoint, as the bytes of an attacker or of a broken client. */
export const RAW_BODIES: fc.Arbitrary<RawBody> = fc.oneof(
  fc.constantFrom(...ATTACKS),
  fc.record({
    headers: fc
      .constantFrom(JSON_TYPE, 'text/plain', 'multipart/form-data', 'x', 'application/json; charset=utf-7')
      .map((type) => ({ 'content-type': type })),
    bytes: fc.oneof(
      fc
        .oneof(fc.string(), fc.constantFrom('{', '[', 'null', '"', '{}}', '{"a":1,}', 'NaN', '\u0000'))
        .map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    ),
  }),
);
