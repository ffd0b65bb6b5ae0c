import type { SttProvider } from '../stt/stt.js';
import type { TtsProvider } from '../tts/tts.js';
import type { LlmProvider } from './llm.js';

/** A language model that hears and speaks itself. */
export interface SpeechModel {
  /** The name under which `voice.provider` means its own voice. */
  voiceProvider: string;
  /** Says exact phrases in that voice: greetings, fillers, goodbyes. */
  reader: TtsProvider;
  /** The reader's model that sounds like a model id. */
  readerModel(model: string): string;
  /**
   * What one session has of it. Nothing is opened before it is used.
   * @param voice null = it answers in writing, and somebody else speaks
   */
  open(model: string, voice: SpeechModelVoice | null): SpeechSession;
}

export interface SpeechModelVoice {
  /** Null = its default. */
  voiceId: string | null;
  /** As the agent's configuration gives them; they have been checked. */
  settings: Readonly<Record<string, unknown>>;
}

/** The parts of it that stand where a session has others. */
export interface SpeechSession {
  /** Takes the user's audio to the model, and gives the words. */
  stt: SttProvider;
  /** Answers what it has heard: a last user message without words stands for it. */
  llm: LlmProvider;
  /** May be called twice. */
  close(): Promise<void>;
}
