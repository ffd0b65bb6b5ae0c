import { agentFileJsonSchema } from '../agent/agent-file.js';
import { Engine } from '../engine/engine.js';
import { checkFile, findingLine } from './agents/check.js';
import { defineCommand, unknownAction } from './shared/command.js';
import { engineSettings, SETTING_FLAGS } from './shared/engine-settings.js';

export const agents = defineCommand({
  help: `
Usage: parley agents check FILE … [--json]
       parley agents schema

Checks agent files, {name, config, script?, extensions?}, without a call or a daemon: JSON, with comments, or YAML.

Actions:
  check   Check every field, the script, and that the model, the recogniser and the voice are available here. Prints
          file:line:column of each fault, and what would be right. FILE may be - for standard input. Exit code 1 if an
          agent could not hold a session.
  schema  Print the JSON Schema of agent files. An editor completes and checks a file whose \`$schema\` names it.

Flags:
  --json                print JSON: {file, name, findings} of each file (check)
  --config FILE         settings file (JSON), as for parley serve
  --llm-model ID        default language model, for agents that name none
  --plugin FILE         functions, providers and more of your own (repeatable)
`,
  options: { ...SETTING_FLAGS, json: { type: 'boolean', default: false } },
  positionals: true,
  async run({ values, positionals }, io) {
    const [action, ...files] = positionals;
    if (action === 'schema' && files.length === 0) {
      io.stdout.write(`${JSON.stringify(agentFileJsonSchema(), null, 2)}\n`);
      return 0;
    }
    if (action !== 'check' || files.length === 0)
      throw unknownAction(action, ['check', 'schema'], 'expected check FILE … or schema');
    const { engine: options } = await engineSettings(io, {
      config: values.config,
      'llm-model': values['llm-model'],
      plugins: values.plugin,
    });
    const engine = new Engine(options);
    let code = 0;
    try {
      const checked = [];
      for (const file of files) {
        const found = await checkFile(file, engine, io);
        if (found.name === null) code = 1;
        checked.push(found);
        if (values.json) continue;
        for (const finding of found.findings) io.stderr.write(`${findingLine(finding)}\n`);
        if (found.name !== null) io.stdout.write(`${file}: the agent "${found.name}" is valid\n`);
      }
      if (values.json) io.stdout.write(`${JSON.stringify(checked, null, 2)}\n`);
    } finally {
      await engine.close();
    }
    return code;
  },
});
