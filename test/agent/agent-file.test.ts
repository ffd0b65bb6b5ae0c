import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadAgentFile, parseAgentFile } from '../../src/agent/agent-file.js';
import { FULL } from './full-config.js';

describe('parseAgentFile', () => {
  it('takes a name, a configuration and a script of any kind', () => {
    const file = { name: 'front desk', config: FULL, script: { rules: [1] } };
    expect(parseAgentFile(file)).toEqual(file);
    expect(parseAgentFile({ name: 'x', config: {} })).toEqual({ name: 'x', config: {} });
  });

  it.each([
    [{ config: {} }, ['name']],
    [{ name: '', config: {} }, ['name']],
    [{ name: 'x' }, ['config']],
    [{ name: 'x', config: {}, scripts: {} }, ['scripts']],
    [{ name: 'x', config: { promt: 'y' } }, ['config', 'promt']],
    [{ name: 'x', config: { prompt: 'abcd' } }, ['config', 'prompt']],
    [[], []],
  ])('refuses %j at %j', (value, loc) => {
    expect(() => parseAgentFile(value, { maxPromptChars: 3 })).toThrow(
      expect.objectContaining({ issues: [expect.objectContaining({ loc })] }) as Error,
    );
  });
});

describe('loadAgentFile', () => {
  it('reads a file and names it in what is wrong', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'parley-agent-'));
    try {
      const path = join(folder, 'agent.json');
      await writeFile(path, '{"name":"x","config":{}}');
      expect(await loadAgentFile(path)).toEqual({ name: 'x', config: {} });
      await writeFile(path, '{"name":"x","config":{"flow":{"idle":1}}}');
      await expect(loadAgentFile(path)).rejects.toThrow(/agent\.json:1:31: config\.flow\.idle: Unknown field: idle$/);
      await writeFile(path, '{name}');
      await expect(loadAgentFile(path)).rejects.toThrow(/agent\.json:1:2: not JSON/);
      await writeFile(path, '// The bakery.\n{"name":"x", "config":{}, /* no more */}');
      expect(await loadAgentFile(path)).toEqual({ name: 'x', config: {} });
      const yaml = join(folder, 'agent.yaml');
      await writeFile(yaml, '# The bakery.\nname: x\nconfig:\n  promt: y\n');
      await expect(loadAgentFile(yaml)).rejects.toThrow(
        /agent\.yaml:4:3: config\.promt: Unknown field: promt\. Did you mean prompt\?$/,
      );
      await expect(loadAgentFile(join(folder, 'other.json'))).rejects.toThrow(/other\.json: cannot be read/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
