import type { BusboyInstance } from '@fastify/busboy';
import type { FastifyRequest } from 'fastify';
import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { InvalidConfigError } from '../../schema/issues.js';
import { errorOf, ParleyError, reasonOf } from '../../base/errors.js';

/** An uploaded file that no request has claimed yet. */
export interface Upload {
  /** The id for later requests. */
  objectKey: string;
  /** The file name on the client's machine. */
  name: string;
  fileType: string | null;
  /** Bytes. */
  size: number;
}

const OBJECT_KEY = /^[0-9a-f-]{36}\.[a-z0-9]{1,10}$/;
/** Unclaimed uploads older than this are deleted. */
const MAX_AGE_MS = 86_400_000;

/** Uploaded files, in a subfolder of the data folder until a request claims them. */
export class Uploads {
  readonly #folder: string;
  readonly #maxBytes: number;

  constructor(dataDir: string, maxBytes: number) {
    this.#folder = join(dataDir, 'uploads');
    this.#maxBytes = maxBytes;
  }

  /**
   * Stores the file of a multipart form, whose body has not been read yet.
   * @throws ParleyError KNOWLEDGE_FILE_TOO_LARGE, CONFIG_INVALID (422) if the form has no file
   */
  async receive({ headers, body }: FastifyRequest): Promise<Upload> {
    const type = headers['content-type'] ?? '';
    if (!(body instanceof Readable) || !/^multipart\/form-data\b/i.test(type)) throw missing('Field required');
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const form = await parser(type, this.#maxBytes);
    let taking: Promise<Upload> | null = null;
    let source: Readable | null = null;
    form.on('file', (_field, file, name, _encoding, fileType) => {
      source ??= file;
      taking ??= this.#take(file, name, fileType === '' ? null : fileType);
      taking.catch(() => undefined);
    });
    try {
      await pipeline(body, form);
    } catch (error) {
      // The parser leaves its file open if the form ends early.
      (source as Readable | null)?.destroy(errorOf(error));
      await (taking as Promise<Upload> | null)?.then(({ objectKey }) => this.drop(objectKey)).catch(() => undefined);
      throw missing(`The form cannot be read: ${reasonOf(error)}`);
    }
    const taken = taking as Promise<Upload> | null;
    if (taken === null) throw missing('Field required');
    return taken;
  }

  /** The path of an upload. @throws ParleyError NOT_FOUND */
  async path(objectKey: string): Promise<string> {
    const path = join(this.#folder, objectKey);
    const found = OBJECT_KEY.test(objectKey) && (await stat(path).catch(() => null)) !== null;
    if (!found) throw new ParleyError('NOT_FOUND', { what: 'upload', id: objectKey.slice(0, 100) });
    return path;
  }

  async drop(objectKey: string): Promise<void> {
    if (OBJECT_KEY.test(objectKey)) await rm(join(this.#folder, objectKey), { force: true });
  }

  /** Deletes old unclaimed uploads. */
  async purge(unixMs: number): Promise<void> {
    for (const name of await readdir(this.#folder).catch(() => [])) {
      const file = await stat(join(this.#folder, name)).catch(() => null);
      if (file !== null && unixMs - file.mtimeMs > MAX_AGE_MS) await this.drop(name);
    }
  }

  async #take(file: Readable & { truncated?: boolean }, name: string, fileType: string | null): Promise<Upload> {
    const ending = /\.([a-z0-9]{1,10})$/i.exec(name)?.[1]?.toLowerCase() ?? 'bin';
    const objectKey = `${randomUUID()}.${ending}`;
    const path = join(this.#folder, objectKey);
    let size = 0;
    file.on('data', (piece: Buffer) => (size += piece.length));
    try {
      await pipeline(file, createWriteStream(path, { mode: 0o600, flags: 'wx' }));
      if (size <= this.#maxBytes) return { objectKey, name, fileType, size };
      throw new ParleyError('KNOWLEDGE_FILE_TOO_LARGE', { name: name.slice(0, 200), limit: this.#maxBytes });
    } catch (error) {
      file.resume(); // the rest of the form follows
      await this.drop(objectKey);
      throw error;
    }
  }
}

/** Reads at most one byte more than allowed, which shows that the file is too large. */
async function parser(contentType: string, maxBytes: number): Promise<BusboyInstance> {
  const { Busboy } = await import('@fastify/busboy'); // on demand, so that the start does not wait for it
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      limits: { files: 1, fileSize: maxBytes + 1, fields: 10, fieldSize: 10_000, headerPairs: 50 },
    });
  } catch (error) {
    throw missing(`The form cannot be read: ${reasonOf(error)}`);
  }
}

function missing(msg: string): InvalidConfigError {
  return new InvalidConfigError([
    { loc: ['body', 'file'], msg, type: msg === 'Field required' ? 'missing' : 'form_invalid' },
  ]);
}
