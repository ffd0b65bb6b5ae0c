import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freePort, waitForAnswer } from '../../scripts/daemon-process.mjs';
import { packageFile, packageVersion } from '../../src/package-files.js';

const run = promisify(execFile);
const root = fileURLToPath(packageFile(''));
const TSC = fileURLToPath(packageFile('node_modules/.bin/tsc'));
const version = packageVersion();
const KEY = 'sk_test_0123456789';

interface Manifest {
  name: string;
  exports: Record<string, string | { types: string; default: string }>;
  scripts: Record<string, string>;
  workspaces?: string[];
  peerDependencies?: Record<string, string>;
}

interface Locked {
  dev?: boolean;
  link?: boolean;
  engines?: { node?: string };
}

const own = manifestOf('');
const lock = JSON.parse(readFileSync(packageFile('package-lock.json'), 'utf8')) as { packages: Record<string, Locked> };
/** This package, and those in workspaces. */
const packages = [own, ...(own.workspaces ?? []).map((path) => manifestOf(`${path}/`))];
const entries = packages.flatMap((manifest) =>
  Object.keys(manifest.exports)
    .filter((entry) => !/\.\w+$/.test(entry))
    .map((entry) => ({ entry: posix.join(manifest.name, entry), isOwn: manifest === own })),
);
const styles = packages.flatMap(({ name, exports }) =>
  Object.keys(exports)
    .filter((entry) => entry.endsWith('.css'))
    .map((entry) => posix.join(name, entry)),
);

function manifestOf(path: string): Manifest {
  return JSON.parse(readFileSync(packageFile(`${path}package.json`), 'utf8')) as Manifest;
}

/** Passes on what it may not have, as callers do; null and undefined both mean the default. */
const CALLER = `
import { type AgentConfig, Engine, MemoryTransport, type Session, type SessionRequest } from 'PACKAGE';
export async function call(agent: AgentConfig, caller: string | null, id?: string): Promise<Session> {
  const phones = caller === null ? null : { from: caller, to: '+12025550100' };
  const request: SessionRequest = { agent, transport: new MemoryTransport(), phones, id, agentId: null, observe: null };
  return new Engine({ speculation: false }).createSession(request);
}`;

/** The same for lines: a browser's and a call's whole way. */
const LINES_CALLER = `
import type { AgentConfig, CallReport, Engine } from 'PACKAGE';
import { type IncomingCall, type Line, rtpLine, sipLine, talkSocketLine, twilioLine, webRtcLine } from 'PACKAGE/lines';
export async function serve(engine: Engine, agent: AgentConfig, path?: string): Promise<Line[]> {
  const onEnd = ({ status, session }: CallReport): void => console.log(status, session?.messages.length);
  const answer = async (call: IncomingCall): Promise<void> => {
    const { answered, finished } = await call.answer({ agent, signal: call.signal, metadata: null });
    await (await answered)?.say('Hello.');
    onEnd(await finished);
  };
  const talk = await talkSocketLine({ engine, path, onError: console.error });
  talk.receive((call) => (call.key === 'secret' ? answer(call) : call.reject('declined')));
  const webRtc = await webRtcLine({ engine, portRange: [40_000, 40_100] });
  webRtc.receive(answer);
  const rtp = await rtpLine({ engine, address: '127.0.0.1', negotiate: ({ offer }) => (offer === '' ? offer : place) });
  const place = { address: '127.0.0.1', port: 4000, codec: 'PCMU' } as const;
  onEnd(await (await rtp.place({ agent, from: 'a', to: 'b' })).finished);
  const sip = await sipLine({ engine, servers: ['sip:sip.example.com'], numbers: ['+12025550199'] });
  const account = { accountSid: 'AC', authToken: 'secret', publicUrl: 'https://voice.example.com' };
  const twilio = await twilioLine({ engine, ...account, onRefused: (refusal, why) => console.log(refusal, why) });
  return [webRtc, rtp, sip, twilio];
}`;

let folder = '';
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'parley-tarball-'))));
afterEach(() => rmSync(folder, { recursive: true }));

/** Paths of the files that npm would pack. */
async function packed(cwd: string, ...options: string[]): Promise<string[]> {
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', ...options], { cwd, maxBuffer: 64 << 20 });
  // A prepare script prints before npm does.
  const [tarball] = JSON.parse(stdout.slice(stdout.search(/^\[$/m))) as { files: { path: string }[] }[];
  return (tarball?.files ?? []).map(({ path }) => path);
}

describe('the tarballs', () => {
  /** What npm packs, of each package, unpacked where a consumer would have it. */
  let consumer = '';
  let files: ReadonlySet<string>;
  beforeAll(async () => {
    consumer = mkdtempSync(join(tmpdir(), 'parley-consumer-'));
    const options = ['--workspaces', '--include-workspace-root', '--ignore-scripts', '--pack-destination', consumer];
    await run('npm', ['pack', ...options], { cwd: root, maxBuffer: 64 << 20 });
    for (const { name } of packages) {
      const tarball = join(consumer, `${name.replace('@', '').replace('/', '-')}-${version}.tgz`);
      const to = join(consumer, 'node_modules', name);
      mkdirSync(to, { recursive: true });
      await run('tar', ['xzf', tarball, '--strip-components=1', '-C', to]);
    }
    // It is no workspace: npm knows no workspace that depends on the root.
    const creator = manifestOf('packages/create/') as Manifest & { dependencies: object };
    expect(creator.dependencies).toEqual({ [own.name]: version });
    await run('npm', ['pack', '--pack-destination', consumer], { cwd: join(root, 'packages/create') });
    const place = join(consumer, 'node_modules', creator.name);
    mkdirSync(place, { recursive: true });
    const tarball = join(consumer, `${creator.name.replace('@', '').replace('/', '-')}-${version}.tgz`);
    await run('tar', ['xzf', tarball, '--strip-components=1', '-C', place]);
    const all = readdirSync(join(consumer, 'node_modules', own.name), { recursive: true, encoding: 'utf8' });
    files = new Set(all.map((path) => path.replaceAll('\\', '/')));
    const bin = join(consumer, 'node_modules/.bin');
    mkdirSync(bin);
    symlinkSync(join(consumer, 'node_modules', own.name, 'bin/parley.js'), join(bin, 'parley'));
    symlinkSync(join(place, 'create.js'), join(bin, 'create-parley'));
    for (const path of installed()) {
      const target = fileURLToPath(packageFile(path));
      const place = join(consumer, path);
      if (!existsSync(target) || existsSync(place)) continue; // optional, for another platform
      mkdirSync(dirname(place), { recursive: true });
      symlinkSync(target, place);
    }
  }, 180_000);
  afterAll(() => rmSync(consumer, { recursive: true }));

  it('have each file that the README links to, and the source of each source map', () => {
    const readme = readFileSync(packageFile('README.md'), 'utf8');
    const links = [...readme.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g)].map(([, path = '']) => path);
    expect(links.length).toBeGreaterThan(20);
    expect(links.filter((path) => !files.has(path))).toEqual([]);

    const maps = [...files].filter((path) => path.endsWith('.js.map'));
    expect(maps).toContain('dist/cli.js.map');
    const sources = maps.flatMap((path) => {
      const map = JSON.parse(readFileSync(packageFile(path), 'utf8')) as {
        sources: string[];
        sourcesContent?: unknown;
      };
      if (map.sourcesContent !== undefined) return [];
      return map.sources.map((source) => posix.join(posix.dirname(path), source));
    });
    // Bundles contain packages too; their sources come with them, or not at all.
    const ours = sources.filter((path) => !path.startsWith('node_modules/'));
    expect(ours.length).toBeGreaterThan(500);
    expect(ours.filter((path) => !files.has(path))).toEqual([]);
  });

  // What is for Node by one compiler run each way, which takes a quarter of the time; what is for browsers by runs of
  // its own, because pages that have one of them need not have the other.
  it.each([
    { of: own.name, uses: entries.filter(({ isOwn }) => isOwn), isOwn: true },
    ...entries.filter(({ isOwn }) => !isOwn).map((one) => ({ of: one.entry, uses: [one], isOwn: false })),
  ])('compile for strict consumers of $of, without skipLibCheck', async ({ of, uses, isOwn }) => {
    const callers: Readonly<Record<string, string>> = { [own.name]: CALLER, [`${own.name}/lines`]: LINES_CALLER };
    const projects = [
      { name: 'node', options: { module: 'nodenext' }, endings: ['mts', 'cts'] },
      { name: 'bundler', options: { module: 'esnext', moduleResolution: 'bundler' }, endings: ['ts'] },
    ];
    for (const { name, options, endings } of projects) {
      const project = join(consumer, of.replaceAll('/', '_'), name);
      mkdirSync(project, { recursive: true });
      const files = uses.flatMap(({ entry }) => {
        const style = styles.filter((path) => path.startsWith(`${entry}/`)).map((path) => `import '${path}';\n`);
        const program = `import * as all from '${entry}';\n${style.join('')}export default all;\n`;
        const caller = (callers[entry] ?? '').replaceAll('PACKAGE', own.name);
        return endings.map((ending) => {
          const file = `${entry.replaceAll('/', '_')}.${ending}`;
          writeFileSync(join(project, file), program + caller);
          return file;
        });
      });
      const compilerOptions = {
        ...options,
        strict: true,
        exactOptionalPropertyTypes: true,
        noUncheckedIndexedAccess: true,
        skipLibCheck: false,
        target: 'es2022',
        // Packages for browsers need the types of browsers; those for Node must not.
        lib: isOwn ? ['es2023'] : ['es2023', 'dom', 'dom.iterable'],
        types: isOwn ? ['node'] : [],
        jsx: 'react-jsx',
        noEmit: true,
        // Otherwise TypeScript finds this checkout's packages behind the links, those for development too.
        preserveSymlinks: true,
      };
      writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
      const done = await run(TSC, ['-p', project]).catch((error: { stdout: string }) => error);
      expect(done.stdout, name).toBe('');
    }
  });

  it('make a new project, whose types, tests and daemon work at once, with its function in code', async () => {
    const project = join(consumer, 'my-agent');
    const env = { PATH: process.env['PATH'], HOME: consumer, OLLAMA_HOST: 'http://127.0.0.1:9', PARLEY_API_KEY: KEY };
    const made = await run(process.execPath, [join(consumer, 'node_modules/.bin/create-parley'), 'my-agent', '--yes'], {
      cwd: consumer,
      env,
    });
    expect(made.stdout).toContain('wrote my-agent/functions.js');
    const { dependencies } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as Manifest & {
      dependencies: Record<string, string>;
    };
    expect(dependencies).toEqual({ [own.name]: `^${version}` });
    // As npm runs the scripts, with the commands of the packages above on the path.
    const script = (name: string, ...more: string[]): Promise<{ stdout: string }> =>
      run('npm', ['run', '--silent', name, '--', ...more], { cwd: project, env: { ...env, PATH: binPath(env.PATH) } });
    const binPath = (path = ''): string => `${join(consumer, 'node_modules/.bin')}:${path}`;
    const typed = await run(TSC, ['-p', join(project, 'jsconfig.json')]).catch((error: { stdout: string }) => error);
    expect(typed.stdout).toBe('');
    expect((await script('check')).stdout).toBe('agent.jsonc: the agent "The bakery" is valid\n');
    expect((await script('test', '--mode', 'text')).stdout).toContain('All 3 cases pass');

    const port = await freePort();
    const daemon = spawn('npm', ['start', '--', '--port', String(port)], {
      cwd: project,
      env: { ...env, PATH: binPath(env.PATH) },
      stdio: 'ignore',
      detached: true,
    });
    try {
      const address = `http://127.0.0.1:${String(port)}`;
      await waitForAnswer(`${address}/readyz`, daemon, 60_000);
      const reply = await fetch(`${address}/chat/completions`, {
        method: 'POST',
        headers: { authorization: KEY, 'content-type': 'application/json' },
        body: JSON.stringify({
          agent: { agent_id: 'the-bakery' },
          messages: [{ role: 'user', content: 'Where is order twelve?' }],
        }),
      });
      expect(await reply.text()).toContain('in the oven');
    } finally {
      process.kill(-(daemon.pid ?? 0), 'SIGTERM');
      await once(daemon, 'close');
    }
  });

  it('run in Node, imported and required, and bundled for browsers if they are for those', async () => {
    const uses = entries.map(({ entry }) => entry);
    const check = `if (Object.keys(all).length === 0) throw new Error('nothing is exported');`;
    const place = (name: string): string => join(consumer, name);
    writeFileSync(
      place('run.mjs'),
      uses.map((entry) => `{ const all = await import('${entry}'); ${check} }`).join('\n'),
    );
    writeFileSync(place('run.cjs'), uses.map((entry) => `{ const all = require('${entry}'); ${check} }`).join('\n'));
    await Promise.all(['run.mjs', 'run.cjs'].map((name) => run(process.execPath, [place(name)])));
    for (const { entry, isOwn } of entries) {
      if (isOwn) continue;
      const contents = `import * as all from '${entry}'; console.log(all);`;
      const made = await build({
        stdin: { contents, resolveDir: consumer },
        bundle: true,
        platform: 'browser',
        format: 'esm',
        write: false,
        logLevel: 'silent',
        loader: { '.css': 'empty' },
      });
      expect(made.outputFiles[0]?.text.length, entry).toBeGreaterThan(1000);
    }
  });

  it.each([
    ['@parley-voice/web', 16_000],
    ['@parley-voice/react', 8000],
  ])('take no more of a page than they may: %s, %i bytes gzipped beside what it imports', async (name, budget) => {
    const dist = join(consumer, 'node_modules', name, 'dist/index.js');
    const made = await build({ entryPoints: [dist], minify: true, format: 'esm', write: false });
    const size = gzipSync(made.outputFiles[0]?.contents ?? '').length;
    expect(size).toBeLessThan(budget);
    expect(size).toBeGreaterThan(budget / 4);
  });

  it('keep what servers render apart from what runs in browsers, as Next.js wants it', () => {
    const built = readFileSync(join(consumer, 'node_modules/@parley-voice/react/dist/index.js'), 'utf8');
    expect(built.split('\n')[0]).toBe("'use client';");
  });
});

/** What npm installs for users of the packages, what these leave to their users, and the types that projects have. */
function installed(): string[] {
  const peers = packages.flatMap(({ peerDependencies = {} }) => Object.keys(peerDependencies));
  const types = ['node', ...peers].map((name) => `node_modules/@types/${name}`);
  const given = new Set([...peers.map((name) => `node_modules/${name}`), ...types, 'node_modules/csstype']);
  return Object.entries(lock.packages)
    .filter(([path, { dev, link }]) => {
      const isTop = /^node_modules\/(@[^/]+\/)?[^/]+$/.test(path);
      return isTop && link !== true && (dev !== true || given.has(path));
    })
    .map(([path]) => path);
}

describe('prepare', () => {
  /** A checkout with the package's own prepare script and a build that takes no time. */
  beforeEach(() => {
    const { name, scripts } = own;
    const build = `node -e "fs.mkdirSync('dist'); fs.writeFileSync('dist/index.js', '')"`;
    const manifest = { name, version: '1.0.0', scripts: { prepare: scripts['prepare'], build }, files: ['dist'] };
    mkdirSync(join(folder, 'checkout/scripts'), { recursive: true });
    writeFileSync(join(folder, 'checkout/package.json'), JSON.stringify(manifest));
    cpSync(packageFile('scripts/prepare.mjs'), join(folder, 'checkout/scripts/prepare.mjs'));
  });
  const isBuilt = (): boolean => existsSync(join(folder, 'checkout/dist/index.js'));

  it('builds an unbuilt checkout that is packed', async () => {
    expect(await packed(join(folder, 'checkout'))).toContain('dist/index.js');
  });

  it('leaves npm install in the checkout as quick as it was', async () => {
    await run('npm', ['install', '--offline'], { cwd: join(folder, 'checkout') });
    expect(isBuilt()).toBe(false);
  });

  it('builds what another project installs from a git repository', async () => {
    const git = (...args: string[]): Promise<unknown> =>
      run('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: join(folder, 'checkout') });
    await git('init', '--quiet');
    await git('add', '--all');
    await git('commit', '--quiet', '--message=All');
    mkdirSync(join(folder, 'user'));
    writeFileSync(join(folder, 'user/package.json'), '{}');
    const cache = join(folder, 'cache');
    await run('npm', ['install', '--offline', `--cache=${cache}`, `git+file://${folder}/checkout`], {
      cwd: join(folder, 'user'),
    });
    expect(existsSync(join(folder, 'user/node_modules', own.name, 'dist/index.js'))).toBe(true);
    expect(isBuilt()).toBe(false);
  });
});

it('installs nothing that does not run on the oldest Node that the package names', () => {
  const [major, minor] = [20, 19];
  expect(readFileSync(packageFile('package.json'), 'utf8')).toContain(`"node": ">=${major}.${minor}"`);
  const runs = (range: string): boolean =>
    range.split('||').some((alternative) => {
      const [, comparator = '', from = '', minorFrom = '0'] =
        /^\s*([\^~>=]*)\s*v?(\d+)(?:\.(\d+))?/.exec(alternative) ?? [];
      if (Number(from) === major) return Number(minorFrom) <= minor;
      return comparator === '>=' && Number(from) < major;
    });
  const refused: string[] = [];
  for (const [path, { dev, engines: { node = '*' } = {} }] of Object.entries(lock.packages)) {
    if (dev !== true && !/^\s*(\*|>= ?0)/.test(node) && !runs(node)) refused.push(`${path} wants ${node}`);
  }
  expect(refused).toEqual([]);
});
