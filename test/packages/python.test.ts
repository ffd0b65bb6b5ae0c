import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { modelOf, snakeOf } from '../../scripts/client-operations.mjs';
import { hasTool, toolPath } from '../../scripts/system-tools.mjs';
import { packageFile } from '../../src/package-files.js';
import { Callers } from '../daemon/callers.js';
import { PRIVATE_KEY } from '../daemon/house.js';
import { httpServer, type LocalServer } from '../net/local-server.js';

/** The Python client's own tests, with a daemon of this test, and its types. */

const SECRET = `whsec_${Buffer.from('a key of twenty-four byte').toString('base64')}`;
const root = fileURLToPath(packageFile('packages/python'));
const run = promisify(execFile);
/** The Python that httpx is installed for. */
const python = join(dirname(toolPath('httpx') ?? ''), 'python3');

let folder = '';
let callers: Callers;
let inbox: LocalServer;
const received: { headers: IncomingHttpHeaders; body: string }[] = [];
const waiting = new Set<() => void>();

/** The two messages to the webhook about a session, once they have come. */
async function about(session: string): Promise<typeof received> {
  for (;;) {
    const found = received.filter(({ body }) => body.includes(session));
    if (found.length === 2) return found;
    await new Promise<void>((resolve) => waiting.add(resolve));
  }
}

describe.skipIf(!hasTool('httpx') || !hasTool('mypy'))('the Python client', { timeout: 120_000 }, () => {
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'parley-python-'));
    inbox = await httpServer((request, response, body) => {
      if (request.method === 'GET') {
        void about((request.url ?? '').slice(1)).then((found) => response.end(JSON.stringify(found)));
        return;
      }
      received.push({ headers: request.headers, body });
      response.end();
      for (const wake of waiting) wake();
      waiting.clear();
    });
    callers = await Callers.open({}, { webhookSecret: SECRET, callWebhook: { url: inbox.origin } });
    await callers.house.daemon.warmUp();
  });
  afterAll(async () => {
    await callers.close();
    await inbox.close();
    rmSync(folder, { recursive: true });
  });

  it.concurrent('works with a daemon, and does the right thing when there is none', async () => {
    const { operations } = modelOf((await callers.ask('GET', '/openapi.json')).body);
    const known = operations.map(({ resource, name, ...operation }) => {
      return { ...operation, resource: snakeOf(resource), name: snakeOf(name) };
    });
    writeFileSync(join(folder, 'operations.json'), JSON.stringify(known));
    const { stderr } = await run(python, ['-W', 'error', '-m', 'unittest', 'discover', '--start-directory', 'tests'], {
      cwd: root,
      maxBuffer: 16 << 20,
      env: {
        ...process.env,
        PYTHONPATH: root,
        PYTHONDONTWRITEBYTECODE: '1',
        PARLEY_URL: callers.house.address,
        PARLEY_API_KEY: PRIVATE_KEY,
        PARLEY_WEBHOOK_SECRET: SECRET,
        PARLEY_WEBHOOK_INBOX: inbox.origin,
        PARLEY_OPERATIONS: join(folder, 'operations.json'),
      },
    });
    expect(stderr).toMatch(/^Ran [2-9]\d tests/m);
    expect(stderr).toMatch(/^OK$/m);
  });

  it.concurrent('has types that are right, in its tests and in README.md too', async () => {
    const readme = readFileSync(packageFile('packages/python/README.md'), 'utf8');
    const examples = [...readme.matchAll(/```python\n([^]*?)```/g)].map(([, code = ''], at) => {
      const path = join(folder, `example_${String(at)}.py`);
      writeFileSync(path, code);
      return path;
    });
    const cache = fileURLToPath(packageFile('node_modules/.cache/mypy'));
    mkdirSync(cache, { recursive: true });
    const { stdout } = await run(python, ['-m', 'mypy', '--cache-dir', cache, 'parley_voice', 'tests', ...examples], {
      cwd: root,
    });
    expect(stdout).toContain('no issues found');
  });
});
