import * as z from 'zod';
import type { StoredKey } from '../../store/keys.js';

export const modeSchema = z
  .enum(['listen', 'whisper', 'barge_in', 'take_over'])
  .describe(
    '`listen`: hears the call, and nobody hears them. `whisper`: the agent’s model reads what they say, and the user ' +
      'does not hear it. `barge_in`: everybody hears them. `take_over`: the same, and the agent says nothing.',
  );

export const nameSchema = z
  .string()
  .trim()
  .min(1)
  .max(80)
  .describe('What the model, the transcript and the call log call them. Default: the name of the key.');

/** What somebody is called who joins a call or listens to it. A key of the environment has the name of its variable. */
export function nameOf(given: string | undefined, key: Pick<StoredKey, 'name' | 'ofEnvironment'> | null): string {
  const named = key === null || key.ofEnvironment ? '' : key.name.trim().slice(0, 80);
  return given ?? (named === '' ? 'participant' : named);
}

/** A participant in answers and events. */
export const participantShape = {
  participant_id: z.string(),
  name: z.string(),
  channel: z.string().describe('`socket`, `webrtc` or `phone`'),
  mode: modeSchema,
  whisper_to: z.string().nullable().describe('The participant who hears the whisper; `null`: the agent’s model.'),
  held: z.boolean(),
  muted: z.boolean(),
  status: z
    .enum(['connecting', 'joined', 'left', 'failed'])
    .describe('`connecting`: their line is not open yet. `failed`: it could not be opened.'),
  reason: z
    .string()
    .nullable()
    .describe('`left`, `removed` or `lost`, or why the line failed: `busy`, `no-answer` and so on.'),
};

export const participantSchema = z.strictObject(participantShape).meta({ id: 'Participant' });

export type ShownParticipant = z.output<typeof participantSchema>;
