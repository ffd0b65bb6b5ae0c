/** The generated AgentConfig is what the schema takes: `npm run typecheck` compares them. */
import { expectTypeOf } from 'vitest';
import type * as z from 'zod';
import type { agentConfigSchema } from '../../src/agent/agent.js';
import type { AgentConfig } from '../../src/index.js';

expectTypeOf<AgentConfig>().toEqualTypeOf<z.infer<typeof agentConfigSchema>>();
