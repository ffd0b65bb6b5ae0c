import { loadAgentFile } from '../agent/agent-file.js';
import { agentFileJsonSchema } from '../agent/agent-schema.js';
import { InvalidConfigError } from '../schema/issues.js';
import { Engine } from '../engine/engine.js';
import { ParleyError } from '../base/errors.js';
import { noSuchAction } from './shared/actions.js';
import type { Command } from './shared/command.js';
import { parseFlags } from './shared/flags.js';
import { engineSettings, SETTING_FLAGS, tellWarnings } from './shared/engine-settings.js';

export const agents: Command = {
  help: `
parley agents check FILE …
parley agents schema

check   Checks agent files, {name, config, script?, extensions?}, without a call and without a daemon: every field, the
        script, and whether the model, the recogniser and the voice can be had here. Exit code 1 where one could have no
        sessions.
schema  Prints the JSON Schema of agent files. Editors complete and check a file whose \`$schema\` names it.

  --config FILE   operator settings, JSON
  --llm-model ID  the language model where the agent names none
`,
  async run(args, io) {
    const { values, positionals } = parseFlags({ args: [...args], allowPositionals: true, options: SETTING_FLAGS });
    const [action, ...files] = positionals;
    if (action === 'schema' && files.length === 0) {
      io.stdout.write(`${JSON.stringify(agentFileJsonSchema(), null, 2)}\n`);
      return 0;
    }
    if (action !== 'check' || files.length === 0)
      throw noSuchAction(action, ['check', 'schema'], 'agents check FILE … or agents schema');
    const { engine: options } = await engineSettings(io, values);
    const engine = new Engine(options);
    let code = 0;
    try {
      for (const path of files) {
        try {
          const file = await loadAgentFile(path);
          await engine.checkAgent({ agent: file.config, script: file.script, extensions: file.extensions });
          tellWarnings(file, engine, io);
          io.stdout.write(`${path}: the agent "${file.name}" is good\n`);
        } catch (error) {
          if (!(error instanceof ParleyError)) throw error;
          code = 1;
          const faults = error instanceof InvalidConfigError ? error.issues : [{ loc: [path], msg: error.message }];
          for (const { loc, msg } of faults)
            io.stderr.write(`${[loc[0] === path ? [] : path, loc].flat(2).join('.')}: ${msg}\n`);
        }
      }
    } finally {
      await engine.close();
    }
    return code;
  },
};
