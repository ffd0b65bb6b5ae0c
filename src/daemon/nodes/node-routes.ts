import * as z from 'zod';
import { unixSeconds } from '../../base/real-clock.js';
import type { Api } from '../http/api.js';
import type { Nodes } from './node-group.js';

const nodeSchema = z
  .strictObject({
    id: z.string().describe('New at each start.'),
    address: z.string().describe('Where other nodes reach it.'),
    version: z.string(),
    state: z
      .enum(['live', 'draining', 'silent'])
      .describe('`draining`: it takes no new calls; `silent`: its heartbeats are late, or its calls are being closed.'),
    sessions: z.int().describe('Sessions in progress.'),
    capacity: z.int().describe('Maximum of concurrent sessions.'),
    started_at: z.int().describe('Unix seconds'),
    heartbeat_ago: z.number().describe('Seconds since its last heartbeat.'),
    this_node: z.boolean().describe('Whether it is the one that answers.'),
  })
  .meta({ id: 'Node', description: 'A daemon. Daemons with the same database are nodes of one system.' });

/** `GET /nodes` */
export function nodeRoutes(api: Api, nodes: Pick<Nodes, 'list'>, thisNode: { readonly id: string }): void {
  api.add({
    id: 'listNodes',
    method: 'GET',
    path: '/nodes',
    tag: 'operation',
    summary: 'All nodes, oldest first',
    description: 'One, if the database is a file. See docs/scale-out.md.',
    answer: z.array(nodeSchema),
    examples: () => ({
      answer: [
        {
          id: '4b4e8a4e-6f57-4a3c-9a0e-0a4b3f4a9d55',
          address: 'http://10.0.0.1:8080',
          version: '1.0.0',
          state: 'live',
          sessions: 12,
          capacity: 100,
          started_at: 1_795_448_092,
          heartbeat_ago: 1.2,
          this_node: true,
        },
      ],
    }),
    handle: async () =>
      (await nodes.list()).map((node) => ({
        id: node.id,
        address: node.address,
        version: node.version,
        state: node.state,
        sessions: node.sessions,
        capacity: node.capacity,
        started_at: unixSeconds(node.startedUnixMs),
        heartbeat_ago: Math.round(node.heartbeatAgoMs / 100) / 10,
        this_node: node.id === thisNode.id,
      })),
  });
}
