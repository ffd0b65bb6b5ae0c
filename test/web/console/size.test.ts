import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { packageFile } from '../../../src/package-files.js';

/** What a browser loads for /console before anybody talks or replays. */
const FILES = ['console.html', 'console.js', 'console-chunk.js', 'console.css', 'style.css', 'icon.svg'];
const LIMIT = 61_000;

const packed = (name: string): number => gzipSync(readFileSync(packageFile(`dist/web/${name}`))).length;

it('the console takes at most 61 kB on the way', () => {
  expect(FILES.map(packed).reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(LIMIT);
});

it('nothing but test suites is loaded later with the console', () => {
  const chunks = readdirSync(packageFile('dist/web')).filter((name) => /^console-.*\.js$/.test(name));
  expect(chunks).toEqual(['console-chunk.js', 'console-evals-view.js']);
});

it('the conversation core that replays a call takes about as much again, for those who do', () => {
  expect(packed('replay-worker.js')).toBeLessThanOrEqual(1.1 * LIMIT);
});
