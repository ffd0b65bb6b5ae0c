import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Random } from '../../../src/base/random.js';
import { MADE_MODELS } from '../../providers/local/made-models.js';

export const ASR = '/github.com/k2-fsa/sherpa-onnx/releases/download/asr-models';

/** A mirror of publishers on the loopback interface, that can be slow, break off and lie. */
export class Mirror {
  readonly files = new Map<string, Buffer>();
  /** Of each request: the path, and from which byte on. */
  readonly asked: string[] = [];
  /** So many replies break off after half of what was asked for. */
  breaksOff = 0;
  /** A reply breaks off when so many bytes of the file have been stored by who asked. */
  stored: (bytes: number) => Promise<void> = () => Promise.resolve();
  /** Of every file; null = none is given. */
  etag: string | null = '"v1"';
  /** Said on the way, by a redirection, of every file. */
  linkedEtag: string | null = null;
  status = 200;
  /** A network that wants a login answers everything with a page. */
  isPortal = false;
  /** Files are given when it is resolved. */
  gate: Promise<void> = Promise.resolve();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, reply) => this.#answer(request, reply));
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${String((this.#server.address() as AddressInfo).port)}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, reply: ServerResponse): void {
    const path = request.url ?? '';
    if (this.linkedEtag !== null && !path.startsWith('/blobs')) {
      reply.writeHead(302, { location: `/blobs${path}`, 'x-linked-etag': this.linkedEtag }).end();
      return;
    }
    const file = this.files.get(path.replace('/blobs', ''));
    const range = /^bytes=(\d+)-$/u.exec(request.headers.range ?? '');
    const goesOn = range !== null && request.headers['if-range'] === this.etag;
    const from = goesOn ? Number(range[1]) : 0;
    this.asked.push(`${path.slice(path.lastIndexOf('/') + 1)} ${String(from)}`);
    if (this.isPortal) {
      reply.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end('<html>Please log in</html>');
      return;
    }
    if (file === undefined || this.status !== 200) {
      reply.writeHead(file === undefined ? 404 : this.status).end();
      return;
    }
    const body = file.subarray(from);
    reply.writeHead(goesOn ? 206 : 200, {
      'content-length': body.length,
      ...(this.etag !== null && { etag: this.etag }),
      ...(goesOn && { 'content-range': `bytes ${String(from)}-${String(file.length - 1)}/${String(file.length)}` }),
    });
    if (this.breaksOff > 0 && !path.endsWith('checksum.txt')) {
      this.breaksOff--;
      const half = Math.floor(body.length / 2);
      reply.write(body.subarray(0, half));
      void this.stored(from + half).finally(() => reply.destroy());
      return;
    }
    void this.gate.then(() => reply.end(body));
  }
}

/** A model of `fixtures/models` as k2-fsa packs them: a folder in a tar.bz2, with recordings to try it on. */
export function archiveOf(model: string): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'parley-archive-'));
  try {
    const path = join(folder, 'model.tar.bz2');
    cpSync(join(MADE_MODELS, model), join(folder, model), { recursive: true });
    const random = new Random(1);
    // Noise, so that packing does not make it small.
    writeFileSync(
      join(folder, model, 'noise.raw'),
      Buffer.from(Array.from({ length: 600_000 }, () => random.int(0, 255))),
    );
    execFileSync('tar', ['-cjf', path, '-C', folder, model]);
    return readFileSync(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export function sha256(data: Buffer): string {
  return createHash('sha256').update(data).digest('hex');
}
