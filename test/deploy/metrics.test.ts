import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { hasTool } from '../../scripts/system-tools.mjs';
import { packageFile } from '../../src/package-files.js';
import { House } from '../daemon/house.js';

const FILES = ['grafana-dashboard.json', 'prometheus-rules.yaml', 'prometheus-rules.test.yaml'] as const;
const HPA = 'helm/parley/templates/horizontalpodautoscaler.yaml';

interface Dashboard {
  panels: { id: number; title: string; targets?: { expr: string }[] }[];
  templating: { list: { query?: unknown }[] };
}

const pathOf = (file: string): string => fileURLToPath(packageFile(`deploy/${file}`));
const text = (file: string): string => readFileSync(pathOf(file), 'utf8');

describe('the dashboard and the alert rules', () => {
  let known: Set<string | undefined>;
  let folder = '';

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'parley-rules-'));
    // With a store of files, whose figures are there only then.
    const keys = { filesAccessKeyId: 'id', filesSecretAccessKey: 'secret' };
    const house = await House.open({ files: 's3://calls?endpoint=http://127.0.0.1:9', ...keys });
    const metrics = await (await house.request('/metrics')).text();
    await house.close();
    known = new Set([...metrics.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each([...FILES, HPA])('%s asks for figures that /metrics has', (file) => {
    const asked = text(file).match(/\b(?:parley|process|nodejs)_[a-z_]+/g) ?? [];
    const names = new Set(asked.map((name) => name.replace(/_(?:bucket|sum|count)$/, '')));
    expect(names.size).toBeGreaterThan(0);
    for (const name of names) expect(known, name).toContain(name);
  });

  it('has panels of their own, each with something to ask', () => {
    const { panels } = JSON.parse(text('grafana-dashboard.json')) as Dashboard;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
    for (const { title, targets } of panels) expect(targets?.length, title).toBeGreaterThan(0);
  });

  it.skipIf(!hasTool('promtool'))('the rules pass Prometheus, and fire when they should', () => {
    const promtool = (...args: string[]): string => execFileSync('promtool', args, { encoding: 'utf8', stdio: 'pipe' });
    expect(promtool('check', 'rules', pathOf('prometheus-rules.yaml'))).toContain('SUCCESS');
    expect(promtool('test', 'rules', pathOf('prometheus-rules.test.yaml'))).toContain('SUCCESS');
  });

  it.skipIf(!hasTool('promtool'))('the questions of the dashboard are PromQL', () => {
    const { panels } = JSON.parse(text('grafana-dashboard.json')) as Dashboard;
    const asked = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    const rules = asked.map((expr, at) => ({
      record: `panel:question:${String(at)}`.replaceAll(/\d/g, (digit) => 'abcdefghij'[Number(digit)] ?? ''),
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
    }));
    const file = join(folder, 'panels.yaml');
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'panels', rules }] }));
    expect(execFileSync('promtool', ['check', 'rules', file], { encoding: 'utf8' })).toContain('SUCCESS');
  });

  it('every rule that can fire is tested, or needs no test', () => {
    const rules = parse(text('prometheus-rules.yaml')) as { groups: { rules: { alert: string }[] }[] };
    const tested = new Set(text('prometheus-rules.test.yaml').match(/\bParley\w+/g));
    const names = rules.groups.flatMap((group) => group.rules.map(({ alert }) => alert));
    for (const name of tested) expect(names).toContain(name);
    expect(names.length - tested.size, names.filter((name) => !tested.has(name)).join()).toBeLessThan(6);
  });
});
