import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { parseWith } from '../../config/issues.js';
import type { SqliteMemories } from '../../store/memory.js';
import type { Access } from '../access.js';

const querySchema = z.strictObject({ agent_id: z.string().min(1).max(200).exactOptional() });

/** What agents remember of a user: read, and erased for good. */
export function memoryRoutes(
  app: FastifyInstance,
  { access, memories }: { access: Access; memories: SqliteMemories },
): void {
  const guarded = {
    onRequest: (request: FastifyRequest, _reply: unknown, done: () => void) => {
      access.privateKey(request.headers.authorization);
      done();
    },
  };
  const chosen = ({ params, query }: FastifyRequest): { user: string; agentId: string | null } => {
    const { agent_id: agentId = null } = parseWith(querySchema, query, ['query']);
    return { user: (params as { user: string }).user, agentId };
  };

  app.get('/memories/:user', {
    ...guarded,
    handler: (request) =>
      memories.list(chosen(request)).map(({ agentId, user, sessionId, text, unixMs }) => ({
        ...{ agent_id: agentId, user, session_id: sessionId, text },
        created_at: Math.floor(unixMs / 1000),
      })),
  });

  app.delete('/memories/:user', {
    ...guarded,
    handler: (request) => ({ success: true, erased: memories.erase(chosen(request)) }),
  });
}
