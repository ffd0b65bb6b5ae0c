import type { ToolSpec } from '../../../../agent/chat.js';
import { vendorParameters } from '../../tool-schema.js';
import { openAiVoice } from '../../../tts/vendors/openai-voice.js';

/** The only PCM rate of the API. */
export const REALTIME_RATE_HZ = 24_000;

/** The desired settings of a session. */
export interface RealtimeSettings {
  /** Null = text only. */
  voice: { id: string; speed: number | undefined } | null;
  /** Transcription of the user; null = none. */
  transcription: { model: string; language?: string; keywords?: readonly string[]; prompt?: string } | null;
  instructions: string;
  tools: readonly ToolSpec[];
}

/** The settings that a session has received. */
export interface SentSettings {
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
export function sessionUpdate(settings: RealtimeSettings, sent: SentSettings | null): object | null {
  const { voice, transcription, instructions, tools } = settings;
  const isOther = {
    instructions: sent?.instructions !== instructions,
    tools: sent?.tools !== JSON.stringify(tools),
    transcription: sent?.transcription !== JSON.stringify(transcription),
  };
  if (sent !== null && !isOther.instructions && !isOther.tools && !isOther.transcription) return null;
  const format = { type: 'audio/pcm', rate: REALTIME_RATE_HZ };
  const isFirst = sent === null;
  const input = {
    format: isFirst ? format : undefined,
    turn_detection: isFirst ? null : undefined,
    transcription: isOther.transcription ? transcription : undefined,
  };
  const { id, speed } = voice ?? {};
  const output = {
    format,
    voice: id === undefined ? undefined : openAiVoice(id),
    speed,
  };
  return {
    type: 'realtime',
    output_modalities: isFirst ? [voice === null ? 'text' : 'audio'] : undefined,
    audio:
      isFirst || isOther.transcription ? { input, output: isFirst && voice !== null ? output : undefined } : undefined,
    instructions: isOther.instructions ? instructions : undefined,
    tools: isOther.tools ? tools.map(toolOf) : undefined,
    tool_choice: isOther.tools ? 'auto' : undefined,
  };
}

/** The settings in the form in which they are sent. */
export function sentOf({ instructions, tools, transcription }: RealtimeSettings): SentSettings {
  return { instructions, tools: JSON.stringify(tools), transcription: JSON.stringify(transcription) };
}

function toolOf(tool: ToolSpec): object {
  return { type: 'function', name: tool.name, description: tool.description, parameters: vendorParameters(tool) };
}
