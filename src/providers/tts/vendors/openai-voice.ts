/**
 * The `voice` parameter of OpenAI's endpoints: a name, or an object for custom voices (`voice_…`). Source: the types of
 * the official SDK 7.57.0 (SpeechCreateParams.ID, RealtimeAudioConfigOutput.ID).
 */
export function openAiVoice(voiceId: string): string | { id: string } {
  return voiceId.startsWith('voice_') ? { id: voiceId } : voiceId;
}
