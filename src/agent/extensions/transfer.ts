import * as z from 'zod';
import { optional } from '../../schema/field.js';
import { phraseSchema, phrasesSchema } from '../../schema/text.js';

export const attendedTransferSchema = z
  .strictObject({
    enabled: optional(z.boolean(), 'Whether the agent speaks with the other person before it connects the user.', {
      default: false,
    }),
    briefing: optional(
      phraseSchema,
      "What the person is told first. `{summary}` is what the model has written down of the user's wish.",
      { default: "a short sentence in the conversation's language, and `{summary}`" },
    ),
    confirm: optional(
      z.boolean(),
      'Whether the person is asked to take the call; else it is enough that a person answers.',
      { default: true },
    ),
    ring_timeout: optional(z.number().min(5).max(120), 'How long it rings there.', { unit: 's', default: 30 }),
    hold_sound: optional(z.enum(['music', 'ringing', 'none']), 'What the user hears meanwhile.', { default: 'music' }),
    hold_messages: optional(phrasesSchema, 'Said to the waiting user every 15 s.', {
      default: "a stock sentence in the conversation's language",
    }),
  })
  .meta({ id: 'AttendedTransfer', description: 'A transfer to a person who is asked first, while the user waits.' });

/** How calls are transferred; `flow.call_transfer` says where to and when. */
export const transferExtensionSchema = z
  .strictObject({
    attended: optional(attendedTransferSchema, 'Asking the person first, on phone calls.', { default: 'off' }),
  })
  .meta({ id: 'TransferExtension', description: 'How calls are transferred.' });
