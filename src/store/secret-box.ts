import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { ParleyError } from '../base/errors.js';

/** Version of the format. A different encryption would get a new one. */
const VERSION = 'v1';
const CIPHER = 'aes-256-gcm';
/** NIST SP 800-38D, 8.2.2: random, 96 bits. */
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/** Identifies a key without revealing any part of it. */
function idOf(key: Buffer): string {
  return createHash('sha256').update('parley key id').update(key).digest('hex').slice(0, 8);
}

/**
 * Encrypts stored texts with AES-256-GCM. A sealed text is `v1.<key id>.<base64url of IV, tag and ciphertext>`. The key
 * id allows changes of the key. The purpose is authenticated: a text sealed for one column does not open for another.
 */
export class SecretBox {
  /** The prefix of all texts that the current key has sealed. */
  readonly prefix: string;
  /** Of the current key. */
  readonly keyId: string;
  /** Of all keys that it can open with. */
  readonly knownIds: readonly string[];
  readonly #current: Buffer;
  readonly #keys: ReadonlyMap<string, Buffer>;

  /** @param current 32 bytes @param old keys for opening only */
  constructor(current: Buffer, old: readonly Buffer[] = []) {
    if ([current, ...old].some(({ length }) => length !== KEY_BYTES)) throw new RangeError('A key must have 32 bytes');
    this.#current = current;
    this.#keys = new Map([...old, current].map((key) => [idOf(key), key]));
    this.keyId = idOf(current);
    this.knownIds = [...this.#keys.keys()];
    this.prefix = `${VERSION}.${this.keyId}.`;
  }

  seal(text: string, purpose: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.#current, iv, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(purpose));
    const secret = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return this.prefix + Buffer.concat([iv, cipher.getAuthTag(), secret]).toString('base64url');
  }

  /** The plain text. Returns a text that is not sealed unchanged. @throws ParleyError SECRETS_UNREADABLE */
  open(sealed: string, purpose: string): string {
    const parts = /^(v\d+)\.([0-9a-f]{8})\.([\w-]+)$/.exec(sealed);
    if (parts === null) return sealed;
    const [, version, keyId = '', body = ''] = parts;
    if (version !== VERSION) throw unreadable(purpose, 'a later version of parley has encrypted it');
    const key = this.#keys.get(keyId);
    if (key === undefined) throw unreadable(purpose, `it was encrypted with another key (${keyId})`);
    const bytes = Buffer.from(body, 'base64url');
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(purpose));
    try {
      decipher.setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
      return decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
    } catch (error) {
      throw unreadable(purpose, 'it has been changed', error);
    }
  }
}

function unreadable(what: string, reason: string, cause?: unknown): ParleyError {
  return new ParleyError('SECRETS_UNREADABLE', { what, reason }, { cause });
}
