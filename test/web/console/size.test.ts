import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { packageFile } from '../../../src/package-files.js';

/** What a browser loads for /console before anybody talks. */
const FILES = ['console.html', 'console.js', 'console.css', 'style.css', 'icon.svg'];
const LIMIT = 60_000;

it('the console takes at most 60 kB on the way', () => {
  const bytes = FILES.map((name) => gzipSync(readFileSync(packageFile(`dist/web/${name}`))).length);
  expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(LIMIT);
});
