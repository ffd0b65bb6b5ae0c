import * as z from 'zod';
import { optional } from '../../schema/field.js';
import { phraseSchema, phrasesSchema } from '../../schema/text.js';
import { type Fill, filledPhrases } from '../variables.js';

export const voicemailSchema = z
  .strictObject({
    action: optional(z.enum(['hangup', 'message']), 'What to do when a machine answers.', { default: 'hangup' }),
    message: optional(phraseSchema, 'What is left after the beep.', { default: 'nothing' }),
    continue_on_voice_activity: optional(z.boolean(), 'Go on with the conversation when a person comes in.', {
      default: false,
    }),
    detection_phrases: optional(phrasesSchema, 'Phrases that tell a machine apart, beside the built-in ones.', {
      default: 'none',
    }),
  })
  .meta({ id: 'Voicemail', description: 'Answering machines on outbound calls.' });

/** Answering machines on outbound calls. */
export interface VoicemailConfig {
  action: 'hangup' | 'message';
  /** What is left after the beep; null = nothing: it hangs up. */
  message: string | null;
  /** A person who speaks up during the message makes it a conversation. */
  continueOnVoiceActivity: boolean;
  /** Phrases that identify an answering machine, in addition to the built-in ones. */
  detectionPhrases: readonly string[];
}

/** Null if no member asks for anything: voicemail detection is off then. */
export function resolveVoicemail(
  voicemail: z.infer<typeof voicemailSchema> | null | undefined,
  fill: Fill,
): VoicemailConfig | null {
  const message = fill(voicemail?.message).trim() || null;
  const detectionPhrases = filledPhrases(voicemail?.detection_phrases, fill);
  const continueOnVoiceActivity = voicemail?.continue_on_voice_activity ?? false;
  const isOff = voicemail?.action == null && message === null && !continueOnVoiceActivity;
  if (isOff && detectionPhrases.length === 0) return null;
  return { action: voicemail?.action ?? 'hangup', message, continueOnVoiceActivity, detectionPhrases };
}
