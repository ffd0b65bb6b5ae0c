import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { hasTool, SYSTEM_TOOLS } from '../../scripts/system-tools.mjs';
import { packageFile } from '../../src/package-files.js';
import { SHERPA_INSTALL } from '../../src/providers/local/sherpa-package.js';

interface Package {
  files: string[];
  allowScripts: Record<string, boolean>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  peerDependencies: Record<string, string>;
  peerDependenciesMeta: Record<string, { optional?: boolean }>;
}

interface Lock {
  packages: Record<
    string,
    { resolved?: string; link?: boolean; hasInstallScript?: boolean; optionalDependencies?: Record<string, string> }
  >;
}

const own = JSON.parse(readFileSync(packageFile('package.json'), 'utf8')) as Package;
const lock = JSON.parse(readFileSync(packageFile('package-lock.json'), 'utf8')) as Lock;

it('pins every dependency to one version', () => {
  const all = { ...own.dependencies, ...own.devDependencies, ...own.optionalDependencies };
  expect(Object.values(all).filter((version) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))).toEqual([]);
});

it('demands no package of its users: those for a part of it are theirs to choose, in the version that is tested', () => {
  for (const [name, version] of Object.entries(own.peerDependencies)) {
    expect(own.peerDependenciesMeta[name]).toEqual({ optional: true });
    expect(own.devDependencies[name]).toBe(version);
    expect({ ...own.dependencies, ...own.optionalDependencies }).not.toHaveProperty(name);
  }
});

it('names one version of what runs local models, wherever it says how to install it', () => {
  const { 'sherpa-onnx-node': version = '' } = own.peerDependencies;
  expect(SHERPA_INSTALL).toContain(`sherpa-onnx-node@${version} `);
  expect(readFileSync(packageFile('Containerfile'), 'utf8')).toContain(`sherpa-onnx-node@${version}\n`);
  expect(readFileSync(packageFile('NOTICE'), 'utf8')).toContain(`sherpa-onnx-node ${version}`);
});

it('installs from whatever registry the user has', () => {
  expect(Object.values(lock.packages).filter((it) => it.resolved !== undefined && it.link !== true)).toEqual([]);
});

it('has each platform of each dependency in the lockfile, without which npm ci refuses it', () => {
  const locked = new Set(Object.keys(lock.packages).map((path) => path.replace(/^.*node_modules\//, '')));
  const wanted = Object.values(lock.packages).flatMap((it) => Object.keys(it.optionalDependencies ?? {}));
  expect(wanted.filter((name) => !locked.has(name))).toEqual([]);
});

it('knows each dependency that runs a script at installation', () => {
  const scripted = Object.entries(lock.packages)
    .filter(([path, it]) => path !== '' && it.hasInstallScript === true)
    .map(([path]) => path.replace(/^.*node_modules\//, ''));
  // fsevents is for macOS only, and npm leaves it out on other systems.
  expect(scripted.filter((name) => name !== 'fsevents' && own.allowScripts[name] === undefined)).toEqual([]);
});

it('does not ship what only tests need', () => {
  expect(own.files).not.toContain('fixtures');
  expect(own.files).not.toContain('test');
});

it('says of each system tool why the tests need it', () => {
  for (const { command, package: name, why } of SYSTEM_TOOLS) {
    expect([command, name, why].every((text) => text.length > 0)).toBe(true);
  }
});

it('finds programs on the path, and none that is not there', () => {
  expect(hasTool('node')).toBe(true);
  expect(hasTool('parley-no-such-program')).toBe(false);
});
