import * as z from 'zod';
import type { Api } from '../api/api.js';
import { type ChatEndpoint, chatSchema } from '../chat.js';

/** `POST /chat/completions`: an agent in writing. */
export function chatRoutes(api: Api, chat: ChatEndpoint): void {
  api.add({
    ...{ method: 'POST', path: '/chat/completions', tag: 'chat', header: 'optional', body: chatSchema },
    summary: "An agent's answer in writing, as it comes",
    description:
      'Lines `data: {"choices": [{"delta": {"content": "…"}}]}`, then `data: [DONE]`. See docs/chat.md for the rest.',
    answer: z.string(),
    content: 'text/event-stream',
    errors: [
      ...(['NOT_FOUND', 'AGENT_DISABLED', 'SESSIONS_FULL', 'DAEMON_DRAINING'] as const),
      ...(['PROVIDER_FAILED', 'PROVIDER_REFUSED', 'PROVIDER_TIMEOUT'] as const),
    ],
    handle: ({ body, reply }) => chat.answer(body, reply),
  });
}
