import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { packageFile } from '../../../src/package-files.js';

/** What a browser loads for /console before anybody talks or replays, beside the scripts. */
const FILES = ['console.html', 'console.css', 'style.css', 'icon.svg'];
const LIMIT = 53_000;

const read = (name: string): Buffer => readFileSync(packageFile(`dist/web/${name}`));
const packed = (name: string): number => gzipSync(read(name)).length;

/** A script of the console and all that it loads at once. */
function withImports(name: string, seen = new Set<string>()): Set<string> {
  if (seen.has(name)) return seen;
  seen.add(name);
  const imports = read(name)
    .toString()
    .matchAll(/(?:^|[;}])(?:import|export)\b[^"'();]*["']\.\/([\w.-]+)["']/g);
  for (const [, imported = ''] of imports) withImports(imported, seen);
  return seen;
}

it('the console takes at most 53 kB on the way', () => {
  const scripts = withImports('console.js');
  expect(scripts.size).toBeGreaterThan(1);
  expect([...FILES, ...scripts].map(packed).reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(LIMIT);
});

it('nothing but running calls, test suites, agents with their steps and calls of its own is loaded later with the console', () => {
  const later = readdirSync(packageFile('dist/web')).filter((name) => /^console-.*\.js$/.test(name));
  const views = later.filter((name) => !name.startsWith('console-chunk-')).map((name) => name.replace(/-\w+\.js$/, ''));
  expect(views.toSorted()).toEqual([
    'console-active-view',
    'console-agent-view',
    'console-drawing',
    'console-editor',
    'console-evals-view',
    'console-live-call',
    'console-live-view',
    'console-publishing',
  ]);
});

it('the conversation core that replays a call takes at most 86 kB more, for those who do', () => {
  expect(packed('replay-worker.js')).toBeLessThanOrEqual(86_000);
});
