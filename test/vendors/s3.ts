import { createHash, createHmac, randomUUID, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { nowUnixMs, RealClock } from '../../src/base/real-clock.js';

/** A stored object of the double. */
export interface S3Object {
  body: Buffer;
  etag: string;
  modifiedUnixMs: number;
  headers: Readonly<Record<string, string>>;
}

interface Upload {
  id: string;
  key: string;
  startedUnixMs: number;
  headers: Readonly<Record<string, string>>;
  parts: Map<number, { body: Buffer; etag: string }>;
}

export interface S3Call {
  method: string;
  key: string;
  query: Readonly<Record<string, string>>;
  headers: Readonly<Record<string, string>>;
  bytes: number;
}

/**
 * What the double does with a request in place of answering it: an error of S3, a broken connection in the middle of the
 * body (cut) or after it (reset), or silence.
 */
export type S3Fault = { status: number; code: string } | 'cut' | 'reset' | 'hang' | 'late error';

export interface S3Options {
  bucket?: string;
  region?: string;
  accessKeyId?: string;
  secretAccessKey?: string;
  /** Keys of a page of a listing. Default 1000. */
  pageSize?: number;
  /** Default: the machine's. */
  nowUnixMs?: () => number;
  /** Answers as a store that encrypts with KMS: ETags have nothing to do with the content. */
  isKms?: boolean;
}

const MIN_PART_BYTES = 5 * 1024 * 1024;
const MAX_SKEW_MS = 15 * 60_000;
const NS = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"';

/** An error answer of S3. */
class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message = code,
  ) {
    super(message);
  }
}

/**
 * One bucket of S3 at a path-style address, from the published API reference: it checks signatures, payload hashes,
 * Content-MD5 and the rules of multipart uploads, and fails on demand.
 */
export class S3Double {
  readonly objects = new Map<string, S3Object>();
  readonly uploads = new Map<string, Upload>();
  readonly calls: S3Call[] = [];
  /** Decides about each request before it takes effect; null = it is answered. */
  fault: (call: S3Call) => S3Fault | null = () => null;
  readonly #options: Required<S3Options>;
  readonly #server: Server;
  readonly #watchers = new Set<() => void>();
  readonly #clock = new RealClock();

  private constructor(options: S3Options) {
    this.#options = {
      bucket: 'calls',
      region: 'eu-test-1',
      accessKeyId: 'AKTEST',
      secretAccessKey: 'secret/of+the=test',
      pageSize: 1000,
      nowUnixMs,
      isKms: false,
      ...options,
    };
    this.#server = createServer((request, reply) => void this.#serve(request, reply));
  }

  static async start(options: S3Options = {}): Promise<S3Double> {
    const double = new S3Double(options);
    double.#server.listen(0, '127.0.0.1');
    await once(double.#server, 'listening');
    return double;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  /** The settings that lead here. */
  settings(
    prefix = 'parley',
    more = '',
  ): {
    files: string;
    filesAccessKeyId: string;
    filesSecretAccessKey: string;
  } {
    const { bucket, region, accessKeyId, secretAccessKey } = this.#options;
    return {
      files: `s3://${bucket}/${prefix}?region=${region}&endpoint=${this.endpoint}${more}`,
      filesAccessKeyId: accessKeyId,
      filesSecretAccessKey: secretAccessKey,
    };
  }

  /** Resolves as soon as a condition holds; it is checked after each request. */
  async until(condition: () => boolean, timeoutMs = 10_000): Promise<void> {
    if (condition()) return;
    await new Promise<void>((resolve, reject) => {
      const cancel = this.#clock.schedule(this.#clock.nowMs() + timeoutMs, () => {
        this.#watchers.delete(check);
        reject(new Error(`not within ${String(timeoutMs)} ms: ${condition.toString()}`));
      });
      const check = (): void => {
        if (!condition()) return;
        cancel();
        this.#watchers.delete(check);
        resolve();
      };
      this.#watchers.add(check);
    });
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close').catch(() => undefined);
  }

  async #serve(request: IncomingMessage, reply: ServerResponse): Promise<void> {
    try {
      const url = new URL(request.url ?? '/', this.endpoint);
      const [, bucket = '', ...parts] = url.pathname.split('/').map(decodeURIComponent);
      const query = Object.fromEntries(url.searchParams);
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      const bytes = Number(headers['content-length'] ?? 0);
      const call: S3Call = { method: request.method ?? '', key: parts.join('/'), query, headers, bytes };
      this.calls.push(call);
      const fault = this.fault(call);
      if (fault === 'cut') {
        await once(request, 'data');
        request.socket.destroy();
        return;
      }
      const body = await buffer(request);
      if (fault === 'hang') return;
      if (fault === 'reset') {
        request.socket.destroy();
        return;
      }
      this.#checkSignature(request, url, headers, body);
      if (typeof fault === 'object' && fault !== null) throw new Refused(fault.status, fault.code);
      if (bucket !== this.#options.bucket) throw new Refused(404, 'NoSuchBucket');
      if (fault === 'late error') {
        reply.writeHead(200, { 'content-type': 'application/xml' });
        reply.end('<?xml version="1.0"?>\n<Error><Code>InternalError</Code><Message>late</Message></Error>');
        return;
      }
      this.#answer(call, body, reply);
    } catch (error) {
      const { status, code, message } =
        error instanceof Refused ? error : new Refused(500, 'InternalError', String(error));
      reply.writeHead(status, {
        'content-type': 'application/xml',
        date: new Date(this.#options.nowUnixMs()).toUTCString(),
      });
      reply.end(request.method === 'HEAD' ? '' : `<Error><Code>${code}</Code><Message>${message}</Message></Error>`);
    } finally {
      for (const watcher of this.#watchers) watcher();
    }
  }

  #answer(call: S3Call, body: Buffer, reply: ServerResponse): void {
    const { method, key, query } = call;
    if (key === '') {
      if (method === 'POST' && 'delete' in query) this.#delete(call, body, reply);
      else if (method === 'GET' && query['list-type'] === '2') this.#list(query, reply);
      else if (method === 'GET' && 'uploads' in query) this.#listUploads(query, reply);
      else throw new Refused(501, 'NotImplemented');
    } else if (method === 'POST' && 'uploads' in query) this.#begin(call, reply);
    else if (method === 'POST' && 'uploadId' in query) this.#complete(call, body, reply);
    else if (method === 'PUT') this.#put(call, body, reply);
    else if (method === 'GET' || method === 'HEAD') this.#get(call, reply);
    else if (method === 'DELETE') {
      if (query['uploadId'] === undefined) this.objects.delete(key);
      else if (!this.uploads.delete(query['uploadId'])) throw new Refused(404, 'NoSuchUpload');
      reply.writeHead(204).end();
    } else throw new Refused(405, 'MethodNotAllowed');
  }

  #put({ key, query, headers }: S3Call, body: Buffer, reply: ServerResponse): void {
    const etag = this.#etagOf(body);
    if (query['uploadId'] === undefined) {
      this.#store(key, body, etag, headers);
    } else {
      const part = Number(query['partNumber']);
      if (!Number.isInteger(part) || part < 1 || part > 10_000) throw new Refused(400, 'InvalidArgument');
      if (headers['x-amz-server-side-encryption'] !== undefined) throw new Refused(400, 'InvalidArgument');
      this.#upload(key, query['uploadId']).parts.set(part, { body, etag });
    }
    reply.writeHead(200, { etag, ...this.#encryption(headers) }).end();
  }

  #begin({ key, headers }: S3Call, reply: ServerResponse): void {
    const id = `${randomUUID()}+/=`;
    this.#checkEncryption(headers);
    this.uploads.set(id, { id, key, headers, parts: new Map(), startedUnixMs: this.#options.nowUnixMs() });
    xml(
      reply,
      `<InitiateMultipartUploadResult ${NS}><Key>${key}</Key><UploadId>${id}</UploadId></InitiateMultipartUploadResult>`,
    );
  }

  #complete({ key, query }: S3Call, body: Buffer, reply: ServerResponse): void {
    const upload = this.#upload(key, query['uploadId'] ?? '');
    const listed = Array.from(
      body.toString('utf8').matchAll(/<Part><PartNumber>(\d+)<\/PartNumber><ETag>(.*?)<\/ETag><\/Part>/g),
      ([, number, etag]) => ({ number: Number(number), etag: etag?.replaceAll('&quot;', '"') }),
    );
    if (listed.length === 0) throw new Refused(400, 'MalformedXML');
    const bodies: Buffer[] = [];
    for (const [at, { number, etag }] of listed.entries()) {
      if (at > 0 && number <= (listed[at - 1]?.number ?? 0)) throw new Refused(400, 'InvalidPartOrder');
      const part = upload.parts.get(number);
      if (part === undefined || part.etag !== etag) throw new Refused(400, 'InvalidPart');
      if (at < listed.length - 1 && part.body.length < MIN_PART_BYTES) throw new Refused(400, 'EntityTooSmall');
      bodies.push(part.body);
    }
    const digest = md5(
      Buffer.concat(listed.map(({ number }) => md5(upload.parts.get(number)?.body ?? Buffer.alloc(0)))),
    );
    const etag = this.#options.isKms
      ? `"${randomUUID()}-${String(listed.length)}"`
      : `"${digest.toString('hex')}-${String(listed.length)}"`;
    this.#store(key, Buffer.concat(bodies), etag, upload.headers);
    this.uploads.delete(upload.id);
    const text = `<CompleteMultipartUploadResult ${NS}><Key>${key}</Key><ETag>${etag.replaceAll('"', '&quot;')}</ETag></CompleteMultipartUploadResult>`;
    xml(reply, text, this.#encryption(upload.headers));
  }

  #get({ method, key, query, headers }: S3Call, reply: ServerResponse): void {
    const found = this.objects.get(key);
    if (found === undefined) throw new Refused(404, 'NoSuchKey');
    const { body, etag, modifiedUnixMs } = found;
    if (headers['if-match'] !== undefined && headers['if-match'] !== etag) throw new Refused(412, 'PreconditionFailed');
    const [, first = '', last = ''] = /^bytes=(\d+)-(\d+)$/.exec(headers['range'] ?? '') ?? [];
    const isPart = first !== '';
    const start = isPart ? Number(first) : 0;
    const end = isPart ? Math.min(Number(last), body.length - 1) : body.length - 1;
    if (isPart && start >= body.length) throw new Refused(416, 'InvalidRange');
    const content = body.subarray(start, end + 1);
    reply.writeHead(isPart ? 206 : 200, {
      etag,
      'last-modified': new Date(modifiedUnixMs).toUTCString(),
      'content-length': content.length,
      'content-type': query['response-content-type'] ?? found.headers['content-type'] ?? 'binary/octet-stream',
      ...(query['response-content-disposition'] === undefined
        ? {}
        : { 'content-disposition': query['response-content-disposition'] }),
    });
    reply.end(method === 'HEAD' ? undefined : content);
  }

  #delete({ headers }: S3Call, body: Buffer, reply: ServerResponse): void {
    if (headers['content-md5'] === undefined)
      throw new Refused(400, 'InvalidRequest', 'Missing required header: Content-MD5');
    const keys = Array.from(body.toString('utf8').matchAll(/<Key>(.*?)<\/Key>/g), ([, key = '']) => key);
    if (keys.length === 0 || keys.length > 1000) throw new Refused(400, 'MalformedXML');
    for (const key of keys) this.objects.delete(key);
    xml(reply, `<DeleteResult ${NS}></DeleteResult>`);
  }

  #list(query: S3Call['query'], reply: ServerResponse): void {
    const { prefix = '', 'continuation-token': after = '' } = query;
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
    const page = keys.slice(0, this.#options.pageSize);
    const items = page.map((key) => {
      const { body, modifiedUnixMs, etag } = this.objects.get(key) as S3Object;
      const date = new Date(modifiedUnixMs).toISOString();
      return `<Contents><Key>${encodeURIComponent(key)}</Key><LastModified>${date}</LastModified><ETag>${etag.replaceAll('"', '&quot;')}</ETag><Size>${String(body.length)}</Size></Contents>`;
    });
    const more = page.length < keys.length;
    const next = more ? `<NextContinuationToken>${page.at(-1) ?? ''}</NextContinuationToken>` : '';
    xml(
      reply,
      `<ListBucketResult ${NS}><IsTruncated>${String(more)}</IsTruncated>${next}${items.join('')}</ListBucketResult>`,
    );
  }

  #listUploads({ prefix = '' }: S3Call['query'], reply: ServerResponse): void {
    const items = [...this.uploads.values()]
      .filter(({ key }) => key.startsWith(prefix))
      .map(
        ({ id, key, startedUnixMs }) =>
          `<Upload><Key>${encodeURIComponent(key)}</Key><UploadId>${id}</UploadId><Initiated>${new Date(startedUnixMs).toISOString()}</Initiated></Upload>`,
      );
    xml(
      reply,
      `<ListMultipartUploadsResult ${NS}><IsTruncated>false</IsTruncated>${items.join('')}</ListMultipartUploadsResult>`,
    );
  }

  #store(key: string, body: Buffer, etag: string, headers: Readonly<Record<string, string>>): void {
    this.#checkEncryption(headers);
    this.objects.set(key, { body, etag, headers, modifiedUnixMs: this.#options.nowUnixMs() });
  }

  #upload(key: string, id: string): Upload {
    const upload = this.uploads.get(id);
    if (upload === undefined || upload.key !== key) throw new Refused(404, 'NoSuchUpload');
    return upload;
  }

  #etagOf(body: Buffer): string {
    return this.#options.isKms ? `"${randomUUID()}"` : `"${md5(body).toString('hex')}"`;
  }

  #checkEncryption(headers: Readonly<Record<string, string>>): void {
    const method = headers['x-amz-server-side-encryption'];
    if (method !== undefined && method !== 'AES256' && method !== 'aws:kms') throw new Refused(400, 'InvalidArgument');
    if (headers['x-amz-server-side-encryption-aws-kms-key-id'] !== undefined && method !== 'aws:kms') {
      throw new Refused(400, 'InvalidArgument');
    }
  }

  #encryption(headers: Readonly<Record<string, string>>): Record<string, string> {
    const method = this.#options.isKms ? 'aws:kms' : headers['x-amz-server-side-encryption'];
    return method === undefined ? {} : { 'x-amz-server-side-encryption': method };
  }

  /** Signature Version 4, written from its description, not from parley's own code. */
  #checkSignature(request: IncomingMessage, url: URL, headers: Readonly<Record<string, string>>, body: Buffer): void {
    const presigned = url.searchParams.get('X-Amz-Signature');
    if (presigned !== null) return this.#checkLink(request, url, presigned);
    const found =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/.exec(
        headers['authorization'] ?? '',
      );
    if (found === null) throw new Refused(403, 'AccessDenied');
    const [, id = '', day = '', region = '', names = '', signature = ''] = found;
    const signed = names.split(';');
    for (const name of Object.keys(headers)) {
      if ((name.startsWith('x-amz-') || name === 'host' || name === 'content-md5') && !signed.includes(name)) {
        throw new Refused(
          403,
          'AccessDenied',
          `There were headers present in the request which were not signed: ${name}`,
        );
      }
    }
    const time = headers['x-amz-date'] ?? '';
    this.#checkScope({ id, day, region, time });
    const age = Math.abs(parsedTime(time) - this.#options.nowUnixMs());
    if (!(age <= MAX_SKEW_MS)) throw new Refused(403, 'RequestTimeTooSkewed');
    const payload = headers['x-amz-content-sha256'] ?? '';
    const lines = signed.map((name) => `${name}:${(headers[name] ?? '').trim().replaceAll(/ +/g, ' ')}\n`).join('');
    const canonical = [request.method, url.pathname, canonicalQuery(url), lines, names, payload].join('\n');
    this.#compare(canonical, { day, region, time }, signature);
    if (payload !== createHash('sha256').update(body).digest('hex'))
      throw new Refused(400, 'XAmzContentSHA256Mismatch');
    const sum = headers['content-md5'];
    if (sum !== undefined && sum !== md5(body).toString('base64')) throw new Refused(400, 'BadDigest');
  }

  #checkLink(request: IncomingMessage, url: URL, signature: string): void {
    const parameter = (name: string): string => url.searchParams.get(`X-Amz-${name}`) ?? '';
    const [id = '', day = '', region = '', service] = parameter('Credential').split('/');
    const time = parameter('Date');
    if (parameter('Algorithm') !== 'AWS4-HMAC-SHA256' || service !== 's3')
      throw new Refused(400, 'AuthorizationQueryParametersError');
    this.#checkScope({ id, day, region, time });
    if (this.#options.nowUnixMs() > parsedTime(time) + Number(parameter('Expires')) * 1000) {
      throw new Refused(403, 'AccessDenied', 'Request has expired');
    }
    const names = parameter('SignedHeaders');
    const lines = names
      .split(';')
      .map((name) => `${name}:${String(request.headers[name])}\n`)
      .join('');
    // A HEAD with the link of a GET is refused, as S3 does.
    const canonical = [request.method, url.pathname, canonicalQuery(url), lines, names, 'UNSIGNED-PAYLOAD'].join('\n');
    this.#compare(canonical, { day, region, time }, signature);
  }

  #checkScope({ id, day, region, time }: { id: string; day: string; region: string; time: string }): void {
    if (id !== this.#options.accessKeyId) throw new Refused(403, 'InvalidAccessKeyId');
    if (region !== this.#options.region) throw new Refused(400, 'AuthorizationHeaderMalformed');
    if (!time.startsWith(day)) throw new Refused(403, 'SignatureDoesNotMatch');
  }

  #compare(
    canonical: string,
    { day, region, time }: { day: string; region: string; time: string },
    signature: string,
  ): void {
    const hashed = createHash('sha256').update(canonical).digest('hex');
    const text = `AWS4-HMAC-SHA256\n${time}\n${day}/${region}/s3/aws4_request\n${hashed}`;
    const hmac = (key: string | Buffer, data: string): Buffer => createHmac('sha256', key).update(data).digest();
    const dateKey = hmac(`AWS4${this.#options.secretAccessKey}`, day);
    const key = hmac(hmac(hmac(dateKey, region), 's3'), 'aws4_request');
    if (!timingSafeEqual(hmac(key, text), Buffer.from(signature, 'hex')))
      throw new Refused(403, 'SignatureDoesNotMatch');
  }
}

function canonicalQuery(url: URL): string {
  const encode = (text: string): string =>
    encodeURIComponent(text).replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
  return url.search
    .slice(1)
    .split('&')
    .filter((part) => part !== '' && !part.startsWith('X-Amz-Signature='))
    .map((part) => {
      const [name = '', value = ''] = part.split('=', 2);
      return `${encode(decodeURIComponent(name))}=${encode(decodeURIComponent(value))}`;
    })
    .sort()
    .join('&');
}

function parsedTime(text: string): number {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text) ?? [];
  return Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
}

function md5(body: Buffer): Buffer {
  return createHash('md5').update(body).digest();
}

function xml(reply: ServerResponse, text: string, headers: Record<string, string> = {}): void {
  reply.writeHead(200, { 'content-type': 'application/xml', ...headers });
  reply.end(`<?xml version="1.0" encoding="UTF-8"?>\n${text}`);
}
