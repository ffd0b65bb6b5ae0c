/**
 * Generated from the schema in agent.ts, with its descriptions, so that editors show them. Do not edit:
 * `PARLEY_UPDATE_DOCS=1 npx vitest run test/agent/agent-types.test.ts` writes this file.
 */
import type { ParamSchema } from './param.js';

/** What an agent is. Every field may be null or left out. */
export interface AgentConfig {
  /** How the agent is to behave. `{Name}` variables are filled in. Default: none. */
  prompt?: string | null | undefined;
  /** The voice that the agent speaks with. Default: the operator's. */
  voice?: Voice | null | undefined;
  /** How the conversation goes. Default: as its fields say. */
  flow?: Flow | null | undefined;
  /** What the agent opens with. `{Name}` variables are filled in. Default: the model opens the conversation. */
  first_message?: string | null | undefined;
  /** Webhooks that the model can call. Default: none. */
  tools?: AgentFunction[] | null | undefined;
  /** Functions fulfilled by the caller's client or the operator. Default: none. */
  service_functions?: ServiceFunction[] | null | undefined;
  /** Ready-made functions of other services. Default: none. */
  app_functions?: AppFunction[] | null | undefined;
  /** A socket of yours that answers in place of a language model. Default: none. */
  custom_llm_websocket?: string | SocketConfig | null | undefined;
  /** What is spoken. Empty = the default. Default: en-US. */
  language?: Language | '' | null | undefined;
  /** Probability from which sound counts as speech; higher = less readily. Unit: 0..1. Default: 0.5. */
  vad_threshold?: number | null | undefined;
  /** The language model. Default: the operator's. */
  llm?: LLM | null | undefined;
  /** When a session ends by itself. Default: the operator's. */
  session_timeout?: SessionTimeout | null | undefined;
  /** Is sent the session's record when it has ended. Default: none. */
  session_data_webhook?: string | WebhookConfig | null | undefined;
  /** What is kept of a conversation. Default: all is kept. */
  privacy_settings?: PrivacySetting | null | undefined;
  /** Words that speech recognition favours. Default: none. */
  custom_vocabulary?: CustomVocabulary | null | undefined;
  /** Is asked for more prompt and metadata when a session begins. Default: none. */
  extra_prompt_webhook?: string | WebhookConfig | null | undefined;
  /** Changing the language in mid-conversation. Default: off. */
  switch_language?: SwitchLanguage | null | undefined;
  /** Files that the agent can consult. Default: none. */
  knowledge_base?: KnowledgeBase | null | undefined;
  /** Speech recognition. Default: the operator's. */
  speech_to_text?: SpeechToText | null | undefined;
  /** Recording and background sound. Default: neither. */
  call_settings?: CallSettings | null | undefined;
  /** What the agent remembers of earlier sessions. Default: off. */
  memory?: MemoryConfig | null | undefined;
  /** Time zone of the date and time that the agent knows. Unit: IANA name. Default: UTC. */
  timezone?: string | null | undefined;
  /** A disabled agent cannot be used. Default: active. */
  status?: 'active' | 'disabled' | null | undefined;
}

/** The voice that the agent speaks with. */
interface Voice {
  /** Who speaks: a registered text-to-speech provider. Unknown names are refused with the list of known ones. Default: the stored agent's, else the operator's. */
  provider?: string | null | undefined;
  /** The provider's name of the voice. */
  voice_id: string;
  /** The provider's speech model; refused where it has none to choose from. Default: the provider's. */
  model?: string | null | undefined;
  /** The provider's own settings, such as rate, pitch or stability; docs/providers.md lists them. Default: the provider's. */
  settings?: Record<string, unknown> | null | undefined;
}

/** How the conversation goes. */
interface Flow {
  /** Whether the user speaks first; the first message is then not said. Default: false. */
  user_start_first?: boolean | null | undefined;
  /** What happens when the user speaks over the agent. Default: all allowed and kept. */
  interruption?: Interruption | null | undefined;
  /** Least silence before the user's turn counts as over: a number, or an object with an extra wait for digits. Unit: ms. Default: 0. */
  response_delay?: number | ResponseDelay | null | undefined;
  /** Short phrases that bridge a slow reply. Default: off. */
  auto_fill_responses?: AutoFillResponses | null | undefined;
  /** The agent hanging up. Default: off. */
  agent_terminate_call?: AgentTerminateCall | null | undefined;
  /** Answering machines on outbound calls. Default: off. */
  voicemail?: Voicemail | null | undefined;
  /** Handing the call to a person. Default: off. */
  call_transfer?: CallTransfer | null | undefined;
  /** A user who says nothing. Default: off. */
  inactivity_handling?: InactivityHandling | null | undefined;
  /** The agent pressing phone keys. Default: off. */
  dtmf_dial?: DTMFDial | null | undefined;
}

/** What happens when the user speaks over the agent. */
interface Interruption {
  /** Whether the user may interrupt the agent. Default: true. */
  allowed?: boolean | null | undefined;
  /** Interruption allowed: true keeps the interrupted message in the history, cut to what was heard; false drops it. Not allowed: true keeps what the user said over the agent for the next turn; false discards it. Default: true. */
  keep_interruption_message?: boolean | null | undefined;
  /** Whether the opening message may be interrupted (spelled with three s). Default: true. */
  first_messsage?: boolean | null | undefined;
}

/** Waits before the agent takes its turn. */
interface ResponseDelay {
  /** Least silence before any turn of the user counts as over. Unit: ms. Default: 0. */
  generic_delay?: number | null | undefined;
  /** Extra wait while the user is giving digits: a phone number, an identifier. Unit: ms. Default: 0. */
  number_input_delay?: number | null | undefined;
}

/** Short phrases that bridge a slow reply. */
interface AutoFillResponses {
  /** From the decision that the user's turn is over until a filler is spoken, if the reply has not begun. 0 = at once. Unit: ms. Default: 0. */
  response_gap_threshold?: number | null | undefined;
  /** Fillers to choose from. Default: short phrases in the conversation's language. */
  messages?: string[] | null | undefined;
}

/** The agent hanging up. */
interface AgentTerminateCall {
  /** Whether the agent may end the call by itself. Default: false. */
  enabled?: boolean | null | undefined;
  /** When it should. Default: when the conversation is over. */
  instruction?: string | null | undefined;
  /** Goodbyes to choose from. Default: the model's own words. */
  messages?: string[] | null | undefined;
}

/** Answering machines on outbound calls. */
interface Voicemail {
  /** What to do when a machine answers. Default: hangup. */
  action?: 'hangup' | 'message' | null | undefined;
  /** What is left after the beep. Default: nothing. */
  message?: string | null | undefined;
  /** Go on with the conversation when a person comes in. Default: false. */
  continue_on_voice_activity?: boolean | null | undefined;
  /** Phrases that tell a machine apart, beside the built-in ones. Default: none. */
  detection_phrases?: string[] | null | undefined;
}

/** Handing the call to a person. */
interface CallTransfer {
  /** Where calls are transferred to. Default: none. */
  phone?: string | null | undefined;
  /** Several destinations to choose from. Default: none. */
  phones?: TransferPhone[] | null | undefined;
  /** When to transfer. Default: when the user asks for a person. */
  instruction?: string | null | undefined;
  /** Said before the transfer. Default: the model's own words. */
  messages?: string[] | null | undefined;
}

/** One destination of several. */
interface TransferPhone {
  /** A number to transfer to. */
  phone: string;
  /** When it is the right one. Default: none. */
  description?: string | null | undefined;
}

/** A user who says nothing. */
interface InactivityHandling {
  /** Silence of both sides before the agent asks again. 0 = off. Unit: s. Default: off. */
  idle_time?: number | null | undefined;
  /** What it says then. Default: a short question in the conversation's language. */
  message?: string | null | undefined;
}

/** The agent pressing phone keys. */
interface DTMFDial {
  /** Whether the agent may press keys. Default: false. */
  enabled?: boolean | null | undefined;
  /** When, and which. Default: none. */
  instruction?: string | null | undefined;
}

/** A webhook that the model can call. */
interface AgentFunction {
  /** What the model calls it by; no two tools share a name. */
  name: string;
  /** Its description for the model: what it does. */
  description: string;
  /** Its arguments. Default: none. */
  params?: Param[] | null | undefined;
  /** The address that is called. Default: nothing is called, the arguments are recorded. */
  webhook?: string | null | undefined;
  /** Headers of the request. Default: none. */
  header?: Record<string, string> | null | undefined;
  /** HTTP method. GET sends the arguments as the query, the others as a JSON body. Default: POST. */
  method?: string | null | undefined;
  /** Time for the whole reply before the call counts as failed. Unit: s. Default: 5. */
  timeout?: number | null | undefined;
  /** Run once when the call has ended, with what is known then, in place of during it. Default: false. */
  run_after_call?: boolean | null | undefined;
  /** Said while it runs. Default: nothing. */
  messages?: string[] | null | undefined;
  /** `strict` says one of `messages` as written, `flexible` in the model's own words. Default: strict. */
  response_mode?: 'strict' | 'flexible' | null | undefined;
  /** Start only after the phrase has been played. Default: false. */
  execute_after_message?: boolean | null | undefined;
  /** Leave `session_id` out of the request. Default: false. */
  exclude_session_id?: boolean | null | undefined;
  /** Send the session's metadata as `metadata`. Default: false. */
  include_metadata?: boolean | null | undefined;
}

/** One argument of a function, with the keywords of JSON Schema. */
interface Param {
  /** Key of the argument. */
  name: string;
  /** Whether the model has to give it. A list names the members that an object must have, as in JSON Schema. Default: false. */
  required?: boolean | string[] | null | undefined;
  /** string, number, integer, boolean, array or object. Any other word (email, date…) is a string whose form the model gets. Default: string; with enum, const, anyOf, oneOf or allOf any. */
  type?: string | null | undefined;
  /** Its description for the model. Default: none. */
  description?: string | null | undefined;
  /** The values that it can have. Default: any. */
  enum?: unknown[] | null | undefined;
  /** The only value that it can have. Default: any. */
  const?: unknown;
  /** The value where the model gives none. Default: none. */
  default?: unknown;
  /** Examples for the model. Default: none. */
  examples?: unknown[] | null | undefined;
  /** Form of a string: date, time, date-time, email, uri, uuid, ipv4 and ipv6 are checked; others only inform the model. Default: any. */
  format?: string | null | undefined;
  /** Regular expression that a string must match somewhere. Default: any. */
  pattern?: string | null | undefined;
  /** Fewest characters of a string. Default: 0. */
  minLength?: number | null | undefined;
  /** Most characters of a string. Default: any number. */
  maxLength?: number | null | undefined;
  /** Smallest number. Default: none. */
  minimum?: number | null | undefined;
  /** Largest number. Default: none. */
  maximum?: number | null | undefined;
  /** A number that it must be above. Default: none. */
  exclusiveMinimum?: number | null | undefined;
  /** A number that it must be below. Default: none. */
  exclusiveMaximum?: number | null | undefined;
  /** A number that it must be a multiple of. Default: none. */
  multipleOf?: number | null | undefined;
  /** What the items of an array are. Default: anything. */
  items?: ParamSchema | null | undefined;
  /** What the first items of an array are, one by one. Default: anything. */
  prefixItems?: ParamSchema[] | null | undefined;
  /** Fewest items of an array. Default: 0. */
  minItems?: number | null | undefined;
  /** Most items of an array. Default: any number. */
  maxItems?: number | null | undefined;
  /** Whether no item of an array may be there twice. Default: false. */
  uniqueItems?: boolean | null | undefined;
  /** The members of an object, by name. Default: any members. */
  properties?: Record<string, ParamSchema> | null | undefined;
  /** Whether, or which, other members an object may have. Default: true. */
  additionalProperties?: boolean | ParamSchema | null | undefined;
  /** Fewest members of an object. Default: 0. */
  minProperties?: number | null | undefined;
  /** Most members of an object. Default: any number. */
  maxProperties?: number | null | undefined;
  /** It has at least one of these forms. Default: any form. */
  anyOf?: ParamSchema[] | null | undefined;
  /** It has exactly one of these forms. Default: any form. */
  oneOf?: ParamSchema[] | null | undefined;
  /** It has all of these forms. Default: any form. */
  allOf?: ParamSchema[] | null | undefined;
  /** A form that it must not have. Default: none. */
  not?: ParamSchema | null | undefined;
}

/** A function fulfilled by the caller's client or the operator. */
interface ServiceFunction {
  /** What the model calls it by; no two tools share a name. */
  name: string;
  /** Its description for the model: what it does. */
  description: string;
  /** Its arguments. Default: none. */
  params?: Param[] | null | undefined;
  /** What the caller is asked to fill in. */
  data: ServiceFunctionData;
  /** Who fulfils it: the caller's client or the operator. */
  type: 'webform' | 'web_form' | 'webhook';
  /** Said while it runs. Default: nothing. */
  messages?: string[] | null | undefined;
  /** `strict` says one of `messages` as written, `flexible` in the model's own words. Default: strict. */
  response_mode?: 'strict' | 'flexible' | null | undefined;
}

/** What the service function asks for. */
interface ServiceFunctionData {
  /** The value that is asked for. */
  param: Param;
}

/** A ready-made function of another service. */
interface AppFunction {
  /** The registered app function. */
  name: string;
  /** What the app wants to know of the account. Default: none. */
  credentials?: Record<string, string> | null | undefined;
}

/** A WebSocket address with headers. */
interface SocketConfig {
  /** Where the request goes. */
  url: string;
  /** Headers sent with it. Default: none. */
  headers?: Record<string, string> | null | undefined;
}

/** A language code, with a region where it matters; `multi` finds out which language is spoken. */
type Language =
  | 'af'
  | 'am'
  | 'ar'
  | 'as'
  | 'ast'
  | 'az'
  | 'ba'
  | 'be'
  | 'bg'
  | 'bn'
  | 'bo'
  | 'br'
  | 'bs'
  | 'ca'
  | 'ceb'
  | 'cs'
  | 'cy'
  | 'da'
  | 'de'
  | 'de-CH'
  | 'el'
  | 'en'
  | 'en-AU'
  | 'en-GB'
  | 'en-IN'
  | 'en-NZ'
  | 'en-US'
  | 'es'
  | 'es-419'
  | 'et'
  | 'eu'
  | 'fa'
  | 'ff'
  | 'fi'
  | 'fo'
  | 'fr'
  | 'fr-CA'
  | 'fy'
  | 'ga'
  | 'gd'
  | 'gl'
  | 'gu'
  | 'ha'
  | 'haw'
  | 'he'
  | 'hi'
  | 'hr'
  | 'ht'
  | 'hu'
  | 'hy'
  | 'id'
  | 'ig'
  | 'ilo'
  | 'is'
  | 'it'
  | 'ja'
  | 'jv'
  | 'ka'
  | 'kk'
  | 'km'
  | 'kn'
  | 'ko'
  | 'la'
  | 'lb'
  | 'lg'
  | 'ln'
  | 'lo'
  | 'lt'
  | 'lv'
  | 'mg'
  | 'mi'
  | 'mk'
  | 'ml'
  | 'mn'
  | 'mo'
  | 'mr'
  | 'ms'
  | 'mt'
  | 'multi'
  | 'my'
  | 'ne'
  | 'nl'
  | 'nl-BE'
  | 'nn'
  | 'no'
  | 'oc'
  | 'or'
  | 'pa'
  | 'pl'
  | 'ps'
  | 'pt'
  | 'pt-BR'
  | 'ro'
  | 'ru'
  | 'sa'
  | 'sd'
  | 'si'
  | 'sk'
  | 'sl'
  | 'sn'
  | 'so'
  | 'sq'
  | 'sr'
  | 'ss'
  | 'su'
  | 'sv'
  | 'sw'
  | 'ta'
  | 'te'
  | 'tg'
  | 'th'
  | 'th-TH'
  | 'tk'
  | 'tl'
  | 'tn'
  | 'tr'
  | 'tt'
  | 'uk'
  | 'ur'
  | 'uz'
  | 'vi'
  | 'wo'
  | 'xh'
  | 'yi'
  | 'yo'
  | 'zh'
  | 'zh-TW'
  | 'zu';

/** The language model. */
interface LLM {
  /** Id of a language model that this installation knows. */
  model: string;
  /** How freely it words things. Unit: 0..2. Default: 0. */
  temperature?: number | null | undefined;
  /** How much of the conversation the model is given. Default: all of it. */
  history_settings?: HistorySettings | null | undefined;
}

/** How much of the conversation the model is given. */
interface HistorySettings {
  /** Most messages of the conversation that the model is given. Unit: messages. Default: all. */
  history_message_limit?: number | null | undefined;
  /** Most tool results among them. Unit: results. Default: all. */
  history_tool_result_limit?: number | null | undefined;
}

/** When a session ends by itself. */
interface SessionTimeout {
  /** Longest session. 0 = the operator's limit alone. Unit: s. Default: the operator's. */
  max_duration?: number | null | undefined;
  /** Time without input of the user that ends the session. 0 = off. Unit: s. Default: no limit. */
  max_idle?: number | null | undefined;
  /** Said before the line closes. Default: a short sentence in the conversation's language. */
  message?: string | null | undefined;
}

/** An HTTP address with request headers. */
interface WebhookConfig {
  /** Where the request goes. */
  url: string;
  /** Headers sent with it. Default: none. */
  headers?: Record<string, string> | null | undefined;
}

/** What is kept of a conversation. */
interface PrivacySetting {
  /** Keep no transcript, recording or memory. */
  opt_out_data_collection: boolean;
  /** Notice and record a wish not to be called again. Default: false. */
  do_not_call_detection?: boolean | null | undefined;
}

/** Words to expect. */
interface CustomVocabulary {
  /** Words that speech recognition favours, each with a weight: 1 a light nudge, 10 strong, below 0 against it. Unit: weight. */
  keywords: Record<string, number>;
}

/** Changing the language in mid-conversation. */
interface SwitchLanguage {
  /** Languages that the agent may change to. */
  languages: Language[];
}

/** Files that the agent can consult. */
interface KnowledgeBase {
  /** Ids of knowledge files. Default: none. */
  files?: string[] | null | undefined;
  /** Said while they are consulted. Default: nothing. */
  messages?: string[] | null | undefined;
}

/** Speech recognition. */
interface SpeechToText {
  /** A registered speech-to-text provider. Unknown names are refused with the list of known ones. Default: the operator's. */
  provider?: string | null | undefined;
  /** Expect several languages at once. Default: false. */
  multilingual?: boolean | null | undefined;
  /** The provider's model. Default: the provider's. */
  model?: string | null | undefined;
  /** Take noise out before recognition. Default: false. */
  denoise?: boolean | null | undefined;
  /** How noise is taken out. Default: its own settings. */
  denoiser?: Denoiser | null | undefined;
}

/** How noise is taken out. */
interface Denoiser {
  /** The denoiser's own settings. Members that it does not know are kept and have no effect. Default: its own. */
  settings?: DenoiserSettings | null | undefined;
}

/** The denoiser's own settings. */
interface DenoiserSettings {
  /** How much of the noise is taken out; 0 = none. Unit: 0..1. Default: 1. */
  strength?: number | null | undefined;
  /** Who hears without noise: speech recognition, voice activity detection or both. Default: stt. */
  applies_to?: 'stt' | 'vad' | 'both' | null | undefined;
  [other: string]: unknown;
}

/** Recording and background sound. */
interface CallSettings {
  /** Record the call. Default: false. */
  enable_recording?: boolean | null | undefined;
  /** Sound under the speech. Default: none. */
  background?: Background | null | undefined;
}

/** Sound under the speech. */
interface Background {
  /** An audio file that is looped under the speech. */
  url: string;
  /** Linear gain. Unit: 0..2. Default: 1. */
  volume?: number | null | undefined;
}

/** What the agent remembers of earlier sessions. */
interface MemoryConfig {
  /** Metadata key whose value tells users apart. Empty = no memory. Default: . */
  user_identifier_key?: string | null | undefined;
}
