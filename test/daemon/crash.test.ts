import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { packageFile } from '../../src/package-files.js';

const SCRIPT = fileURLToPath(packageFile('scripts/security/crash.mjs'));

describe('a daemon that is killed while it writes', () => {
  // `npm run test:security -- crash` does it a thousand times.
  it('has lost nothing that it acknowledged, eight times', async () => {
    const script = spawn(process.execPath, [SCRIPT, '--rounds=8', '--longest-ms=1200']);
    let out = '';
    script.stdout.on('data', (data: Buffer) => (out += data.toString()));
    script.stderr.on('data', (data: Buffer) => (out += data.toString()));
    const [code] = (await once(script, 'close')) as [number];
    expect(code, out).toBe(0);
    expect(out).toMatch(/^8 deaths: 0 faults; there are [1-9]/m);
  }, 300_000);
});
