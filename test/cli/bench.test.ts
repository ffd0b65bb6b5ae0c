import { execFileSync } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { BenchmarkReport } from '../../src/benchmark/report.js';
import { DEMO_AGENT, fixture, inFolder, parley } from './support.js';

const FIXTURES = dirname(dirname(fixture('clean/table-slt.wav')));
const VIRTUAL = ['--config', DEMO_AGENT, '--only', 'clean/table-slt', '--speed', 'max'];

describe('parley bench', () => {
  it('measures the answers to recordings with doubles and with the embedded engines, and writes the report', () =>
    inFolder(async (path) => {
      const env = { PARLEY_DATA_DIR: path('data') };
      const args = ['bench', '--fixtures', FIXTURES, ...VIRTUAL];
      const shown = await parley([...args, '--providers', 'published', '--rounds', '3', '--out', path('out')], { env });
      expect(shown).toMatchObject({ code: 0 });
      expect(shown.out).toMatch(/^\| published \| +3 \|/m);
      const written = JSON.parse(await readFile(path('out/results.json'), 'utf8')) as BenchmarkReport;
      expect(written.runs[0]?.turns).toHaveLength(3);
      expect(await readFile(path('out/results.html'), 'utf8')).toContain('clean/table-slt 1');
      const own = await parley([...args, '--json'], { env });
      const report = JSON.parse(own.out) as BenchmarkReport;
      expect(report.runs[0]).toMatchObject({ name: 'own', faults: {}, summary: { turns: 1 } });
    }));

  it('plays recordings of other formats, with the settings and the agent of two files', () =>
    inFolder(async (path) => {
      const env = { PARLEY_DATA_DIR: path('data') };
      await mkdir(path('recordings'));
      const [from, to] = [fixture('clean/table-slt.wav'), path('recordings/table.mp3')];
      execFileSync('ffmpeg', ['-loglevel', 'error', '-i', from, to]);
      await writeFile(path('settings.json'), '{"speculation": false}');
      const files = ['--fixtures', path('recordings'), '--agent', DEMO_AGENT, '--config', path('settings.json')];
      const args = ['bench', ...files, '--speed', 'max', '--providers', 'instant', '--json'];
      const { code, out } = await parley(args, { env });
      expect(code).toBe(0);
      expect((JSON.parse(out) as BenchmarkReport).runs[0]?.summary).toMatchObject({ turns: 1, answered: 1 });
      await writeFile(path('settings.json'), '{"speculaton": false}');
      expect((await parley(args, { env })).err).toContain('speculaton');
    }));

  it('says what is missing', async () => {
    expect(await parley(['bench', '--config', DEMO_AGENT])).toMatchObject({ code: 2 });
    expect((await parley(['bench', '--fixtures', FIXTURES, ...VIRTUAL, '--providers', 'fast'])).err).toContain(
      '--providers must be own, instant or published',
    );
    const none = await parley(['bench', '--fixtures', FIXTURES, '--config', DEMO_AGENT, '--only', 'nothing like that']);
    expect(none).toMatchObject({ code: 1 });
    expect(none.err).toContain('it contains no recording (.wav) with speech');
  });
});
