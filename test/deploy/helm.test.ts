import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { deployTools } from '../../scripts/deploy-tools/install.mjs';
import { packageFile } from '../../src/package-files.js';
import { unknownSettings } from './settings-of.js';

const TSC = fileURLToPath(packageFile('node_modules/.bin/tsc'));
const CHART = fileURLToPath(packageFile('deploy/helm/parley'));

interface Resource {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
}

interface Container {
  env: { name: string; value?: string }[];
  readinessProbe: { httpGet: { path: string } };
  lifecycle: { preStop: { exec: { command: string[] } } };
}

interface StatefulSet extends Resource {
  spec: {
    replicas?: number;
    template: {
      spec: { terminationGracePeriodSeconds: number; hostNetwork?: boolean; containers: [Container] };
    };
  };
}

/** What people may switch on, all at once. */
const ALL = [
  'autoscaling.enabled=true',
  'serviceMonitor.enabled=true',
  'serviceMonitor.labels.team=voice',
  'ingress.enabled=true',
  'ingress.className=haproxy',
  'ingress.tlsSecretName=calls-tls',
  'hostNetwork=true',
  'files=s3://calls/prod',
  'publicUrl=https://calls.example.com',
  'trustedProxies[0]=10.0.0.0/8',
  'env.PARLEY_LOG_LEVEL=warn',
  'persistence.storageClass=fast',
  'imagePullSecrets[0].name=registry',
  'nodeSelector.pool=voice',
  'tolerations[0].key=voice',
  'tolerations[0].operator=Exists',
];

const tools = deployTools();

describe.skipIf(tools === null)('the Helm chart', () => {
  const { helm = '', modules = '' } = tools ?? {};
  let folder = '';

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'parley-chart-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function run(...args: string[]): string {
    return execFileSync(helm, args, { encoding: 'utf8', stdio: 'pipe', env: { HOME: folder, PATH: '' } });
  }

  function rendered(set: readonly string[] = []): Resource[] {
    const text = run('template', 'calls', CHART, ...set.flatMap((one) => ['--set', one]));
    return parseAllDocuments(text)
      .map((document) => {
        expect(document.errors).toEqual([]);
        return document.toJS() as Resource | null;
      })
      .filter((resource) => resource !== null);
  }

  const statefulSetOf = (resources: readonly Resource[]): StatefulSet =>
    resources.find(({ kind }) => kind === 'StatefulSet') as StatefulSet;

  it('passes helm lint, strictly', () => {
    expect(run('lint', '--strict', CHART)).toContain('0 chart(s) failed');
  });

  it.each([
    ['with its defaults', []],
    ['with everything', ALL],
  ])('makes resources by the schemas of Kubernetes 1.34, without unknown members, %s', async (_which, set) => {
    const resources = rendered(set);
    const lines: string[] = [];
    for (const [at, resource] of resources.entries()) {
      const { apiVersion, kind } = resource;
      const owner = apiVersion.startsWith('monitoring.')
        ? '@kubernetes-models/prometheus-operator'
        : 'kubernetes-models';
      const file = join(modules, owner, apiVersion, `${kind}.js`);
      const model = (await import(pathToFileURL(file).href)) as Record<string, new (data: object) => Model>;
      const Kind = model[kind];
      if (Kind === undefined) throw new Error(`${kind} is unknown`);
      expect(() => new Kind(resource).validate(), `${kind} ${resource.metadata.name}`).not.toThrow();
      // The schemas allow members that they do not name; the types do not.
      lines.push(`import type { I${kind} as Kind${String(at)} } from ${JSON.stringify(file)};`);
      lines.push(`export const resource${String(at)}: Kind${String(at)} = ${JSON.stringify(resource, null, 2)};`);
    }
    expect(faultsOf(lines.join('\n'))).toEqual([]);
    expect(new Set(resources.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).size).toBe(resources.length);
  });

  it('notices what the schemas do not allow', () => {
    const [file] = [join(modules, 'kubernetes-models/apps/v1/StatefulSet.js')];
    const text = `import type { IStatefulSet } from ${JSON.stringify(file)};
      export const a: IStatefulSet = { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { nmae: 'x' } };`;
    expect(faultsOf(text)).toHaveLength(1);
  });

  /** What the compiler says of a module. */
  function faultsOf(text: string): string[] {
    const path = join(folder, 'resources.ts');
    writeFileSync(path, text);
    const options = ['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', '--types', '', '--module', 'nodenext'];
    const { stdout } = spawnSync(TSC, [...options, path], { encoding: 'utf8' });
    return stdout.split('\n').filter((line) => /\berror TS/.test(line));
  }

  it('gives a pod a minute more than its drain, tells it its own address, and names known settings alone', () => {
    const { terminationGracePeriodSeconds, containers } = statefulSetOf(rendered(['drainS=120', ...ALL])).spec.template
      .spec;
    const [{ env, readinessProbe, lifecycle }] = containers;
    const valueOf = (name: string): string | undefined => env.find((each) => each.name === name)?.value;
    expect(terminationGracePeriodSeconds).toBe(180);
    expect(valueOf('PARLEY_DRAIN_S')).toBe('120');
    expect(valueOf('PARLEY_NODE_URL')).toBe('http://$(POD_IP):8080');
    // The drain begins behind it, and what is left has to be enough.
    expect(Number(lifecycle.preStop.exec.command[1])).toBeLessThan(60);
    expect(readinessProbe.httpGet.path).toBe('/readyz');
    expect(unknownSettings(env.map(({ name }) => name))).toEqual([]);
  });

  it('leaves the number of pods to the autoscaler, where there is one', () => {
    expect(statefulSetOf(rendered()).spec.replicas).toBe(2);
    expect(statefulSetOf(rendered(['autoscaling.enabled=true'])).spec.replicas).toBeUndefined();
  });

  it.each([['drainS=soon'], ['replica=3'], ['files=https://x'], ['autoscaling.targetLoad=7']])(
    'refuses values such as %s',
    (value) => {
      expect(() => rendered([value])).toThrow(/values don't meet the specifications|additional properties|got string/);
    },
  );
});

interface Model {
  validate(): void;
}
