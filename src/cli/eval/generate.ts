import { dirname, relative } from 'node:path';
import type { SettingFlags } from '../../settings/load-settings.js';
import { loadAgentFile } from '../../agent/agent-file.js';
import { RealClock } from '../../base/real-clock.js';
import { ParleyError } from '../../base/errors.js';
import { Engine } from '../../engine/engine.js';
import type { EvalAgent } from '../../eval/agent.js';
import { generateSuite } from '../../eval/generate.js';
import { SCRIPTED_MODEL } from '../../settings/models.js';
import type { CommandIo } from '../shared/command.js';
import { engineSettings } from '../shared/engine-settings.js';
import { openOutput } from '../shared/output-file.js';
import { ProgressBar } from '../shared/progress.js';

export interface GenerateFlags {
  /** Null = the operator's default model. */
  model: string | null;
  /** How many cases to propose; undefined = the usual number. */
  cases: number | undefined;
  /** Path of the suite; `-` = standard output. */
  out: string;
  /** Values of setting flags, by name without dashes. */
  settings: SettingFlags;
}

/**
 * `parley eval generate`: writes a suite that a language model proposes for an agent, and names the proposals that it
 * leaves out.
 * @throws ParleyError CONFIG_INVALID where there is no language model, FILE_NOT_WRITABLE, or as `generateSuite`
 */
export async function generate(
  agent: EvalAgent,
  { model: named, cases, out, settings: flags }: GenerateFlags,
  io: CommandIo,
): Promise<number> {
  const { engine: options, detection } = await engineSettings(io, flags);
  const model = named ?? detection.defaults.llmModel;
  if (model === SCRIPTED_MODEL) throw new ParleyError('CONFIG_INVALID', { reason: NO_MODEL });
  const file = await openOutput(out, io);
  const engine = new Engine(options);
  const bar = new ProgressBar(io.stderr, `cases by ${model}`);
  try {
    const { suite, text, dropped } = await generateSuite({
      agent: { name: await titleOf(agent), config: agent.config },
      agentPath: pathFrom(out, agent),
      model,
      count: cases,
      models: { clock: new RealClock(), complete: (request) => engine.complete(request) },
      onProgress: (share) => bar.update(share),
      signal: io.signal,
    });
    bar.clear();
    await file.write(new TextEncoder().encode(text));
    for (const { name, reason } of dropped) io.stderr.write(`left out ${JSON.stringify(name)}: ${reason}\n`);
    if (out !== '-') io.stderr.write(`${out}: ${String(suite.cases.length)} cases; read them before you run them\n`);
    return 0;
  } finally {
    bar.clear();
    await Promise.all([engine.close(), file.close()]);
  }
}

const NO_MODEL =
  'proposing cases needs a language model: set OPENAI_API_KEY or ANTHROPIC_API_KEY, run Ollama, or name one with --model';

/** The agent's own name where it is a file, else its id. */
async function titleOf({ name, agentId }: EvalAgent): Promise<string> {
  return agentId ?? (await loadAgentFile(name)).name;
}

/** The agent's file as seen from the suite; null = the agent is not a file. */
function pathFrom(out: string, { name, agentId }: EvalAgent): string | null {
  if (agentId !== null) return null;
  return out === '-' ? name : relative(dirname(out), name).replaceAll('\\', '/');
}
