import * as z from 'zod';
import {
  callSettingsSchema,
  customVocabularySchema,
  knowledgeBaseSchema,
  llmSchema,
  memorySchema,
  privacySettingsSchema,
  sessionTimeoutSchema,
  speechToTextSchema,
  switchLanguageSchema,
} from './abilities.js';
import { optional } from '../schema/field.js';
import { flowSchema } from './flow/flow.js';
import { appFunctionSchema, functionsSchema, serviceFunctionSchema } from './function.js';
import { languageSchema } from './language.js';
import { phraseSchema, timezoneSchema } from '../schema/text.js';
import { voiceSchema } from './voice.js';
import { socketSchema, webhookSchema } from './webhook.js';

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
    timezone: optional(timezoneSchema, 'Whose date and time the agent is told.', { unit: 'IANA name', default: 'UTC' }),
    status: optional(z.enum(['active', 'disabled']), 'A disabled agent cannot be used.', { default: 'active' }),
  })
  .meta({ id: 'AgentConfig', description: 'What an agent is. Every field may be null or left out.' });

export type { AgentConfig } from './agent-types.js';
