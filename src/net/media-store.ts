import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { nowUnixMs } from '../base/real-clock.js';
import { ParleyError } from '../base/errors.js';
import type { GuardedClient } from './guarded-client.js';

export interface MediaStoreOptions {
  client: GuardedClient;
  /** Cache folder; null = no cache on disk. */
  folder: string | null;
  /** Maximum file size in bytes. Default 20 MB. */
  maxBytes?: number;
  /** Timeout for a whole file. Default 20 s. */
  timeoutMs?: number;
}

/** Cached files expire after a day; an expired one is the fallback if a refresh fails. */
const FRESH_MS = 86_400_000;
/** Maximum number of cached files; the oldest are evicted. */
const MAX_FILES = 100;

/** Files from customer-configured addresses: fetched by the guarded client and cached on disk for a day. */
export class MediaStore {
  readonly #client: GuardedClient;
  readonly #folder: string | null;
  readonly #maxBytes: number;
  readonly #timeoutMs: number;

  constructor(options: MediaStoreOptions) {
    this.#client = options.client;
    this.#folder = options.folder;
    this.#maxBytes = options.maxBytes ?? 20_000_000;
    this.#timeoutMs = options.timeoutMs ?? 20_000;
  }

  /** @throws ParleyError NET_ADDRESS_REFUSED, NET_TIMEOUT, NET_TOO_LARGE, NET_FAILED; the signal's reason */
  async fetch(url: string, signal: AbortSignal): Promise<Uint8Array> {
    this.#client.guard.check(url); // a blocked address is not served from the cache either
    const path = this.#folder === null ? null : join(this.#folder, createHash('sha256').update(url).digest('hex'));
    const kept = path === null ? null : await read(path);
    if (kept !== null && nowUnixMs() - kept.savedUnixMs < FRESH_MS) return kept.bytes;
    try {
      const bytes = await this.#get(url, signal);
      if (path !== null) await this.#keep(path, bytes).catch(() => undefined); // the cache is optional
      return bytes;
    } catch (error) {
      signal.throwIfAborted();
      if (kept === null) throw error;
      return kept.bytes;
    }
  }

  async #get(url: string, signal: AbortSignal): Promise<Uint8Array> {
    const { status, body } = await this.#client.request({
      url,
      signal,
      timeoutMs: this.#timeoutMs,
      maxBytes: this.#maxBytes,
    });
    if (status !== 200) throw new ParleyError('NET_FAILED', { reason: `the reply's status is ${String(status)}` });
    return body;
  }

  /** Atomic: another process may be reading. */
  async #keep(path: string, bytes: Uint8Array): Promise<void> {
    const folder = this.#folder ?? '';
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const part = `${path}.${randomUUID()}.part`;
    try {
      await writeFile(part, bytes, { mode: 0o600 });
      await rename(part, path);
    } finally {
      await rm(part, { force: true });
    }
    const names = (await readdir(folder)).filter((name) => /^[0-9a-f]{64}$/.test(name));
    if (names.length <= MAX_FILES) return;
    const files = await Promise.all(
      names.map(async (name) => ({ name, savedMs: (await stat(join(folder, name))).mtimeMs })),
    );
    files.sort((a, b) => b.savedMs - a.savedMs);
    await Promise.all(files.slice(MAX_FILES).map(({ name }) => rm(join(folder, name), { force: true })));
  }
}

async function read(path: string): Promise<{ bytes: Uint8Array; savedUnixMs: number } | null> {
  try {
    const [bytes, { mtimeMs }] = await Promise.all([readFile(path), stat(path)]);
    return { bytes, savedUnixMs: mtimeMs };
  } catch {
    return null;
  }
}
