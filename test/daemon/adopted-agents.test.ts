import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DEFAULT_SETTINGS } from '../../src/settings/settings.js';
import type { AgentRegistry, HostedAgent } from '../../src/daemon/agents/agents.js';
import { Daemon } from '../../src/daemon/daemon.js';
import { Engine } from '../../src/engine/engine.js';

const ANN = { id: 'k1', name: 'Ann' };

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'parley-adopted-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

const agent = (id: string, prompt: string): HostedAgent => ({ id, name: id, config: { prompt } });

/** Starts a daemon with agents of files, has `work` look at its agents, and ends it. */
async function start<T>(
  files: HostedAgent[],
  work: (agents: AgentRegistry) => T | Promise<T>,
  demo = agent('demo', 'v1'),
) {
  const daemon = await Daemon.prepare({
    settings: { ...DEFAULT_SETTINGS, dataDir },
    engine: new Engine(),
    agents: files,
    agentInUse: (config) => ({ ...config, timezone: 'Europe/Berlin' }),
  });
  try {
    await daemon.adopt(demo);
    return await work(daemon.agents);
  } finally {
    await daemon.close();
  }
}

const prompts = (agents: AgentRegistry): Record<string, unknown> =>
  Object.fromEntries(agents.all().map(({ id, config }) => [id, config.prompt]));

describe('the demo agent', () => {
  it('comes to a daemon that has no agent, and follows its file until it is changed', async () => {
    expect(await start([], prompts)).toEqual({ demo: 'v1' });
    expect(await start([], prompts, agent('demo', 'v2'))).toEqual({ demo: 'v2' });
    await start([], (agents) => agents.change('demo', { config: { prompt: 'mine' } }, ANN), agent('demo', 'v2'));
    expect(await start([], prompts, agent('demo', 'v3'))).toEqual({ demo: 'mine' });
  });

  it('keeps the draft of a user', async () => {
    await start([], (agents) => agents.change('demo', { config: { prompt: 'mine' } }, ANN, { asDraft: true }));
    const found = await start([], (agents) => agents.working('demo'), agent('demo', 'v2'));
    expect(found).toMatchObject({ config: { prompt: 'mine' }, published: 1 });
  });

  it('does not come where there are others, and may be deleted', async () => {
    expect(await start([agent('a', 'x')], prompts)).toEqual({ a: 'x' });
    expect(await start([], prompts)).toEqual({ a: 'x' });
    await start([], (agents) => agents.remove('a'));
    expect(await start([], prompts)).toEqual({ demo: 'v1' });
  });
});

describe('agents of files', () => {
  it('are made what the file says at each start; what they were stays as a version', async () => {
    await start([agent('a', 'file')], (agents) => agents.change('a', { config: { prompt: 'mine' } }, ANN));
    const versions = await start([agent('a', 'file')], (agents) => agents.versions('a', { limit: 9, before: 99 }));
    expect(versions.map(({ config, changedBy }) => [config.prompt, changedBy])).toEqual([
      ['file', null],
      ['mine', 'Ann'],
      ['file', null],
    ]);
    expect(await start([agent('a', 'file')], (agents) => agents.stored('a').version)).toBe(3);
  });

  it('leave a draft alone while callers have what the file says', async () => {
    const edit = (agents: AgentRegistry): Promise<unknown> =>
      agents.change('a', { config: { prompt: 'mine' } }, ANN, { asDraft: true });
    await start([agent('a', 'file')], edit);
    const workingOf = async (agents: AgentRegistry): Promise<unknown> => (await agents.working('a')).config.prompt;
    expect(await start([agent('a', 'file')], workingOf)).toBe('mine');
    expect(await start([agent('a', 'changed')], workingOf)).toBe('changed');
    expect(await start([agent('a', 'changed')], prompts)).toEqual({ a: 'file' });
  });

  it('stay when their file is named no more', async () => {
    await start([agent('a', 'x'), agent('b', 'y')], () => undefined);
    expect(await start([agent('b', 'z')], prompts)).toEqual({ a: 'x', b: 'z' });
  });

  it('that could have no sessions end the start, by name, and change nothing', async () => {
    await start([agent('a', 'x')], () => undefined);
    const broken = { ...agent('a', 'y'), config: { llm: { model: 'nonsense' } } };
    await expect(start([broken], () => undefined)).rejects.toThrow('the agent "a": llm.model');
    expect(await start([], prompts)).toEqual({ a: 'x' });
  });

  it('whose language or vendor cannot be served here are taken over with a warning', async () => {
    const finnish = { ...agent('a', 'x'), config: { prompt: 'x', language: 'fi' as const } };
    const vendors = { ...agent('b', 'y'), config: { prompt: 'y', voice: { provider: 'rime', voice_id: 'luna' } } };
    await start(
      [],
      async (registry) => {
        expect(await registry.adopt([finnish, vendors, agent('c', 'z')])).toEqual([
          expect.stringMatching(/^the agent "a": .*"?embedded"? .*fi.* Until then its calls are refused\.$/),
          expect.stringMatching(/^the agent "b": .*RIME_API_KEY.* Until then its calls are refused\.$/),
        ]);
        expect(prompts(registry)).toEqual({ a: 'x', b: 'y', c: 'z' });
        const broken = { ...finnish, id: 'd', name: 'd', config: { ...finnish.config, llm: { model: 'nonsense' } } };
        await expect(registry.adopt([broken])).rejects.toThrow('the agent "d": llm.model');
      },
      agent('c', 'z'),
    );
  });

  it('are stored as the file has them, and used as this process does', async () => {
    await start([agent('a', 'x')], (agents) => {
      expect(agents.stored('a').config).toEqual({ prompt: 'x' });
      expect(agents.get('a').config).toEqual({ prompt: 'x', timezone: 'Europe/Berlin' });
    });
  });
});

it('changes at once are all made', async () => {
  await start([], async (agents) => {
    const { id } = await agents.create({ name: 'a', config: {} }, ANN);
    await Promise.all([
      agents.change(id, { name: 'b' }, ANN),
      agents.change(id, { config: { prompt: 'x' } }, { id: 'k2', name: 'Bob' }),
      agents.setStatus(id, 'disabled', { id: 'k3', name: 'Cid' }),
      agents.change('nobody', { name: 'c' }, ANN).catch(() => undefined),
    ]);
    expect(agents.stored(id)).toMatchObject({ name: 'b', config: { prompt: 'x', status: 'disabled' }, version: 4 });
  });
});
