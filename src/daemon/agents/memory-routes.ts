import * as z from 'zod';
import { unixSeconds } from '../../base/real-clock.js';
import type { SqliteMemories } from '../../store/memory.js';
import type { Api } from '../http/api.js';

const params = { user: z.string().min(1).max(500) };
const query = { agent_id: z.string().min(1).max(200).exactOptional() };
const memory = z
  .strictObject({
    agent_id: z.string(),
    user: z.string(),
    session_id: z.string(),
    text: z.string(),
    created_at: z.int().describe('Unix seconds'),
  })
  .meta({ id: 'Memory', description: "An agent's memory of one session." });

/** Reads and deletes the memories of agents about a user. */
export function memoryRoutes(api: Api, memories: SqliteMemories): void {
  api.add({
    id: 'getMemories',
    method: 'GET',
    path: '/memories/{user}',
    tag: 'memories',
    params,
    query,
    summary: 'The memories of agents about a user',
    answer: z.array(memory),
    examples: () => ({
      answer: [
        {
          agent_id: 'the-crooked-fork',
          user: '+12025550101',
          session_id: '39c5fc58-e0cb-4c29-87f1-e62cadc339f3',
          text: 'Ann booked a table for four on the terrace. She is vegetarian.',
          created_at: 1_795_448_212,
        },
      ],
    }),
    handle: ({ params: { user }, query: { agent_id: agentId = null } }) =>
      memories.list({ user, agentId }).map((kept) => ({
        agent_id: kept.agentId,
        user: kept.user,
        session_id: kept.sessionId,
        text: kept.text,
        created_at: unixSeconds(kept.unixMs),
      })),
  });

  api.add({
    id: 'deleteMemories',
    method: 'DELETE',
    path: '/memories/{user}',
    tag: 'memories',
    params,
    query,
    summary: 'Delete the memories of agents about a user',
    answer: z.strictObject({ success: z.boolean(), erased: z.int() }),
    examples: () => ({ answer: { success: true, erased: 1 } }),
    handle: ({ params: { user }, query: { agent_id: agentId = null } }) => ({
      success: true,
      erased: memories.erase({ user, agentId }),
    }),
  });
}
