import * as z from 'zod';
import { WEEKDAYS } from '../../base/local-time.js';
import { optional, required } from '../../schema/field.js';
import { phraseSchema, phrasesSchema, timezoneSchema } from '../../schema/text.js';

const timeSchema = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$|^24:00$/, 'Input should be a time such as 09:00');

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

const exitSchema = z
  .strictObject({
    action: required(
      z.enum(['refuse', 'message', 'transfer', 'voicemail']),
      '`refuse`: a busy tone, or the message if the call was answered before; `message`: says it and hangs up; ' +
        '`transfer`: connects another number; `voicemail`: records a message.',
    ),
    phone: optional(z.string().min(1).max(200), 'Where `transfer` connects to.', { default: 'none' }),
    message: optional(phraseSchema, 'Said first.', { default: "a stock sentence in the agent's language" }),
  })
  .refine(({ action, phone }) => action !== 'transfer' || phone != null, {
    error: 'The action transfer needs a phone',
    path: ['phone'],
  })
  .meta({ id: 'QueueExit', description: 'What becomes of a call that does not wait.' });

const hoursSchema = z
  .strictObject({
    timezone: optional(timezoneSchema, 'IANA time zone of the days and times.', { default: "the agent's" }),
    open: required(
      z
        .array(
          z
            .strictObject({
              days: required(z.array(z.enum(WEEKDAYS)).min(1).max(7), 'Days of the week.'),
              from: required(timeSchema, 'Opening time.'),
              to: required(timeSchema, 'Closing time, later than `from`; `24:00` is midnight.'),
            })
            .refine(({ from, to }) => from < to, { error: 'Input should be later than from', path: ['to'] })
            .meta({ id: 'QueueOpening', description: 'A time of day on some days of the week.' }),
        )
        .min(1)
        .max(50),
      'When calls are taken.',
    ),
    holidays: optional(z.array(z.iso.date()).max(400), 'Dates on which no calls are taken, such as 2027-01-01.', {
      default: 'none',
    }),
    closed: optional(exitSchema, 'What becomes of calls at other times.', { default: 'a message' }),
  })
  .meta({ id: 'QueueHours', description: 'Opening hours.' });

const prioritySchema = z
  .strictObject({
    minutes: required(
      z.number().min(-1440).max(1440),
      'Such a call is served as if it had come as many minutes earlier. Rules that apply together add up.',
    ),
    from: optional(z.array(z.string().min(1).max(20)).max(100), 'Numbers of callers, or how they begin.', {
      default: 'any',
    }),
    to: optional(z.array(z.string().min(1).max(20)).max(100), 'Called numbers, or how they begin.', {
      default: 'any',
    }),
    variable: optional(
      z.string().min(1).max(100),
      'A member of the metadata that the inbound webhook has given; the rule applies if it has one of `values`.',
      { default: 'none' },
    ),
    values: optional(z.array(z.string().max(200)).max(100), 'Values of `variable`, as text.', {
      default: 'any but an empty one',
    }),
  })
  .meta({ id: 'QueuePriority', description: 'Calls that are served earlier, or later, than their turn.' });

const callbackSchema = z
  .strictObject({
    key: optional(z.string().regex(/^[0-9*#]$/, 'Input should be a key'), 'The key that asks for a call back.', {
      default: '1',
    }),
    phrases: optional(
      z.array(z.string().min(1).max(100)).max(20),
      "Words that ask for it, too. A recogniser of the agent's runs for each waiting caller then.",
      { default: 'none' },
    ),
    campaign: optional(z.string().min(1).max(200), 'The campaign that calls back.', {
      default: 'one that is made for the queue, and calls from the number that was called',
    }),
  })
  .meta({ id: 'QueueCallback', description: 'A call back instead of waiting.' });

/** `extensions.queue`: calls wait when no session is free. A number may have a queue of its own. */
export const queueSchema = z
  .strictObject({
    web: optional(
      z.boolean(),
      'Whether clients of the talk socket, of WebRTC and of the widget wait, too. Otherwise only phone calls do.',
      { default: false },
    ),
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
    max_wait: optional(z.number().min(10).max(14_400), 'Longest wait; then the call overflows.', {
      unit: 's',
      default: 1800,
    }),
    overflow: optional(
      exitSchema,
      'What becomes of calls beyond `limit`, and of those that have waited for `max_wait`.',
      {
        default: 'refuse',
      },
    ),
    hours: optional(hoursSchema, 'When calls are taken.', { default: 'always' }),
    priorities: optional(z.array(prioritySchema).max(100), 'Whose turn comes earlier.', {
      default: 'all come in the order of their arrival',
    }),
    callback: optional(callbackSchema, 'Callers may ask to be called back.', { default: 'not offered' }),
    voicemail_limit: optional(z.number().min(5).max(600), 'Longest message of a voicemail.', {
      unit: 's',
      default: 120,
    }),
  })
  .meta({ id: 'Queue', description: 'Inbound calls wait when no session is free.' });

export type QueueSettings = z.infer<typeof queueSchema>;
export type QueueExitSettings = z.infer<typeof exitSchema>;
export type QueueHours = z.infer<typeof hoursSchema>;
export type CallbackSettings = z.infer<typeof callbackSchema>;
