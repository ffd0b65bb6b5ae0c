import type { ToolSpec } from '../../agent/chat.js';
import { openAiVoice } from '../tts/vendors/openai-voice.js';

/** The only rate of the API's PCM. */
export const REALTIME_RATE_HZ = 24_000;

/** What a session is to be. */
export interface RealtimeSettings {
  /** Null = it writes, and does not speak. */
  voice: { id: string; speed?: number } | null;
  /** What transcribes the user; null = nothing does. */
  transcription: { model: string; language?: string; keywords?: readonly string[]; prompt?: string } | null;
  instructions: string;
  tools: readonly ToolSpec[];
}

/** What a session has been told. */
export interface ToldSettings {
  instructions: string;
  /** As JSON. */
  tools: string;
  /** `transcription` as JSON. */
  transcription: string;
}

/**
 * The `session` of a `session.update`: all of it the first time, then what has changed; null = nothing has. Voice and
 * formats stay as they are. The turns are ours: the server detects none. (Types of the package openai 7.57.0,
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

/** The setting as it has been told. */
export function toldOf({ instructions, tools, transcription }: RealtimeSettings): ToldSettings {
  return { instructions, tools: JSON.stringify(tools), transcription: JSON.stringify(transcription) };
}

function toolOf({ name, description, parameters }: ToolSpec): object {
  return { type: 'function', name, description, parameters };
}
