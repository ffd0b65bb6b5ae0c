import type { Readable } from 'node:stream';
import { ParleyError } from '../../../base/errors.js';
import type { FileLocation } from '../../../settings/file-location.js';
import type { FileStore, OpenFile, StoredFile } from '../file-store.js';
import { type Payload, payloadOf } from './payload.js';
import { S3Client, type S3ClientOptions, type S3Reply } from './s3-client.js';
import { elements, escaped, textIn } from './xml.js';

/** What the store knows of a written file. */
export interface WrittenFile {
  /** With its quotes. */
  etag: string;
  /** Whether the ETag has nothing to do with the content. */
  isKmsEncrypted: boolean;
}

/** A multipart upload that is neither complete nor aborted. */
export interface OpenUpload {
  key: string;
  uploadId: string;
  startedUnixMs: number;
}

/** Files that one request deletes at most. */
const MAX_DELETED = 1000;
/** How long the sending of a body may take. */
const SEND_MS = 600_000;
/** S3 assembles large files for minutes. */
const COMPLETE_MS = 300_000;

/** The files of a bucket, under a prefix. */
export class S3Files implements FileStore {
  readonly location: FileLocation;
  readonly #client: S3Client;

  constructor(options: S3ClientOptions) {
    this.location = options.location;
    this.#client = new S3Client(options);
  }

  /** Names the store for people: `s3://bucket/prefix`. */
  get name(): string {
    return this.#client.name;
  }

  async open(key: string): Promise<OpenFile | null> {
    const { status, headers } = await this.#client.send({ method: 'HEAD', key });
    if (status === 404) return null;
    const { etag = '' } = headers;
    return {
      key,
      etag,
      bytes: Number(headers['content-length'] ?? 0),
      modifiedUnixMs: Date.parse(headers['last-modified'] ?? '') || 0,
      stream: (start: number, end: number): Promise<Readable> =>
        this.#client.stream(key, { range: `bytes=${String(start)}-${String(end)}`, 'if-match': etag }),
      close: async () => undefined,
    };
  }

  async remove(keys: readonly string[]): Promise<number> {
    for (let at = 0; at < keys.length; at += MAX_DELETED) await this.#remove(keys.slice(at, at + MAX_DELETED));
    return 0;
  }

  async *list(prefix: string, signal: AbortSignal): AsyncGenerator<StoredFile, void, undefined> {
    const query: Record<string, string> = {
      'list-type': '2',
      'encoding-type': 'url',
      prefix: this.#client.keyOf(prefix),
    };
    for (;;) {
      const { text } = found(await this.#client.send({ method: 'GET', key: null, query, signal }), this.name);
      for (const item of elements(text, 'Contents')) {
        yield {
          key: this.#ownKey(textIn(item, 'Key') ?? ''),
          bytes: Number(textIn(item, 'Size')),
          modifiedUnixMs: Date.parse(textIn(item, 'LastModified') ?? ''),
        };
      }
      const next = textIn(text, 'NextContinuationToken');
      if (next === null || textIn(text, 'IsTruncated') !== 'true') return;
      query['continuation-token'] = next;
    }
  }

  /** Writes a file of at most 5 GB in one request. */
  async put(key: string, body: Payload, signal?: AbortSignal): Promise<WrittenFile> {
    const headers = { ...this.#encryption, 'content-type': contentTypeOf(key) };
    const reply = await this.#client.send({
      method: 'PUT',
      key,
      headers,
      body,
      timeoutMs: SEND_MS,
      ...withSignal(signal),
    });
    return written(found(reply, this.name));
  }

  /** Begins a multipart upload. Returns its id. */
  async begin(key: string, signal?: AbortSignal): Promise<string> {
    const headers = { ...this.#encryption, 'content-type': contentTypeOf(key) };
    const reply = await this.#client.send({
      method: 'POST',
      key,
      query: { uploads: '' },
      headers,
      ...withSignal(signal),
    });
    return textIn(found(reply, this.name).text, 'UploadId') ?? '';
  }

  /** Sends a part. All but the last one in the file are equally long, and at least 5 MiB. Returns its ETag. */
  async putPart(
    { key, uploadId }: Pick<OpenUpload, 'key' | 'uploadId'>,
    part: number,
    body: Payload,
    signal?: AbortSignal,
  ): Promise<string> {
    const query = { partNumber: String(part), uploadId };
    const reply = await this.#client.send({
      method: 'PUT',
      key,
      query,
      body,
      timeoutMs: SEND_MS,
      ...withSignal(signal),
    });
    return written(found(reply, this.name)).etag;
  }

  /** Makes a file of all parts. @param etags in the order of the parts */
  async complete(
    { key, uploadId }: Pick<OpenUpload, 'key' | 'uploadId'>,
    etags: readonly string[],
    signal?: AbortSignal,
  ): Promise<WrittenFile> {
    const parts = etags.map(
      (etag, at) => `<Part><PartNumber>${String(at + 1)}</PartNumber><ETag>${escaped(etag)}</ETag></Part>`,
    );
    const body = payloadOf(Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`));
    const request = { method: 'POST', key, query: { uploadId }, body, timeoutMs: COMPLETE_MS } as const;
    const reply = found(await this.#client.send({ ...request, ...withSignal(signal) }), this.name);
    return { ...written(reply), etag: textIn(reply.text, 'ETag') ?? '' };
  }

  /** Gives a multipart upload up and frees its parts; it may be gone already. */
  async abort({ key, uploadId }: Pick<OpenUpload, 'key' | 'uploadId'>): Promise<void> {
    await this.#client.send({ method: 'DELETE', key, query: { uploadId } });
  }

  /**
   * All multipart uploads under the prefix that are neither complete nor aborted, of all nodes; none in a store that
   * cannot list them.
   */
  async *uploads(signal: AbortSignal): AsyncGenerator<OpenUpload, void, undefined> {
    const query: Record<string, string> = { uploads: '', 'encoding-type': 'url', prefix: this.#client.keyOf('') };
    for (;;) {
      const reply = await this.#client.send({ method: 'GET', key: null, query, signal }).catch(unlessUnknown);
      if (reply === null) return;
      const { text } = found(reply, this.name);
      for (const item of elements(text, 'Upload')) {
        yield {
          key: this.#ownKey(textIn(item, 'Key') ?? ''),
          uploadId: textIn(item, 'UploadId') ?? '',
          startedUnixMs: Date.parse(textIn(item, 'Initiated') ?? ''),
        };
      }
      if (textIn(text, 'IsTruncated') !== 'true') return;
      query['key-marker'] = decodeURIComponent(textIn(text, 'NextKeyMarker') ?? '');
      query['upload-id-marker'] = textIn(text, 'NextUploadIdMarker') ?? '';
    }
  }

  /** A link to a file that needs no key until it expires. */
  link(key: string, { contentType, disposition }: { contentType: string; disposition: string }, lifeS: number): string {
    const query = { 'response-content-type': contentType, 'response-content-disposition': disposition };
    return this.#client.link(key, query, lifeS);
  }

  /** May be called twice. */
  close(): Promise<void> {
    return this.#client.close();
  }

  get #encryption(): Record<string, string> {
    const { encryption } = this.location;
    if (encryption === null) return {};
    const headers: Record<string, string> = { 'x-amz-server-side-encryption': encryption.method };
    if (encryption.keyId !== null) headers['x-amz-server-side-encryption-aws-kms-key-id'] = encryption.keyId;
    return headers;
  }

  async #remove(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    const objects = keys.map((key) => `<Object><Key>${escaped(this.#client.keyOf(key))}</Key></Object>`);
    const body = payloadOf(Buffer.from(`<Delete>${objects.join('')}<Quiet>true</Quiet></Delete>`));
    const request = { method: 'POST', key: null, query: { delete: '' }, body } as const;
    const reply = await this.#client.send(request).catch(unlessUnknown);
    if (reply === null) {
      // The store knows only the deletion of one.
      for (const key of keys) await this.#client.send({ method: 'DELETE', key });
      return;
    }
    const [refused] = elements(found(reply, this.name).text, 'Error');
    if (refused === undefined) return;
    const reason = `${textIn(refused, 'Key') ?? ''}: ${textIn(refused, 'Code') ?? ''} (${textIn(refused, 'Message') ?? ''})`;
    throw new ParleyError('FILE_STORE_FAILED', { store: this.name, reason });
  }

  /** A key of a listing, which is encoded, without the prefix. */
  #ownKey(text: string): string {
    return decodeURIComponent(text.replaceAll('+', ' ')).slice(this.#client.keyOf('').length);
  }
}

/** The ETag that S3 gives a file of several parts that is not encrypted with KMS. */
export function etagOfParts(md5s: readonly string[]): string {
  const { md5 } = payloadOf(Buffer.concat(md5s.map((hex) => Buffer.from(hex, 'hex'))));
  return `"${md5.toString('hex')}-${String(md5s.length)}"`;
}

function contentTypeOf(key: string): string {
  if (key.endsWith('.wav')) return 'audio/wav';
  return key.endsWith('.jsonl') ? 'application/x-ndjson' : 'application/octet-stream';
}

function written({ headers }: S3Reply): WrittenFile {
  const isKmsEncrypted = headers['x-amz-server-side-encryption']?.startsWith('aws:kms') ?? false;
  return { etag: headers['etag'] ?? '', isKmsEncrypted };
}

function withSignal(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}

/** Null for a request that the store has not implemented. */
function unlessUnknown(error: unknown): null {
  if (error instanceof ParleyError && error.details['status'] === 501) return null;
  throw error;
}

/** @throws ParleyError FILE_STORE_REFUSED for a bucket or an upload that does not exist */
function found(reply: S3Reply, store: string): S3Reply {
  if (reply.status !== 404) return reply;
  const code = textIn(reply.text, 'Code') ?? 'NotFound';
  const reason = `${code} (${textIn(reply.text, 'Message') ?? 'there is no such thing'})`;
  throw new ParleyError('FILE_STORE_REFUSED', { store, reason, code, status: 404 });
}
