import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { packageFile } from '../../src/package-files.js';

it('keeps the made models as their script makes them, and small', () => {
  const script = fileURLToPath(packageFile('fixtures/make-models.mjs'));
  expect(execFileSync(process.execPath, [script, '--check'], { encoding: 'utf8' })).toBe(
    'every file comes out the same\n',
  );
  const sizes = ['fixtures/models', 'fixtures/model-families'].flatMap((name) => {
    const folder = fileURLToPath(packageFile(name));
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => statSync(join(folder, file)).size);
  });
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(200_000);
});
