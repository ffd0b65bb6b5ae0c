import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { ProgressBar } from '../../../src/cli/shared/progress.js';

function drawn(label: string, terminal: { isTTY?: boolean; columns?: number }): string[] {
  const stream = Object.assign(new PassThrough(), terminal);
  const bar = new ProgressBar(stream, label);
  for (const share of [0, 0.001, 0.5, 1, 2]) bar.update(share);
  bar.clear();
  bar.clear();
  return String(stream.read() ?? '').split('\r');
}

it('draws over its line, once for each percent, and clears it', () => {
  const [, nothing, half, whole, cleared, ...rest] = drawn('playing', { isTTY: true, columns: 100 });
  expect(nothing).toBe(`playing ${'░'.repeat(30)}   0 %`);
  expect(half).toBe(`playing ${'█'.repeat(15)}${'░'.repeat(15)}  50 %`);
  expect(whole).toBe(`playing ${'█'.repeat(30)} 100 %`);
  expect([cleared, rest]).toEqual(['\u001b[K', []]);
});

it.each([80, 60, 40, 10, undefined])('fits into %s columns: a line that wraps could not be drawn over', (columns) => {
  const label = `${'long-'.repeat(20)}name.tar.bz2 122 MB`;
  const lines = drawn(label, { isTTY: true, ...(columns !== undefined && { columns }) }).slice(1, -1);
  expect(lines).toHaveLength(3);
  for (const line of lines) expect(line.length).toBeLessThan(Math.max(39, columns ?? 80));
  if (columns === 80) expect(lines[0]).toMatch(/^….*name.tar.bz2 122 MB ░/u);
});

it('is silent where there is no terminal', () => {
  expect(drawn('playing', {})).toEqual(['']);
});
