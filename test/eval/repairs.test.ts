import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { loadAgentFile } from '../../src/agent/agent-file.js';
import { runSuite } from '../../src/eval/run-suite.js';
import { loadSuite } from '../../src/eval/suite/load-suite.js';
import { packageFile } from '../../src/package-files.js';

const pathOf = (name: string): string => fileURLToPath(packageFile(`examples/repairs/${name}`));

it('the repair line follows its flow by voice with the embedded engines, and in writing', async () => {
  const { suite, folder } = await loadSuite(pathOf('suite.yaml'));
  const { config, script, extensions } = await loadAgentFile(pathOf('agent.json'));
  const { cases } = await runSuite({
    suite: { ...suite, cases: suite.cases.filter(({ tags }) => tags?.includes('smoke') === true) },
    folder,
    agent: { name: 'Repair line', config, script, extensions, agentId: null },
    modes: ['text', 'voice'],
    startUnixMs: 0,
    signal: AbortSignal.timeout(100_000),
  });
  const runs = cases.flatMap((one) => one.runs);
  expect(runs.map(({ mode, passed }) => [mode, passed])).toEqual([
    ['text', true],
    ['voice', true],
  ]);
  for (const { report } of runs) {
    expect(report?.steps.map(({ step }) => step)).toEqual(['welcome', 'details', 'booked']);
  }
}, 120_000);
