import { existsSync } from 'node:fs';
import { loadAgentFile } from '../../agent/agent-file.js';
import { agentNamed } from '../../agent/find-agent.js';
import { ParleyError } from '../../base/errors.js';
import type { EvalAgent } from '../../eval/agent.js';
import { loadSettings, type SettingFlags } from '../../settings/load-settings.js';
import { AgentStore } from '../../store/agents.js';
import { nowUnixMs } from '../../base/real-clock.js';
import { openSecretBox } from '../../store/secret-keys.js';
import type { CommandIo } from '../shared/command.js';
import { hasDatabase, openCommandDatabase } from '../shared/command-database.js';

/**
 * An agent by the path of its file, or by `AGENT[@VERSION]` (an id or a name) in the data folder.
 * @throws ParleyError CONFIG_INVALID for a broken file, NOT_FOUND, AGENT_AMBIGUOUS
 */
export async function evalAgent(named: string, flags: SettingFlags, io: Pick<CommandIo, 'env'>): Promise<EvalAgent> {
  if (existsSync(named) || /[/\\]|\.(jsonc?|ya?ml)$/.test(named)) {
    const { config, script, extensions, agents } = await loadAgentFile(named);
    return { name: named, config, script, extensions, agents, agentId: null };
  }
  const [, name = named, version] = /^(.+)@(\d{1,9})$/.exec(named) ?? [];
  const { settings } = await loadSettings({ env: io.env, flags });
  const notFound = new ParleyError('NOT_FOUND', { what: 'agent', id: named });
  if (!hasDatabase(settings)) throw notFound;
  const { database, tables, close } = await openCommandDatabase(settings);
  try {
    const box = await openSecretBox({ database, nowUnixMs }, settings);
    const store = await AgentStore.open(database, tables, box);
    const current = agentNamed(store.all(), name);
    const { id } = current;
    const number = version === undefined ? current.version : Number(version);
    const found =
      number === current.version
        ? current
        : (await store.versions(id, { limit: 1, before: number + 1 })).find((one) => one.version === number);
    if (found === undefined) throw notFound;
    const { config, script, extensions } = found;
    const agents = Object.fromEntries(
      store.all().map((other) => [other.id, { ...other, agent: other.config, script: other.script ?? undefined }]),
    );
    return { name: `${id}@${String(number)}`, config, script: script ?? undefined, extensions, agents, agentId: id };
  } finally {
    await close();
  }
}
