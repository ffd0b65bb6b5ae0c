import * as z from 'zod';
import { storyOf } from '../../replay/story.js';
import { CallFiles } from '../files/call-files.js';
import type { Api } from '../http/api.js';
import type { CallOwners } from '../nodes/call-owners.js';
import type { CallArchive } from './call-archive.js';

export interface StoryRoutesOptions {
  archive: CallArchive;
  /** The node of a call has its trace. */
  owners: Pick<CallOwners, 'of'>;
}

const transcript = z
  .strictObject({
    session_id: z.string(),
    call_status: z.string(),
    lines: z.array(
      z.strictObject({
        at_ms: z.number().nullable().describe("On the session's clock; null = unknown"),
        who: z.enum(['user', 'agent', 'tool', 'participant']),
        name: z.string().optional().describe('Of a participant'),
        text: z.string().describe("The agent's part as far as it was heard; a tool's call with its result"),
      }),
    ),
  })
  .meta({ id: 'Transcript', description: 'What was said and done in a call, in order.' });

/** What was said in a call. */
export function storyRoutes(api: Api, { archive, owners }: StoryRoutesOptions): void {
  api.add({
    id: 'getTranscript',
    method: 'GET',
    path: '/call-logs/{session_id}/transcript',
    tag: 'call logs',
    params: { session_id: z.string().min(1).max(200) },
    summary: 'What was said and done in a call, with times',
    description: 'For a running call, all so far. Times come from its trace; without one they are null.',
    answer: transcript,
    errors: ['NOT_FOUND', 'FILE_STORE_FAILED', 'FILE_STORE_REFUSED', 'NODE_UNREACHABLE'],
    examples: () => ({
      answer: {
        session_id: '007750c3-70b3-468b-8ed2-58d80e641cf6',
        call_status: 'user-ended',
        lines: [
          { at_ms: 180, who: 'agent' as const, text: 'Good evening.' },
          { at_ms: 2_940, who: 'user' as const, text: 'A table for four, please.' },
        ],
      },
    }),
    owner: ({ params: { session_id: id } }) => owners.of(id),
    handle: async ({ params: { session_id: id } }) => {
      const call = await archive.get(id);
      await archive.isTraceOpen(id);
      const trace = await archive.files.read(CallFiles.traceKey(id));
      const lines = storyOf(trace?.toString('utf8') ?? null, call);
      return {
        session_id: id,
        call_status: call.item.call_status,
        lines: lines.map(({ atMs, ...line }) => ({ at_ms: atMs, ...line })),
      };
    },
  });
}
