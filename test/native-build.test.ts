import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';

const script = fileURLToPath(new URL('../native/build.mjs', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'parley-build-'));

afterAll(() => rmSync(folder, { recursive: true }));

function build(env: NodeJS.ProcessEnv): { status: number | null; lines: string[] } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script], {
    env: { ...process.env, ...env },
    encoding: 'utf8',
    timeout: 15_000,
  });
  return { status, lines: `${stdout}${stderr}`.trim().split('\n') };
}

describe('building the addon at install', () => {
  it('is left out with PARLEY_NATIVE=0', () => {
    expect(build({ PARLEY_NATIVE: '0' })).toEqual({
      status: 0,
      lines: ['parley: native addon not built (PARLEY_NATIVE=0)'],
    });
  });

  it('may fail without failing the install, and says so in one line', () => {
    const failing = join(folder, 'node-gyp.cjs');
    writeFileSync(failing, 'console.error("no compiler"); process.exit(7);');
    const { status, lines } = build({ npm_config_node_gyp: failing, PARLEY_NATIVE: '1' });
    expect(status).toBe(0);
    expect(lines).toEqual([expect.stringMatching(/not built, slower WASM .* \(node-gyp ended with 7, see .*\.log\)$/)]);
  });
});
