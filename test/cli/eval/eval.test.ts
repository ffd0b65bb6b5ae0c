import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SuiteResult } from '../../../src/eval/result.js';
import { readLog } from '../../../src/replay/read-log.js';
import { parley } from '../support.js';

const AGENT = 'examples/restaurant/agent.json';

const SUITE = `
name: table
cases:
  - name: hours
    tags: [short]
    caller: {script: [{say: when are you open}]}
    expect: [{said: eleven}, {ends: {by: caller}}]
  - name: wrong
    caller: {script: [{say: when are you open}]}
    expect: [{said: midnight}]
  - name: checked
    caller: {script: [{say: goodbye}]}
    expect:
      - check: ./checks.mjs
      - check: ./checks.mjs#lines
`;

let folder = '';
const path = (name: string): string => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parley-eval-'));
  await writeFile(path('suite.yaml'), SUITE);
  await writeFile(
    path('checks.mjs'),
    `export default ({ report }) => report.status === 'agent-ended';\nexport const lines = ({ lines }) => lines.length > 2 || 'too short';\n`,
  );
});

afterAll(() => rm(folder, { recursive: true, force: true }));

describe('parley eval', () => {
  it('runs a suite, explains what fails, and writes reports, logs and recordings', { timeout: 120_000 }, async () => {
    const flags = ['--agent', AGENT, '--only', 'hours', '--only', 'wrong', '--out', path('kept'), '--concurrency', '1'];
    const reports = ['--junit', path('junit.xml'), '--html', path('report.html')];
    const { code, out } = await parley(['eval', path('suite.yaml'), ...flags, ...reports]);
    expect(code).toBe(1);
    expect(out).toMatch(/hours.*\[text\]/);
    expect(out).toMatch(/hours.*\[voice\]/);
    expect(out).toContain('said "midnight": the agent never says "midnight"');
    expect(out).toMatch(/caller +when are you open/);
    expect(out).toContain('2 of 4 cases fail; 4 calls in');
    expect(await readFile(path('junit.xml'), 'utf8')).toContain('tests="4" failures="2" errors="0"');
    expect(await readFile(path('report.html'), 'utf8')).toContain('never says');
    const kept = (await readdir(path('kept'))).toSorted();
    expect(kept.filter((name) => name.endsWith('.wav'))).toHaveLength(1);
    const logs = kept.filter((name) => name.endsWith('.jsonl'));
    expect(logs).toHaveLength(2);
    const log = readLog(await readFile(path(join('kept', logs[0] ?? '')), 'utf8'));
    expect(log.entries.length).toBeGreaterThan(10);
  });

  // test/eval/suites.test.ts compares calls by voice, with their recordings.
  it('gives the same result twice for the same seeds, to the bit', { timeout: 120_000 }, async () => {
    const runs = async (): Promise<unknown> => {
      const flags = ['--agent', AGENT, '--only', 'short', '--mode', 'text', '--runs', '2', '--keep', 'none', '--json'];
      const { code, out } = await parley(['eval', path('suite.yaml'), ...flags]);
      expect(code).toBe(0);
      return (JSON.parse(out) as SuiteResult).cases;
    };
    expect(await runs()).toEqual(await runs());
  });

  it('calls checks of the user', { timeout: 60_000 }, async () => {
    const flags = ['--agent', AGENT, '--only', 'checked', '--mode', 'text', '--keep', 'none', '--json'];
    const { code, out } = await parley(['eval', path('suite.yaml'), ...flags]);
    expect(code).toBe(0);
    const [one] = (JSON.parse(out) as SuiteResult).cases;
    expect(one?.runs[0]?.expectations.map(({ outcome }) => outcome)).toEqual(['pass', 'pass']);
  });

  it('compares two agents over the same seeds', { timeout: 60_000 }, async () => {
    const agent = JSON.parse(await readFile(AGENT, 'utf8')) as { script: unknown };
    const other = JSON.stringify(agent).replaceAll('eleven', 'twelve');
    await writeFile(path('other.json'), other);
    const flags = [
      '--agent',
      AGENT,
      '--against',
      path('other.json'),
      '--only',
      'hours',
      '--mode',
      'text',
      '--keep',
      'none',
    ];
    const { code, out } = await parley(['eval', path('suite.yaml'), ...flags]);
    expect(code).toBe(0);
    expect(out).toContain('hours [text]: 1 of 1 here, 0 there');
    expect(out).toContain('The difference could be chance');
  });

  it('prints the JSON Schema of suites', async () => {
    const { out } = await parley(['eval', 'schema']);
    expect(JSON.parse(out)).toEqual(JSON.parse(await readFile('data/eval-suite.schema.json', 'utf8')));
  });

  it.each([
    [['eval'], 'SUITE is missing'],
    [['eval', 'x.yaml'], 'x.yaml: cannot be read'],
    [['eval', 'SUITE', '--mode', 'radio'], '--mode must be text or voice'],
    [['eval', 'SUITE', '--keep', 'some'], '--keep must be failed, all or none'],
    [['eval', 'SUITE'], 'the suite names no agent'],
    [['eval', 'SUITE', '--agent', 'nobody@3'], 'nobody@3'],
    [['eval', 'SUITE', '--agent', AGENT, '--only', 'nothing'], 'no case called or tagged nothing'],
    [['eval', 'from-call'], 'CALL_ID is missing'],
    [['eval', 'from-call', 'nothing'], 'nothing'],
  ])('refuses %j', async (args, message) => {
    const given = args.map((arg) => (arg === 'SUITE' ? path('suite.yaml') : arg));
    const { code, err } = await parley(given, { env: { PARLEY_DATA_DIR: path('data') } });
    expect(code).toBeGreaterThan(0);
    expect(err).toContain(message);
  });
});
