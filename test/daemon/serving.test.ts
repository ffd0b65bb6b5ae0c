import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { main } from '../../src/cli/main.js';

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'parley-serving-'));
});

afterEach(() => {
  rmSync(dataDir, { recursive: true });
});

/** `parley serve`, stopped as by Ctrl-C once it has printed `until`. */
async function serve(args: readonly string[], until: string): Promise<{ code: number; out: string; err: string }> {
  const stop = new AbortController();
  const texts = { out: '', err: '' };
  const stream = (name: 'out' | 'err'): PassThrough => {
    const through = new PassThrough();
    through.on('data', (data: Buffer) => {
      texts[name] += data.toString();
      if (texts[name].includes(until)) stop.abort();
    });
    return through;
  };
  const code = await main(['serve', ...args], {
    stdout: stream('out'),
    stderr: stream('err'),
    stdin: new PassThrough(),
    env: { PATH: process.env['PATH'], PARLEY_DATA_DIR: dataDir },
    signal: stop.signal,
  });
  return { code, ...texts };
}

describe('parley serve', () => {
  it('prints the address and, at the first start only, the private key', async () => {
    const first = await serve(['--port', '0'], 'ready');
    expect(first.code).toBe(0);
    expect(first.out).toMatch(/Talk to it: http:\/\/127\.0\.0\.1:\d+\//);
    expect(first.out).toMatch(/private key \(shown only once\): sk_.{43}\n/);
    const second = await serve(['--port', '0'], 'ready');
    expect(second.err + second.out).not.toContain('sk_');
  }, 60_000);

  it('says in words that the port is taken', async () => {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const port = String((server.address() as AddressInfo).port);
    const { code, err } = await serve(['--port', port], 'ready');
    expect(code).toBe(1);
    expect(err).toContain(
      `127.0.0.1:${port}: the port is in use; set another one with PARLEY_PORT [DAEMON_CANNOT_LISTEN]\n`,
    );
    await new Promise((resolve) => server.close(resolve));
  });
});
