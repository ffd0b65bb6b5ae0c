import { ParleyError } from '../../base/errors.js';
import type { LocalFiles } from '../../store/files/local-files.js';
import { payloadIn } from '../../store/files/s3/payload.js';
import { etagOfParts, type S3Files, type WrittenFile } from '../../store/files/s3/s3-files.js';
import type { UploadState, UploadStates } from './upload-states.js';

/** The smallest part that S3 allows. Some stores need parts of equal length. */
export const PART_BYTES = 5_242_880;
/** A complete file up to this size is sent in one request. */
const SINGLE_BYTES = 2 * PART_BYTES;

/**
 * Sends files of the disk to the store. A recording that grows is sent in parts; its first part has the header, which
 * changes until the end, and goes last.
 */
export class FileSender {
  readonly #store: S3Files;
  readonly #local: LocalFiles;
  readonly #states: UploadStates;
  readonly #storeId: string;

  constructor(store: S3Files, local: LocalFiles, states: UploadStates) {
    this.#store = store;
    this.#local = local;
    this.#states = states;
    this.#storeId = `${store.location.endpoint} ${store.name}`;
  }

  /** Reads the uploads that an earlier process has left. */
  load(): Promise<void> {
    return this.#states.load(this.#storeId);
  }

  /** Whether a growing file has parts that can be sent. */
  hasPart(key: string, bytes: number): boolean {
    const complete = Math.floor(bytes / PART_BYTES);
    return complete >= 2 && this.#states.get(key)?.parts[complete] === undefined;
  }

  /** Sends the complete parts of a growing file, but the first. */
  async grow(key: string, bytes: number, signal: AbortSignal): Promise<void> {
    const state = await this.#begun(key, signal);
    for (let part = 2; part <= Math.floor(bytes / PART_BYTES); part++) {
      if (state.parts[part] === undefined) await this.#sendPart(state, part, bytes, signal);
    }
  }

  /**
   * Sends a complete file. Resolves when the store has it as it is here.
   * @throws ParleyError FILE_STORE_FAILED, FILE_STORE_REFUSED; errors of the file system
   */
  async send(key: string, bytes: number, signal: AbortSignal): Promise<void> {
    const state = this.#states.get(key);
    if (state === null && bytes <= SINGLE_BYTES) {
      const body = await payloadIn(this.#local.pathOf(key), 0, bytes, signal);
      const written = await this.#store.put(key, body, signal);
      await this.#verify(key, bytes, written, `"${body.md5.toString('hex')}"`);
      return;
    }
    try {
      await this.#sendParts(key, bytes, signal);
    } catch (error) {
      if (state === null || !isGone(error)) throw error;
      // Another node or the store's own rules have aborted it.
      await this.#states.remove(key);
      await this.#sendParts(key, bytes, signal);
    }
    await this.#states.remove(key);
  }

  /** Aborts the upload of a file, if there is one. @throws ParleyError FILE_STORE_FAILED, FILE_STORE_REFUSED */
  async abandon(key: string): Promise<void> {
    const state = this.#states.get(key);
    if (state === null) return;
    await this.#store.abort(state);
    await this.#states.remove(key);
  }

  /** The files whose uploads are not complete. */
  get unfinished(): readonly string[] {
    return this.#states.keys;
  }

  async #sendParts(key: string, bytes: number, signal: AbortSignal): Promise<void> {
    const state = await this.#begun(key, signal);
    const count = Math.max(1, Math.ceil(bytes / PART_BYTES));
    for (let part = 2; part <= count; part++) {
      if (state.parts[part]?.bytes !== lengthOf(part, bytes)) await this.#sendPart(state, part, bytes, signal);
    }
    await this.#sendPart(state, 1, bytes, signal);
    const parts = Array.from({ length: count }, (_, at) => state.parts[at + 1] ?? { etag: '', md5: '' });
    const written = await this.#store.complete(
      state,
      parts.map(({ etag }) => etag),
      signal,
    );
    await this.#verify(key, bytes, written, etagOfParts(parts.map(({ md5 }) => md5)));
  }

  async #begun(key: string, signal: AbortSignal): Promise<UploadState> {
    const known = this.#states.get(key);
    if (known !== null) return known;
    const state = { key, uploadId: await this.#store.begin(key, signal), store: this.#storeId, parts: {} };
    await this.#states.save(state);
    return state;
  }

  async #sendPart(state: UploadState, part: number, bytes: number, signal: AbortSignal): Promise<void> {
    const start = (part - 1) * PART_BYTES;
    const length = lengthOf(part, bytes);
    const body = await payloadIn(this.#local.pathOf(state.key), start, start + length, signal);
    const etag = await this.#store.putPart(state, part, body, signal);
    state.parts[part] = { etag, md5: body.md5.toString('hex'), bytes: length };
    await this.#states.save(state);
  }

  /**
   * The store has checked each body against its checksums. An ETag that is not that of the content is no fault where
   * files are encrypted with KMS, and in some other stores.
   */
  async #verify(key: string, bytes: number, { etag, isKmsEncrypted }: WrittenFile, expected: string): Promise<void> {
    if (!isKmsEncrypted && etag === expected) return;
    const stored = await this.#store.open(key);
    if (stored?.bytes === bytes) return;
    const reason = `${key} has ${String(stored?.bytes ?? 0)} bytes there, ${String(bytes)} here`;
    throw new ParleyError('FILE_STORE_FAILED', { store: this.#store.name, reason });
  }
}

function lengthOf(part: number, bytes: number): number {
  return Math.min(PART_BYTES, bytes - (part - 1) * PART_BYTES);
}

/** Whether the store does not know an upload, or not its parts. */
function isGone(error: unknown): boolean {
  if (!(error instanceof ParleyError)) return false;
  return error.details['code'] === 'NoSuchUpload' || error.details['code'] === 'InvalidPart';
}
