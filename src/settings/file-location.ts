import * as z from 'zod';
import { isUrl } from '../schema/field.js';

/** Where recordings and traces are kept in an S3-compatible store. */
export interface FileLocation {
  bucket: string;
  /** Keys begin with it and a slash; empty = none. */
  prefix: string;
  region: string;
  /** Scheme and authority, without a path. */
  endpoint: string;
  /** Whether the bucket is in the path of a request, not in its host name. */
  pathStyle: boolean;
  /** Encryption by the store; null = what the bucket is set to. */
  encryption: { method: 'AES256' | 'aws:kms'; keyId: string | null } | null;
  /** Whether clients that read a recording are redirected to a link to the store, or get it through the daemon. */
  redirects: boolean;
}

const PARAMETERS = ['region', 'endpoint', 'path_style', 'sse', 'kms_key', 'redirect'];
const DEFAULT_REGION = 'us-east-1';

/** The names that AWS allows. */
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
/** AWS advises against all other characters in keys. */
const PREFIX = /^(?:[\w.!*'()-]+\/)*[\w.!*'()-]+$/;

/** `s3://bucket/prefix?region=…&endpoint=…&path_style=…&sse=…&kms_key=…&redirect=…` */
export const fileLocationSchema = z.string().check((context) => {
  const fault = faultIn(context.value);
  if (fault !== null) {
    context.issues.push({
      code: 'custom',
      input: context.value,
      message: `Input should be an address such as s3://bucket/prefix?region=eu-central-1: ${fault}`,
      params: { type: 'file_location' },
    });
  }
});

/** The parts of an address that `fileLocationSchema` accepts. */
export function fileLocation(text: string): FileLocation {
  const { hostname: bucket, pathname, searchParams: query } = new URL(text);
  const region = query.get('region') ?? DEFAULT_REGION;
  const endpoint = query.get('endpoint');
  const pathStyle = query.get('path_style');
  const sse = query.get('sse');
  return {
    bucket,
    prefix: prefixOf(pathname),
    region,
    endpoint: endpoint === null ? `https://s3.${region}.amazonaws.com` : new URL(endpoint).origin,
    // Stores other than AWS rarely have a host name for each bucket.
    pathStyle: pathStyle === null ? endpoint !== null : pathStyle === '1',
    encryption: sse === 'AES256' || sse === 'aws:kms' ? { method: sse, keyId: query.get('kms_key') } : null,
    redirects: query.get('redirect') === '1',
  };
}

function prefixOf(pathname: string): string {
  return pathname.replaceAll(/^\/+|\/+$/g, '');
}

/** Null = there is none. */
function faultIn(text: string): string | null {
  if (!isUrl(text, ['s3:'])) return 'it does not begin with s3://';
  const { hostname: bucket, pathname, searchParams: query, username, port, hash } = new URL(text);
  if (username !== '' || port !== '' || hash !== '') return 'it has more than a bucket, a prefix and parameters';
  if (!BUCKET.test(bucket)) return `"${bucket}" is not the name of a bucket`;
  const prefix = prefixOf(pathname);
  if (prefix !== '' && !PREFIX.test(prefix)) return 'the prefix has characters that are unsafe in keys';
  const names = [...query.keys()];
  const unknown = names.find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined) return `unknown parameter "${unknown}"; known are ${PARAMETERS.join(', ')}`;
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) return `${twice} is given twice`;
  return faultInParameters(query);
}

function faultInParameters(query: URLSearchParams): string | null {
  const [region, endpoint, sse, key] = ['region', 'endpoint', 'sse', 'kms_key'].map((name) => query.get(name));
  if (region != null && !/^[a-z0-9-]{1,50}$/.test(region)) return 'region is not the name of a region';
  if (endpoint != null && !isOrigin(endpoint)) return 'endpoint is not an address such as https://storage.example.com';
  for (const name of ['path_style', 'redirect']) {
    if (!/^[01]$/.test(query.get(name) ?? '0')) return `${name} is neither 0 nor 1`;
  }
  if (sse != null && sse !== 'AES256' && sse !== 'aws:kms') return 'sse is neither AES256 nor aws:kms';
  if (key != null && sse !== 'aws:kms') return 'kms_key needs sse=aws:kms';
  return key != null && !/^[\x21-\x7e]{1,2048}$/.test(key) ? 'kms_key is not the name of a key' : null;
}

function isOrigin(text: string): boolean {
  if (!isUrl(text, ['http:', 'https:'])) return false;
  const { pathname, search, hash, username } = new URL(text);
  return pathname === '/' && search === '' && hash === '' && username === '';
}
