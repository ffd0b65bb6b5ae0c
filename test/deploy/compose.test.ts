import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { deployTools } from '../../scripts/deploy-tools/install.mjs';
import { packageFile } from '../../src/package-files.js';
import { loadSettings } from '../../src/settings/load-settings.js';
import type { Settings } from '../../src/settings/settings.js';

const DEPLOY = fileURLToPath(packageFile('deploy'));
const CLUSTER = join(DEPLOY, 'cluster');

interface Service {
  image?: string;
  build?: { context: string; dockerfile: string };
  environment?: Record<string, string>;
  secrets?: string[];
  configs?: { source: string; target: string }[];
  volumes?: string[];
  depends_on?: Record<string, object>;
  stop_grace_period?: string;
  command?: string[];
}

interface Compose {
  services: Record<string, Service>;
  configs: Record<string, { content: string }>;
  secrets?: Record<string, { file: string }>;
  volumes: Record<string, unknown>;
}

/** As Compose fills in variables: `$$` is a dollar, `${NAME:?why}` must be set, `${NAME:-default}`. */
function filledIn(text: string, env: Readonly<Record<string, string | undefined>>): string {
  return text.replaceAll(
    /\$\$|\$\{(\w+)(?::([?-])([^}]*))?\}/g,
    (whole, name?: string, kind?: string, rest?: string) => {
      if (name === undefined) return '$';
      const value = env[name] ?? '';
      if (value !== '') return value;
      if (kind === '-') return rest ?? '';
      throw new Error(`${whole}: ${name} is not set`);
    },
  );
}

function read(path: string): Compose {
  return parse(readFileSync(path, 'utf8'), { merge: true }) as Compose;
}

const tools = deployTools();

describe.each(['compose.yaml', 'cluster/compose.yaml'])('%s', (file) => {
  it.skipIf(tools === null)('is valid by the schema of the Compose specification', () => {
    const schema = readFileSync(join(tools?.modules ?? '', 'dclint/schemas/compose.schema.json'), 'utf8');
    const { $schema: _dialect, ...rules } = JSON.parse(schema) as Record<string, unknown>;
    const validate = new Ajv({ strict: false, allErrors: true, logger: false }).compile(rules);
    const compose = read(join(DEPLOY, file));
    expect(validate(compose), JSON.stringify(validate.errors)).toBe(true);
    expect(validate({ ...compose, services: { a: { imagee: 'x' } } })).toBe(false);
  });

  it('names what there is: files, volumes, secrets, configurations, services, images', () => {
    const path = join(DEPLOY, file);
    const folder = join(path, '..');
    const { services, configs, secrets, volumes } = read(path);
    for (const [name, service] of Object.entries(services)) {
      const { build, image } = service;
      if (build !== undefined) {
        expect(existsSync(join(folder, build.context, build.dockerfile)), `${name}: ${build.dockerfile}`).toBe(true);
      } else {
        // A tag, so that a machine that starts later has the same.
        expect(image, name).toMatch(/^[a-z0-9.-]+\/\S+:[\w.-]+$/);
      }
      for (const volume of service.volumes ?? []) {
        const [source = ''] = volume.split(':');
        if (source.startsWith('.')) expect(existsSync(join(folder, source)), volume).toBe(true);
        else expect(Object.keys(volumes), volume).toContain(source);
      }
      for (const secret of service.secrets ?? []) expect(Object.keys(secrets ?? {})).toContain(secret);
      for (const { source } of service.configs ?? []) expect(Object.keys(configs)).toContain(source);
      for (const other of Object.keys(service.depends_on ?? {})) expect(Object.keys(services)).toContain(other);
    }
  });
});

describe('the nodes of cluster/compose.yaml', () => {
  let folder = '';
  let compose: Compose;
  let loaded: Settings[] = [];
  const env = parseEnv(readFileSync(join(CLUSTER, 'example.env'), 'utf8'));

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'parley-compose-'));
    cpSync(join(CLUSTER, 'make-secrets.sh'), join(folder, 'make-secrets.sh'));
    execFileSync(join(folder, 'make-secrets.sh'));
    compose = read(join(CLUSTER, 'compose.yaml'));
    loaded = await Promise.all(['parley-1', 'parley-2'].map(settingsOf));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function settingsOf(name: string): Promise<Settings> {
    const { environment = {}, configs = [], secrets = [] } = compose.services[name] ?? {};
    const source = configs.find(({ target }) => target === environment['PARLEY_CONFIG'])?.source ?? '';
    const config = join(folder, `${name}.json`);
    writeFileSync(config, filledIn(compose.configs[source]?.content ?? '', env));
    const given: Record<string, string> = {};
    for (const [variable, value] of Object.entries(environment)) {
      const secret = /^\/run\/secrets\/(.*)$/.exec(value)?.[1];
      if (secret !== undefined) expect(secrets).toContain(secret);
      given[variable] =
        secret === undefined ? filledIn(value, env) : join(folder, compose.secrets?.[secret]?.file ?? 'nothing');
    }
    const { settings, warnings } = await loadSettings({ env: { ...given, PARLEY_CONFIG: config, HOME: folder } });
    expect(warnings, name).toEqual([]);
    return settings;
  }

  it('have settings that a daemon takes, and share what has to be the same', () => {
    const [one, two] = loaded;
    for (const key of [
      'databaseUrl',
      'secretKey',
      'signingKey',
      'apiKey',
      'publicKey',
      'files',
      'publicUrl',
    ] as const) {
      expect(one?.[key], key).not.toBeNull();
      expect(one?.[key], key).toEqual(two?.[key]);
    }
    expect(one?.sip.numbers).toEqual(['+12025550199']);
  });

  it('have ports of their own on the machine that they share', () => {
    const [one, two] = loaded;
    expect(one?.port).not.toBe(two?.port);
    expect(one?.sip.listen).not.toEqual(two?.sip.listen);
    for (const ranges of [loaded.map(({ sip }) => sip.rtpPorts), loaded.map(({ webrtc }) => webrtc.portRange)]) {
      const [first, second] = ranges;
      expect(first?.[1]).toBeLessThan(second?.[0] ?? 0);
    }
    // Two ports for each call.
    for (const { limits, sip } of loaded) expect(sip.rtpPorts[1] - sip.rtpPorts[0] + 1).toBe(4 * limits.sessions);
    for (const { port, nodeUrl } of loaded) expect(nodeUrl).toBe(`http://127.0.0.1:${String(port)}`);
  });

  it('are stopped no sooner than a minute behind their drain', () => {
    for (const name of ['parley-1', 'parley-2']) {
      const grace = Number.parseInt(compose.services[name]?.stop_grace_period ?? '0', 10);
      expect(grace).toBe((loaded[0]?.drainS ?? 0) + 60);
    }
  });

  it('are those that the proxy and Kamailio know', () => {
    const { proxy } = compose.services;
    const nodes = filledIn(proxy?.environment?.['NODES'] ?? '', env).split(' ');
    expect(nodes).toEqual(loaded.map(({ host, port }) => `${host}:${String(port)}`));
    const dispatcher = filledIn(compose.configs['dispatcher']?.content ?? '', env);
    const known = [...dispatcher.matchAll(/^1 sip:(\S+)$/gm)].map(([, place]) => `udp:${place ?? ''}`);
    expect(known).toEqual(loaded.flatMap(({ sip }) => sip.listen));
    const [, place = ''] = /^udp:(.*)$/.exec(filledIn(compose.services['kamailio']?.command?.[1] ?? '', env)) ?? [];
    for (const { sip } of loaded) expect(sip.servers).toEqual([`sip:${place}`]);
  });

  it('have secrets that only their owner finds, made once', () => {
    const before = readFileSync(join(folder, 'secrets/api-key'), 'utf8');
    execFileSync(join(folder, 'make-secrets.sh'));
    expect(readFileSync(join(folder, 'secrets/api-key'), 'utf8')).toBe(before);
    expect(statSync(join(folder, 'secrets')).mode & 0o77).toBe(0);
    const made = readdirSync(join(folder, 'secrets')).toSorted();
    expect(made).toEqual(Object.keys(compose.secrets ?? {}).toSorted());
  });
});
