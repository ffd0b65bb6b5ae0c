import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { agentsBeside, parseAgentFile } from '../../src/agent/agent-file.js';
import { runSuite } from '../../src/eval/run-suite.js';
import { loadSuite } from '../../src/eval/suite/load-suite.js';
import { packageFile } from '../../src/package-files.js';
import { readJsonFile } from '../../src/schema/json-file.js';
import { mutate, type Mutation, MUTATIONS } from './mutations.js';

/** The names of the cases that fail, of those that were chosen. */
async function failedCases(mutation: Mutation, only: readonly string[], isWrong = true): Promise<string[]> {
  const { agent, mode } = mutation;
  const pathOf = (name: string): string => fileURLToPath(packageFile(`examples/${agent}/${name}`));
  const file = await readJsonFile(pathOf('agent.json'));
  const before = JSON.stringify(file);
  if (isWrong) {
    mutate(file, mutation);
    expect(JSON.stringify(file)).not.toBe(before);
  }
  const { config, script, extensions } = parseAgentFile(file);
  const agents = await agentsBeside(pathOf('agent.json'));
  const { cases } = await runSuite({
    ...(await loadSuite(pathOf('suite.yaml'))),
    agent: { name: agent, config, script, extensions, agents, agentId: null },
    modes: [mode],
    only,
    startUnixMs: 0,
    signal: AbortSignal.timeout(50_000),
  });
  expect(cases.flatMap(({ runs }) => runs.flatMap(({ error }) => error ?? []))).toEqual([]);
  return cases.filter(({ passed }) => !passed).map(({ name }) => name);
}

describe('the suites of the example agents turn red', () => {
  const caught = MUTATIONS.filter(({ caughtBy }) => caughtBy !== null);

  it('for 19 of 20 mistakes, and for the last one with a model that reads its prompt (prompt-mutation.test.ts)', () => {
    expect(MUTATIONS).toHaveLength(20);
    expect(caught).toHaveLength(19);
  });

  it.each(caught)('$agent: $mistake ($caughtBy)', async (mutation) => {
    const only = [mutation.caughtBy ?? ''];
    expect(await failedCases(mutation, only)).toEqual(only);
    // By voice, suites.test.ts shows that the agent without the mistake passes.
    if (mutation.mode === 'text') expect(await failedCases(mutation, only, false)).toEqual([]);
  });

  it.each(MUTATIONS.filter(({ caughtBy }) => caughtBy === null))('not for $agent: $mistake', async (mutation) => {
    expect(await failedCases(mutation, [])).toEqual([]);
  });
});
