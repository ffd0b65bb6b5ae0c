import type { ToolSpec } from '../../../../agent/chat.js';
import { openAiVoice } from '../../../tts/vendors/openai-voice.js';

/** The only PCM rate of the API. */
export const REALTIME_RATE_HZ = 24_000;

/** The desired settings of a session. */
export interface RealtimeSettings {
  /** Null = text only. */
  voice: { id: string; speed?: number } | null;
  /** Transcription of the user; null = none. */
  transcription: { model: string; language?: string; keywords?: readonly string[]; prompt?: string } | null;
  instructions: string;
  tools: readonly ToolSpec[];
}

/** The settings that a session has received. */
export interface ToldSettings {
  instructions: string;
  /** As JSON. */
  tools: string;
  /** `transcription` as JSON. */
  transcription: string;
}

/**
 * The `session` of a `session.update`: everything the first time, then only changes; null = no change. Voice and
 * formats stay fixed. The server's turn detection is off. (Types of the package openai 7.57.0,
 * RealtimeSessionCreateRequest, read on 2026-11-22.)
 */
export function sessionUpdate(settings: RealtimeSettings, told: ToldSettings | null): object | null {
  const { voice, transcription, instructions, tools } = settings;
  const isOther = {
    instructions: told?.instructions !== instructions,
    tools: told?.tools !== JSON.stringify(tools),
    transcription: told?.transcription !== JSON.stringify(transcription),
  };
  if (told !== null && !isOther.instructions && !isOther.tools && !isOther.transcription) return null;
  const format = { type: 'audio/pcm', rate: REALTIME_RATE_HZ };
  const first = { format, turn_detection: null };
  const input = { ...(told === null && first), ...(isOther.transcription && { transcription }) };
  const { id, speed } = voice ?? {};
  const output = {
    format,
    voice: id === undefined ? undefined : openAiVoice(id),
    ...(speed !== undefined && { speed }),
  };
  const speaks = told === null && voice !== null;
  return {
    type: 'realtime',
    ...(told === null && { output_modalities: [voice === null ? 'text' : 'audio'] }),
    ...((told === null || isOther.transcription) && { audio: { input, ...(speaks && { output }) } }),
    ...(isOther.instructions && { instructions }),
    ...(isOther.tools && { tools: tools.map(toolOf), tool_choice: 'auto' }),
  };
}

/** The settings in the form in which they are sent. */
export function toldOf({ instructions, tools, transcription }: RealtimeSettings): ToldSettings {
  return { instructions, tools: JSON.stringify(tools), transcription: JSON.stringify(transcription) };
}

function toolOf({ name, description, parameters }: ToolSpec): object {
  return { type: 'function', name, description, parameters };
}
