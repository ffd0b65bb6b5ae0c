import type { AgentConfig } from '../agent/agent.js';
import type { AgentDefaults, ResolvedAgent, ResolvedVoice } from '../agent/resolve.js';
import type { SpeechModel, SpeechSession } from '../providers/llm/llm.js';
import type { TtsProvider } from '../providers/tts/tts.js';
import type { AgentRequest } from './options.js';
import type { Providers } from './providers.js';

/** A speech-to-speech model in one session, in place of other providers. Close it with the session. */
export interface RealtimeSetup {
  session: SpeechSession;
  /** The model transcribes the user: it is also the session's recogniser. */
  hears: boolean;
  /** Speaks exact phrases in the model's voice; null = the agent uses another provider's voice. */
  tts: TtsProvider | null;
  /** The agent's voice, with the model for exact phrases. */
  voice: ResolvedVoice;
}

/** The agent's speech-to-speech model; null if its model uses text or another one answers in its place. */
export function realtimeModelOf(
  config: AgentConfig,
  { llm }: AgentRequest,
  providers: Pick<Providers, 'speech'>,
  { llmModel }: Pick<AgentDefaults, 'llmModel'>,
): SpeechModel | null {
  if (llm != null || config.custom_llm_websocket != null) return null;
  return providers.speech(config.llm?.model ?? llmModel);
}

/** A speech-to-speech model hears and speaks for an agent that names neither recogniser nor voice. */
export function realtimeDefaults({ voiceProvider }: SpeechModel): Partial<AgentDefaults> {
  return { sttProvider: voiceProvider, voiceProvider, voiceId: null };
}

/** Does not connect yet. */
export function realtimeSetup(model: SpeechModel, agent: ResolvedAgent, { stt, tts }: AgentRequest): RealtimeSetup {
  const { voice, llm } = agent;
  const speaks = tts == null && voice.provider === model.voiceProvider;
  const hears = stt == null && agent.stt.provider === model.voiceProvider;
  const { voiceId, settings } = voice;
  return {
    session: model.open(llm.model, speaks ? { voiceId, settings } : null),
    hears,
    tts: speaks ? model.reader : null,
    voice: speaks ? { ...voice, model: voice.model ?? model.readerModel(llm.model) } : voice,
  };
}
