import * as z from 'zod';
import { optional, required } from '../schema/field.js';
import { languageSchema } from './language.js';
import { phraseSchema, phrasesSchema } from '../schema/text.js';
import { httpUrlSchema } from './webhook.js';

export const llmSchema = z
  .strictObject({
    model: required(z.string().min(1).max(200), 'Id of a language model that this installation knows.'),
    temperature: optional(z.number().min(0).max(2), 'How freely it words things.', { unit: '0..2', default: 0 }),
    history_settings: optional(
      z
        .strictObject({
          history_message_limit: optional(
            z.int().min(1),
            'Most messages of the conversation that the model is given.',
            {
              unit: 'messages',
              default: 'all',
            },
          ),
          history_tool_result_limit: optional(z.int().min(0), 'Most tool results among them.', {
            unit: 'results',
            default: 'all',
          }),
        })
        .meta({ id: 'HistorySettings', description: 'How much of the conversation the model is given.' }),
      'How much of the conversation the model is given.',
      { default: 'all of it' },
    ),
  })
  .meta({ id: 'LLM', description: 'The language model.' });

export const sessionTimeoutSchema = z
  .strictObject({
    max_duration: optional(z.number().min(0).max(86_400), "Longest session. 0 = the operator's limit alone.", {
      unit: 's',
      default: "the operator's",
    }),
    max_idle: optional(
      z.number().min(0).max(86_400),
      'Time without input of the user that ends the session. 0 = off.',
      {
        unit: 's',
        default: 'no limit',
      },
    ),
    message: optional(phraseSchema, 'Said before the line closes.', {
      default: "a short sentence in the conversation's language",
    }),
  })
  .meta({ id: 'SessionTimeout', description: 'When a session ends by itself.' });

export const privacySettingsSchema = z
  .strictObject({
    opt_out_data_collection: required(z.boolean(), 'Keep no transcript, recording or memory.'),
    do_not_call_detection: optional(z.boolean(), 'Notice and record a wish not to be called again.', {
      default: false,
    }),
  })
  .meta({ id: 'PrivacySetting', description: 'What is kept of a conversation.' });

export const customVocabularySchema = z
  .strictObject({
    keywords: required(
      z
        .record(z.string().min(1).max(100), z.int().min(-100).max(100))
        .refine((keywords) => Object.keys(keywords).length <= 1_000, 'At most 1000 keywords'),
      'Words that speech recognition favours, each with a weight: 1 a light nudge, 10 strong, below 0 against it.',
      { unit: 'weight' },
    ),
  })
  .meta({ id: 'CustomVocabulary', description: 'Words to expect.' });

export const switchLanguageSchema = z
  .strictObject({ languages: required(z.array(languageSchema), 'Languages that the agent may change to.') })
  .meta({ id: 'SwitchLanguage', description: 'Changing the language in mid-conversation.' });

export const knowledgeBaseSchema = z
  .strictObject({
    files: optional(z.array(z.string().min(1).max(200)).max(1_000), 'Ids of knowledge files.', { default: 'none' }),
    messages: optional(phrasesSchema, 'Said while they are consulted.', { default: 'nothing' }),
  })
  .meta({ id: 'KnowledgeBase', description: 'Files that the agent can consult.' });

export const speechToTextSchema = z
  .strictObject({
    provider: optional(
      z.string().max(64),
      'A registered speech-to-text provider. Unknown names are refused with the list of known ones.',
      { default: "the operator's" },
    ),
    multilingual: optional(z.boolean(), 'Expect several languages at once.', { default: false }),
    model: optional(z.string().max(200), "The provider's model.", { default: "the provider's" }),
    denoise: optional(z.boolean(), 'Take noise out before recognition.', { default: false }),
    denoiser: optional(
      z
        .strictObject({
          settings: optional(
            z
              .looseObject({
                strength: optional(z.number().min(0).max(1), 'How much of the noise is taken out; 0 = none.', {
                  unit: '0..1',
                  default: 1,
                }),
                applies_to: optional(
                  z.enum(['stt', 'vad', 'both']),
                  'Who hears without noise: speech recognition, voice activity detection or both.',
                  { default: 'stt' },
                ),
              })
              .meta({ id: 'DenoiserSettings', description: "The denoiser's own settings." }),
            "The denoiser's own settings. Members that it does not know are kept and have no effect.",
            { default: 'its own' },
          ),
        })
        .meta({ id: 'Denoiser', description: 'How noise is taken out.' }),
      'How noise is taken out.',
      { default: 'its own settings' },
    ),
  })
  .meta({ id: 'SpeechToText', description: 'Speech recognition.' });

export const callSettingsSchema = z
  .strictObject({
    enable_recording: optional(z.boolean(), 'Record the call.', { default: false }),
    background: optional(
      z
        .strictObject({
          url: required(httpUrlSchema, 'An audio file that is looped under the speech.'),
          volume: optional(z.number().min(0).max(2), 'Linear gain.', { unit: '0..2', default: 1 }),
        })
        .meta({ id: 'Background', description: 'Sound under the speech.' }),
      'Sound under the speech.',
      { default: 'none' },
    ),
  })
  .meta({ id: 'CallSettings', description: 'Recording and background sound.' });

export const memorySchema = z
  .strictObject({
    user_identifier_key: optional(
      z.string().max(200),
      'Metadata key whose value tells users apart. Empty = no memory.',
      {
        default: '',
      },
    ),
  })
  .meta({ id: 'MemoryConfig', description: 'What the agent remembers of earlier sessions.' });
