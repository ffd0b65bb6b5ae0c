import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { packageFile } from '../../src/package-files.js';

const text = (path: string): string => readFileSync(packageFile(path), 'utf8');

it('docs/decisions.md names versions and licences of packages as they are installed', () => {
  const listed = text('docs/decisions.md').matchAll(/([@\w/-]+) (\d+\.\d+\.\d+), ((?:MIT|BSD)[-\w]*)/g);
  const installed = [...listed].map(([, name = '', version, licence]) => {
    const is = JSON.parse(text(`node_modules/${name}/package.json`)) as { version: string; license: string };
    expect({ name, version: is.version, licence: is.license }).toEqual({ name, version, licence });
    return name;
  });
  expect(installed.length).toBeGreaterThanOrEqual(9);
});
