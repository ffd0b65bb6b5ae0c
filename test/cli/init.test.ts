import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { loadAgentFile } from '../../src/agent/agent-file.js';
import { loadSuite } from '../../src/eval/suite/load-suite.js';
import { installedSpec } from '../../src/cli/init.js';
import { inFolder, parley } from './support.js';

const read = (path: string): string => readFileSync(path, 'utf8');

it('writes a project, and says what to do with it', async () => {
  await inFolder(async (path) => {
    const folder = path('my agent');
    const { code, out, err } = await parley(['init', folder, '--yes']);
    expect(code).toBe(0);
    const files = out.trim().split('\n');
    expect(files).toContain(`wrote ${join(folder, 'agent.jsonc')}`);
    expect(files.every((line) => existsSync(line.replace('wrote ', '')))).toBe(true);
    expect(err).toMatch(/cd .*my agent\n {2}npm install\n {2}npm start/);
    const manifest = JSON.parse(read(join(folder, 'package.json'))) as Record<string, Record<string, string>>;
    expect(manifest).toMatchObject({ name: 'my-agent', private: true, type: 'module' });
    // This is a checkout: the project uses it, because the version may not be in the registry.
    const spec = manifest['dependencies']?.['@parley-voice/parley'] ?? '';
    expect(existsSync(join(folder, spec.replace('file:', ''), 'package-lock.json'))).toBe(true);
    // npm takes the name alone for packages of a registry only.
    expect(manifest['allowScripts']).toHaveProperty([`@parley-voice/parley@${spec}`], true);
    expect(read(join(folder, '.gitignore'))).toContain('node_modules');
    // Nothing to do the second time.
    expect(await parley(['init', folder, '--yes'])).toMatchObject({ code: 0, out: '' });
  });
});

it('gives the agent a name of any characters', async () => {
  await inFolder(async (path) => {
    const name = 'Ann\'s "$& Cakes": more';
    expect((await parley(['init', path('cakes'), '--yes', '--name', name, '--package', '1.2.3'])).code).toBe(0);
    expect((await loadAgentFile(path('cakes/agent.jsonc'))).name).toBe(name);
    expect((await loadSuite(path('cakes/suite.yaml'))).suite.name).toBe(name);
    expect(read(path('cakes/README.md'))).toContain(`# ${name}\n`);
    expect(read(path('cakes/package.json'))).toContain('"@parley-voice/parley": "1.2.3"');
    expect(read(path('cakes/package.json'))).toContain('"@parley-voice/parley": true');
  });
});

it('keeps files that are there and says so, unless it is told to replace them', async () => {
  await inFolder(async (path) => {
    mkdirSync(path('old'));
    writeFileSync(path('old/package.json'), '{"name": "old"}');
    writeFileSync(path('old/suite.yaml'), 'name: mine\n');
    const kept = await parley(['init', path('old'), '--yes']);
    expect(kept.code).toBe(0);
    expect(kept.err).toContain('Kept as they were: package.json, suite.yaml. --force replaces them.');
    expect(kept.err).toContain('package.json needs: {"type":"module","scripts":{"start":');
    expect(read(path('old/package.json'))).toBe('{"name": "old"}');
    expect(read(path('old/suite.yaml'))).toBe('name: mine\n');
    expect(kept.out).toContain(`wrote ${path('old/agent.jsonc')}`);
    const forced = await parley(['init', path('old'), '--yes', '--force']);
    expect(forced.out).toBe(`replaced ${path('old/package.json')}\nreplaced ${path('old/suite.yaml')}\n`);
    expect(read(path('old/suite.yaml'))).toContain('The bakery');
    writeFileSync(path('file'), '');
    expect(await parley(['init', path('file'), '--yes'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('[FILE_NOT_WRITABLE]') as string,
    });
  });
});

it('asks in a terminal for what is not given, and before it replaces a file', async () => {
  await inFolder(async (path) => {
    const asked = await parley(['init'], { stdin: [path('asked'), 'Cakes'], stdinTerminal: true });
    expect(asked.code).toBe(0);
    expect(asked.err).toContain('Folder of the project [my-agent]: ');
    expect(asked.err).toContain('Name of the agent [The bakery]: ');
    expect((await loadAgentFile(path('asked/agent.jsonc'))).name).toBe('Cakes');
    writeFileSync(path('asked/suite.yaml'), 'name: mine\n');
    writeFileSync(path('asked/settings.jsonc'), '{}');
    const again = await parley(['init', path('asked'), '--name', 'Cakes'], { stdin: ['y', ''], stdinTerminal: true });
    expect(again.err).toContain(`Replace ${path('asked/suite.yaml')}? [y/N]`);
    expect(again.out).toBe(`replaced ${path('asked/suite.yaml')}\n`);
    expect(again.err).toContain('Kept as they were: settings.jsonc.');
  });
});

it('changes what a package.json that is there installs as parley, and nothing else', async () => {
  await inFolder(async (path) => {
    expect((await parley(['init', path('cakes'), '--yes', '--package', '^1.2.3'])).err).toContain('(E404)');
    const manifest = JSON.parse(read(path('cakes/package.json'))) as { dependencies: object };
    const mine = { ...manifest, author: 'Ann', dependencies: { ...manifest.dependencies, zod: '4' } };
    writeFileSync(path('cakes/package.json'), JSON.stringify(mine));
    writeFileSync(path('parley.tgz'), '');
    const again = await parley(['init', path('cakes'), '--yes', '--package', path('parley.tgz')]);
    expect(again.out).toBe(`changed ${path('cakes/package.json')}: @parley-voice/parley is file:../parley.tgz\n`);
    expect(again.err).not.toContain('Kept');
    expect(JSON.parse(read(path('cakes/package.json')))).toEqual({
      ...mine,
      dependencies: { ...mine.dependencies, '@parley-voice/parley': 'file:../parley.tgz' },
    });
  });
});

it('knows the archive or repository that npm installed it from', async () => {
  await inFolder(async (path) => {
    const root = path('app/node_modules/@parley-voice/parley');
    const installedFrom = (resolved: string): string | null => {
      mkdirSync(root, { recursive: true });
      const packages = { 'node_modules/@parley-voice/parley': { resolved } };
      writeFileSync(path('app/node_modules/.package-lock.json'), JSON.stringify({ packages }));
      return installedSpec(`${root}/`, path('new/agent'));
    };
    writeFileSync(path('parley.tgz'), '');
    expect(installedFrom('file:../parley.tgz')).toBe('file:../../parley.tgz');
    const repository = 'git+ssh://git@git.example/parley.git#0123456';
    expect(installedFrom(repository)).toBe(repository);
    expect(installedFrom('https://registry.example/parley-0.1.0.tgz')).toBeNull();
    expect(installedSpec(path('nowhere/'), path('new'))).toBeNull();
  });
});
