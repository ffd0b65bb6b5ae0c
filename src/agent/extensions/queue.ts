import * as z from 'zod';
import { optional } from '../../schema/field.js';
import { phraseSchema, phrasesSchema } from '../../schema/text.js';

/** What waiting callers are told: `{position}` and `{wait}` in a text are their place and the estimated wait. */
const announcementsSchema = z
  .strictObject({
    every: optional(z.int().min(10).max(600), 'Time from the end of one announcement to the next.', {
      unit: 's',
      default: 45,
    }),
    position: optional(z.boolean(), "Whether callers hear their place, counted in this queue's order.", {
      default: true,
    }),
    wait: optional(z.boolean(), 'Whether callers hear the estimated wait, rounded, where it is known.', {
      default: true,
    }),
    messages: optional(phrasesSchema, 'Said in turn after the place and the wait.', { default: 'none' }),
  })
  .meta({ id: 'QueueAnnouncements', description: 'What waiting callers hear between the music.' });

/** `extensions.queue`: calls wait when no session is free. A number may have a queue of its own. */
export const queueSchema = z
  .strictObject({
    limit: optional(z.int().min(1).max(1000), 'Calls that wait at once; more overflow.', { default: 20 }),
    max_calls: optional(
      z.int().min(1).max(10_000),
      'Calls of this queue that the agent answers at once; more wait, even if sessions are free.',
      { default: 'as many as sessions are free' },
    ),
    ring: optional(
      z.number().min(0).max(60),
      'How long a call only rings before it is answered to wait. A call whose turn comes by then has not cost a second.',
      { unit: 's', default: '0' },
    ),
    greeting: optional(phraseSchema, 'Said first. `{position}` and `{wait}` are the place and the estimated wait.', {
      default: "a stock sentence in the agent's language, with the place and the wait",
    }),
    music: optional(
      z.union([z.literal('none'), z.url({ protocol: /^https?$/ })]),
      'Address of the music, which plays as a loop, or `none`.',
      { default: 'built-in music' },
    ),
    music_volume: optional(z.number().min(0).max(2), 'Gain of the music.', { default: 1 }),
    announcements: optional(announcementsSchema, 'What callers hear while they wait.', {
      default: 'as its fields say',
    }),
  })
  .meta({ id: 'Queue', description: 'Inbound phone calls wait when no session is free.' });

export type QueueSettings = z.infer<typeof queueSchema>;
