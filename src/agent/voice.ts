import * as z from 'zod';
import { optional, required } from '../schema/field.js';

/** Voice vendors that the interface names. Registered providers of this installation come on top. */
export const VOICE_PROVIDERS = [
  'azure',
  'cartesia',
  'deepgram',
  'dubverse',
  'elevenlabs',
  'kokoro',
  'neets',
  'openai',
  'openai_realtime',
  'orpheus',
  'playht',
  'rime',
  'sesame',
] as const;

export const voiceSchema = z
  .strictObject({
    provider: optional(
      z.string().min(1).max(64),
      'Who speaks: a registered text-to-speech provider. Unknown names are refused with the list of known ones.',
      { default: "the stored agent's, else the operator's" },
    ),
    voice_id: required(z.string().min(1).max(200), "The provider's name of the voice."),
    model: optional(z.string().max(200), "The provider's speech model; refused where it has none to choose from.", {
      default: "the provider's",
    }),
    settings: optional(
      z.record(z.string(), z.unknown()),
      "The provider's own settings, such as rate, pitch or stability; docs/providers.md lists them.",
      { default: "the provider's" },
    ),
  })
  .meta({ id: 'Voice', description: 'The voice that the agent speaks with.' });
