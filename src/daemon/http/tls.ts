import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Server } from 'node:https';
import { createSecureContext } from 'node:tls';
import type { Cancel, Clock } from '../../base/clock.js';
import type { Settings } from '../../settings/settings.js';
import { errorOf, ParleyError, reasonOf } from '../../base/errors.js';

export interface TlsPair {
  cert: Buffer;
  key: Buffer;
}

/** The interval between two checks of the files. */
const LOOK_MS = 10_000;

/** The certificate and its key. It reads them at the start and after each change, and no connection is lost. */
export class TlsFiles {
  readonly #certPath: string;
  readonly #keyPath: string;
  #current: TlsPair | null = null;
  #cancel: Cancel = () => undefined;

  /** Null = the settings have neither. @throws ParleyError CONFIG_INVALID if they have only one */
  static of({ tlsCertPath, tlsKeyPath }: Pick<Settings, 'tlsCertPath' | 'tlsKeyPath'>): TlsFiles | null {
    if (tlsCertPath === null && tlsKeyPath === null) return null;
    if (tlsCertPath === null || tlsKeyPath === null) {
      throw new ParleyError('CONFIG_INVALID', { reason: 'tlsCertPath and tlsKeyPath must be set together' });
    }
    return new TlsFiles(tlsCertPath, tlsKeyPath);
  }

  constructor(certPath: string, keyPath: string) {
    this.#certPath = certPath;
    this.#keyPath = keyPath;
  }

  /** Reads the files and checks that they match. @throws ParleyError FILE_NOT_READABLE naming the file */
  read(): TlsPair {
    const pair = { cert: read(this.#certPath), key: read(this.#keyPath) };
    try {
      createSecureContext(pair);
    } catch (error) {
      const path = `${this.#certPath} with ${this.#keyPath}`;
      throw new ParleyError('FILE_NOT_READABLE', { path, reason: reasonOf(error) }, { cause: error });
    }
    this.#current = pair;
    return pair;
  }

  /** When the certificate expires, in milliseconds since 1970. */
  get expiresUnixMs(): number {
    return Date.parse(new X509Certificate(this.#current?.cert ?? this.read().cert).validTo);
  }

  /**
   * Gives a server the files again when they change. Open connections keep the previous certificate.
   * @param onRead called after each change; with a fault, the previous files stay in use
   */
  watch(server: Server, clock: Clock, onRead: (fault: Error | null) => void): void {
    this.#cancel = clock.schedule(clock.nowMs() + LOOK_MS, () => {
      this.#look(server, onRead);
      this.watch(server, clock, onRead);
    });
  }

  close(): void {
    this.#cancel();
  }

  #look(server: Server, onRead: (fault: Error | null) => void): void {
    const before = this.#current;
    try {
      const cert = read(this.#certPath);
      const key = read(this.#keyPath);
      if (before?.cert.equals(cert) === true && before.key.equals(key)) return;
      // Stored first, so that it reports a mismatch once: the two files may be written one after the other.
      this.#current = { cert, key };
      server.setSecureContext(this.#current);
      onRead(null);
    } catch (error) {
      onRead(errorOf(error));
    }
  }
}

function read(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new ParleyError('FILE_NOT_READABLE', { path, reason: reasonOf(error) }, { cause: error });
  }
}
