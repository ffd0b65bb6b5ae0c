/**
 * A voice as OpenAI's endpoints are told it: its own ones by their names, custom ones (`voice_…`) as an object. Source: the
 * types of the official SDK 7.57.0 (SpeechCreateParams.ID, RealtimeAudioConfigOutput.ID).
 */
export function openAiVoice(voiceId: string): string | { id: string } {
  return voiceId.startsWith('voice_') ? { id: voiceId } : voiceId;
}
