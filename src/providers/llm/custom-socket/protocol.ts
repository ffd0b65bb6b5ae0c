import type { ChatMessage } from '../../../agent/chat.js';
import { parseJson } from '../../../base/json.js';

/** Messages to a custom LLM server, one JSON object each; docs/custom-llm.md describes them. */
export type ToServer =
  | { type: 'start_call'; data: StartCallData & { stream_id: string } }
  | { type: 'stream_request'; data: { stream_id: string; transcript: readonly SocketTranscriptLine[] } }
  | { type: 'partial_transcript'; data: { session_id: string; transcript: string; is_final: boolean } }
  | { type: 'playback_finished'; data: { session_id: string; stream_id: string } }
  | { type: 'interrupt'; data: { stream_id: string } };

/** Information about the call for the server. */
export interface StartCallData {
  agent_id: string | null;
  call_sid: string | null;
  session_id: string;
  metadata: Readonly<Record<string, unknown>>;
  voip: { from: string; to: string } | null;
}

export interface SocketTranscriptLine {
  role: 'user' | 'assistant' | 'system';
  content: string;
}

/** Messages from the server. */
export type FromServer =
  | {
      type: 'stream_response';
      streamId: number;
      content: string;
      flush: boolean;
      pauseMs: number;
      endOfStream: boolean;
    }
  | { type: 'end_call'; streamId: number }
  | { type: 'transfer_call'; streamId: number; destination: string };

/** A phone number or a SIP address. */
const DESTINATION = /^(?:\+?[\d ().-]{3,30}|sips?:[^\s]{3,200})$/;

/**
 * Parses a message from the server; null = invalid. Unknown members are ignored, for compatibility with other versions.
 */
export function readMessage(text: string): FromServer | null {
  const message = objectOf(parsed(text));
  const data = objectOf(message?.['data']);
  const streamId = streamIdOf(data?.['stream_id']);
  if (message === null || data === null || streamId === null) return null;
  switch (message['type']) {
    case 'stream_response':
      return readResponse(data, streamId);
    case 'terminate_call':
    case 'end_call':
      return { type: 'end_call', streamId };
    case 'transfer_call': {
      const { destination } = data;
      if (typeof destination !== 'string' || !DESTINATION.test(destination.trim())) return null;
      return { type: 'transfer_call', streamId, destination: destination.trim() };
    }
    default:
      return null;
  }
}

/**
 * The conversation as sent to the server, without the system prompt, which the server has itself. The outcome of a
 * transfer or hang-up becomes a `system` line.
 */
export function transcriptOf(messages: readonly ChatMessage[]): SocketTranscriptLine[] {
  return messages.flatMap((message, index): SocketTranscriptLine[] => {
    const { role, content } = message;
    if (role === 'system' && index === 0) return [];
    if (content === '') return [];
    return [{ role: role === 'tool' ? 'system' : role, content }];
  });
}

/** Our stream ids are digits; servers may return them as a string or a number. */
function streamIdOf(id: unknown): number | null {
  return numberOf(typeof id === 'string' && /^\d{1,15}$/.test(id) ? Number(id) : id);
}

function readResponse(data: Readonly<Record<string, unknown>>, streamId: number): FromServer | null {
  const { content = '', flush = false, pause = 0, end_of_stream: endOfStream = false } = data;
  const pauseMs = pause ?? 0;
  if (typeof (content ?? '') !== 'string' || typeof (flush ?? false) !== 'boolean') return null;
  if (typeof pauseMs !== 'number' || !(pauseMs >= 0) || typeof (endOfStream ?? false) !== 'boolean') return null;
  return {
    type: 'stream_response',
    streamId,
    content: (content ?? '') as string,
    flush: flush === true,
    pauseMs,
    endOfStream: endOfStream === true,
  };
}

function parsed(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> | null {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? (value as Record<string, unknown>) : null;
}

/** Some servers send ids as strings. */
function numberOf(value: unknown): number | null {
  const number = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isSafeInteger(number) ? number : null;
}
