import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { ParleyError } from '../base/errors.js';

/** The envelope's version; another way of encrypting would be another one. */
const VERSION = 'v1';
const CIPHER = 'aes-256-gcm';
/** NIST SP 800-38D, 8.2.2: random, 96 bits. */
const IV_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/** Which key it is, without telling anything of it. */
function idOf(key: Buffer): string {
  return createHash('sha256').update('parley key id').update(key).digest('hex').slice(0, 8);
}

/**
 * Encrypts what is stored, with AES-256-GCM. A sealed text is `v1.<key's id>.<base64url of IV, tag and ciphertext>`: it
 * says which key opens it, so that keys can change. The purpose is authenticated too: what was sealed for one column
 * cannot be opened as another's.
 */
export class SecretBox {
  /** What everything starts with that the current key has sealed. */
  readonly prefix: string;
  readonly #current: Buffer;
  readonly #keys: ReadonlyMap<string, Buffer>;

  /** @param current 32 bytes @param old keys that only open */
  constructor(current: Buffer, old: readonly Buffer[] = []) {
    if ([current, ...old].some(({ length }) => length !== KEY_BYTES)) throw new RangeError('a key has 32 bytes');
    this.#current = current;
    this.#keys = new Map([...old, current].map((key) => [idOf(key), key]));
    this.prefix = `${VERSION}.${idOf(current)}.`;
  }

  seal(text: string, purpose: string): string {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.#current, iv, { authTagLength: TAG_BYTES });
    cipher.setAAD(Buffer.from(purpose));
    const secret = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return this.prefix + Buffer.concat([iv, cipher.getAuthTag(), secret]).toString('base64url');
  }

  /** What was sealed; text that never was comes back as it is. @throws ParleyError SECRETS_UNREADABLE */
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
