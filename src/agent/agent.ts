import * as z from 'zod';
import { optional, required } from '../schema/field.js';
import { flowSchema } from './flow/flow.js';
import { appFunctionSchema, functionsSchema, serviceFunctionSchema } from './function.js';
import { languageSchema } from './language.js';
import { phraseSchema, timezoneSchema, phrasesSchema } from '../schema/text.js';
import { socketSchema, webhookSchema, httpUrlSchema } from './webhook.js';

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

/** The whole AgentConfig: the one source of its validation, its types (`agent-types.ts`) and its documentation. */
export const agentConfigSchema = z
  .strictObject({
    prompt: optional(z.string(), 'How the agent is to behave. `{Name}` variables are filled in.', { default: 'none' }),
    voice: optional(voiceSchema, 'The voice that the agent speaks with.', { default: "the operator's" }),
    flow: optional(flowSchema, 'How the conversation goes.', { default: 'as its fields say' }),
    first_message: optional(phraseSchema, 'What the agent opens with. `{Name}` variables are filled in.', {
      default: 'the model opens the conversation',
    }),
    tools: optional(functionsSchema, 'Webhooks that the model can call.', { default: 'none' }),
    service_functions: optional(
      z.array(serviceFunctionSchema).max(128),
      "Functions fulfilled by the caller's client or the operator.",
      { default: 'none' },
    ),
    app_functions: optional(z.array(appFunctionSchema).max(128), 'Ready-made functions of other services.', {
      default: 'none',
    }),
    custom_llm_websocket: optional(socketSchema, 'A socket of yours that answers in place of a language model.', {
      default: 'none',
    }),
    language: optional(z.union([languageSchema, z.literal('')]), 'What is spoken. Empty = the default.', {
      default: 'en-US',
    }),
    vad_threshold: optional(
      z.number().min(0).max(1),
      'Probability from which sound counts as speech; higher = less readily.',
      { unit: '0..1', default: 0.5 },
    ),
    llm: optional(llmSchema, 'The language model.', { default: "the operator's" }),
    session_timeout: optional(sessionTimeoutSchema, 'When a session ends by itself.', { default: "the operator's" }),
    session_data_webhook: optional(webhookSchema, "Is sent the session's record when it has ended.", {
      default: 'none',
    }),
    privacy_settings: optional(privacySettingsSchema, 'What is kept of a conversation.', { default: 'all is kept' }),
    custom_vocabulary: optional(customVocabularySchema, 'Words that speech recognition favours.', { default: 'none' }),
    extra_prompt_webhook: optional(webhookSchema, 'Is asked for more prompt and metadata when a session begins.', {
      default: 'none',
    }),
    switch_language: optional(switchLanguageSchema, 'Changing the language in mid-conversation.', { default: 'off' }),
    knowledge_base: optional(knowledgeBaseSchema, 'Files that the agent can consult.', { default: 'none' }),
    speech_to_text: optional(speechToTextSchema, 'Speech recognition.', { default: "the operator's" }),
    call_settings: optional(callSettingsSchema, 'Recording and background sound.', { default: 'neither' }),
    memory: optional(memorySchema, 'What the agent remembers of earlier sessions.', { default: 'off' }),
    timezone: optional(timezoneSchema, 'Time zone of the date and time that the agent knows.', {
      unit: 'IANA name',
      default: 'UTC',
    }),
    status: optional(z.enum(['active', 'disabled']), 'A disabled agent cannot be used.', { default: 'active' }),
  })
  .meta({ id: 'AgentConfig', description: 'What an agent is. Every field may be null or left out.' });

export type { AgentConfig } from './agent-types.js';
