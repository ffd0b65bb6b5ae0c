import * as z from 'zod';
import { messageSchema } from '../../config/continuation.js';
import type { Api } from '../api/api.js';
import { type ChatEndpoint, chatSchema } from '../chat.js';

const chunkSchema = z
  .strictObject({
    id: z.string().describe('`chatcmpl-` and the id of the session'),
    object: z.literal('chat.completion.chunk'),
    created: z.int().describe('Unix seconds'),
    model: z.string(),
    choices: z.array(
      z.strictObject({
        index: z.int(),
        delta: z.strictObject({ content: z.string() }),
        finish_reason: z.literal('stop').nullable(),
      }),
    ),
    messages: z
      .array(messageSchema)
      .optional()
      .describe('Of the last chunk: what the answer adds to the conversation, calls of tools and their results too'),
  })
  .meta({ id: 'ChatCompletionChunk', description: 'One event of an answer. The last one is the text `[DONE]`.' });

/** `POST /chat/completions`: an agent in writing. */
export function chatRoutes(api: Api, chat: ChatEndpoint): void {
  api.add({
    ...{ id: 'createChatCompletion', method: 'POST', path: '/chat/completions', tag: 'chat', body: chatSchema },
    summary: "An agent's answer in writing, as it comes",
    description:
      'Lines `data: {"choices": [{"delta": {"content": "…"}}]}`, then `data: [DONE]`. See docs/chat.md for the rest.',
    answer: chunkSchema,
    content: 'text/event-stream',
    errors: [
      ...(['NOT_FOUND', 'AGENT_DISABLED', 'SESSIONS_FULL', 'DAEMON_DRAINING'] as const),
      ...(['PROVIDER_FAILED', 'PROVIDER_REFUSED', 'PROVIDER_TIMEOUT'] as const),
    ],
    handle: ({ body, reply }) => chat.answer(body, reply),
  });
}
