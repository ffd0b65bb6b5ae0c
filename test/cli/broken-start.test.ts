/** The built command where something is broken that it cannot do without, or could. */
import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageFile } from '../../src/package-files.js';
import { Served } from '../daemon/served.js';
import { PRIVATE_KEY } from '../daemon/house.js';

const BIN = fileURLToPath(packageFile('bin/parley.js'));
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-broken-'));
});
afterAll(() => rm(folder, { recursive: true }));

interface Ran {
  code: unknown;
  out: string;
  err: string;
}

/** Runs the built command to its end, with something loaded before it. */
async function run(args: readonly string[], preload: string): Promise<Ran> {
  const script = join(folder, 'preload.cjs');
  await writeFile(script, preload);
  const env = {
    PATH: process.env['PATH'],
    NODE_OPTIONS: `--require ${script}`,
    OLLAMA_HOST: 'http://127.0.0.1:9',
    PARLEY_DATA_DIR: join(folder, 'data'),
    PARLEY_PORT: '0',
  };
  return new Promise((resolve) => {
    execFile(process.execPath, [BIN, ...args], { env, timeout: 60_000 }, (error, out, err) => {
      resolve({ code: error?.code ?? 0, out, err });
    });
  });
}

/** better-sqlite3 as it is after an installation without its script. */
const NO_BINARY = `
const Module = require('node:module');
const resolve = Module._resolveFilename;
Module._resolveFilename = function (name, ...rest) {
  if (/better_sqlite3\\.node$/.test(name)) {
    throw Object.assign(new Error("Cannot find module '" + name + "'"), { code: 'MODULE_NOT_FOUND' });
  }
  return resolve.call(this, name, ...rest);
};`;

/** And as it is where another Node.js has installed it. */
const OTHER_BINARY = `
const dlopen = process.dlopen;
process.dlopen = function (module, name, ...rest) {
  if (/better_sqlite3\\.node$/.test(name)) {
    const text = "The module '" + name + "'\\nwas compiled against a different Node.js version";
    throw Object.assign(new Error(text), { code: 'ERR_DLOPEN_FAILED' });
  }
  return dlopen.call(this, module, name, ...rest);
};`;

describe('the command without the binary of better-sqlite3', () => {
  it.each([
    ['none', NO_BINARY, /there is none for Node\.js \d/],
    ['one of another Node.js', OTHER_BINARY, /does not load in Node\.js \d/],
  ])('names it: %s', async (_, preload, words) => {
    const { code, out, err } = await run(['serve'], preload);
    expect([code, out]).toEqual([1, '']);
    expect(err).toMatch(/^parley serve: better-sqlite3.*npm rebuild better-sqlite3.*\[SQLITE_MISSING\]\n$/);
    expect(err).toMatch(words);
  });

  it('is reported by doctor', async () => {
    const { code, out } = await run(['doctor', '--json'], NO_BINARY);
    const { checks } = JSON.parse(out) as { checks: { name: string; level: string; help: string | null }[] };
    expect(code).toBe(1);
    expect(checks.find(({ name }) => name === 'sqlite')).toMatchObject({
      level: 'problem',
      help: 'npm rebuild better-sqlite3',
    });
    expect(checks.filter(({ level }) => level === 'problem')).toHaveLength(1);
  });
});

it('shows the sources in the stack of a fault of its own', async () => {
  const preload = `require('node:fs').statfsSync = () => { throw new TypeError('made by the test'); };
    require('node:module').syncBuiltinESMExports();`;
  const { code, err } = await run(['doctor'], preload);
  expect(code).toBe(1);
  expect(err).toMatch(/TypeError: made by the test/);
  expect(err).toMatch(/src\/cli\/doctor\/machine\.ts:\d+/);
});

describe('a daemon whose vendor refuses the key', () => {
  let vendor: Server;
  let served: Served | null = null;

  beforeAll(async () => {
    vendor = createServer((_request, response) => {
      response.writeHead(401, { 'content-type': 'application/json' }).end('{"error":{"message":"revoked"}}');
    }).listen(0, '127.0.0.1');
    await once(vendor, 'listening');
  });
  afterAll(async () => {
    await served?.close();
    vendor.close();
  });

  it('is ready, says so, serves agents that do not need it, and refuses those that do', async () => {
    const url = `http://127.0.0.1:${String((vendor.address() as AddressInfo).port)}/v1`;
    served = await Served.start({ OPENAI_API_KEY: 'sk-revoked-0123456789', OPENAI_BASE_URL: url });
    await served.until('/readyz');
    expect(served.err).toMatch(/openai refused the request: HTTP 401.*tried again every minute/);
    expect(served.err).not.toContain('sk-revoked');
    const talking = await served.talk(); // the demo has a script
    talking.socket.close();
    const headers = { authorization: PRIVATE_KEY, 'content-type': 'application/json' };
    const body = JSON.stringify({ name: 'Thinker', config: { prompt: 'Think.' } });
    const made = await fetch(`${served.address}/agents`, { method: 'POST', headers, body });
    const { id, warnings } = (await made.json()) as { id: string; warnings: { msg: string }[] };
    expect(warnings[0]?.msg).toMatch(/openai refused the request: HTTP 401/);
    const chat = JSON.stringify({ agent: { agent_id: id }, messages: [{ role: 'user', content: 'hi' }] });
    const answer = await fetch(`${served.address}/chat/completions`, { method: 'POST', headers, body: chat });
    expect(answer.status).toBe(502);
    expect(JSON.stringify(await answer.json())).toContain('HTTP 401');
  });
});
