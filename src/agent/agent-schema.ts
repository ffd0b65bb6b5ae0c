import * as z from 'zod';
import { agentFileSchema } from './agent-file.js';

/**
 * JSON Schema (draft 2020-12) of agent files, for editors; `data/agent.schema.json` holds it. It leaves out what JSON Schema cannot say, such as that no
 * two tools share a name: `parley agents check` says that.
 */
export function agentFileJsonSchema(): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(agentFileSchema, {
    io: 'input',
    unrepresentable: 'any',
    target: 'draft-2020-12',
  });
  const description = 'An agent file of parley. `parley agents check FILE` checks all of it.';
  return { $schema, title: 'parley agent', description, ...rest };
}
