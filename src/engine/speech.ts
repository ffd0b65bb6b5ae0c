import type { AgentConfig } from '../config/agent.js';
import type { AgentDefaults, ResolvedAgent, ResolvedVoice } from '../config/resolve.js';
import type { SpeechModel, SpeechSession } from '../providers/llm/speech-model.js';
import type { TtsProvider } from '../providers/tts/tts.js';
import type { AgentRequest } from './options.js';
import type { Providers } from './providers.js';

/** A model that hears and speaks itself, in one session's place of what it would have otherwise. */
export interface OwnSpeech {
  session: SpeechSession;
  /** Its own ears are the session's. */
  hears: boolean;
  /** Says exact phrases in its voice; null = the agent speaks with another voice. */
  tts: TtsProvider | null;
  /** The agent's voice, with the model that phrases are said by. */
  voice: ResolvedVoice;
}

/** The model of an agent, where it hears and speaks itself and nothing else answers in its place. */
export function speechModelOf(
  config: AgentConfig,
  { llm }: AgentRequest,
  providers: Pick<Providers, 'speech'>,
  { llmModel }: Pick<AgentDefaults, 'llmModel'>,
): SpeechModel | null {
  if (llm !== undefined || config.custom_llm_websocket != null) return null;
  return providers.speech(config.llm?.model ?? llmModel);
}

/** Where the agent names neither recogniser nor voice, they are the model's own. */
export function ownDefaults({ voiceProvider }: SpeechModel): Partial<AgentDefaults> {
  return { sttProvider: voiceProvider, voiceProvider, voiceId: null };
}

/** Nothing is opened yet. */
export function ownSpeech(speech: SpeechModel, agent: ResolvedAgent, { stt, tts }: AgentRequest): OwnSpeech {
  const { voice, llm } = agent;
  const speaks = tts === undefined && voice.provider === speech.voiceProvider;
  const hears = stt === undefined && agent.stt.provider === speech.voiceProvider;
  const { voiceId, settings } = voice;
  return {
    session: speech.open(llm.model, speaks ? { voiceId, settings } : null),
    hears,
    tts: speaks ? speech.reader : null,
    voice: speaks ? { ...voice, model: voice.model ?? speech.readerModel(llm.model) } : voice,
  };
}
