import type { TalkTurnTimes } from '../../../transports/talk-protocol.js';
import type { ServerEvent } from '../sse.js';

/** The daemon's events of a running call (docs/calls.md). */
export type WatchedEvent =
  | { type: 'status'; call_status: string; ended: boolean }
  /** While the user speaks: the segment. Final words are those of the whole turn. */
  | { type: 'transcript'; role: 'user'; text: string | null; is_final: false; turn: number; segment: number }
  | { type: 'transcript'; role: 'user'; text: string | null; is_final: true; turn: number }
  | { type: 'transcript'; role: 'agent'; text: string | null; is_final: true }
  | { type: 'transcript'; role: 'participant'; name: string; text: string | null; is_final: true; whispered: boolean }
  | ({ type: 'participant' } & WatchedParticipant)
  | ({ type: 'metrics' } & WatchedTimes)
  | { type: 'step'; step: string }
  | { type: 'tool'; name: string; ok: boolean; took_ms: number }
  | { type: 'state'; held?: boolean; user_muted?: boolean; agent_muted?: boolean; agent_updated?: boolean }
  | { type: 'gap' };

interface WatchedTimes {
  turn: number;
  utterance_latency: number | null;
  end_of_turn: number | null;
  llm_first: number | null;
  first_sentence: number | null;
  tts_first: number | null;
}

/** Somebody who joins the user and the agent, has joined, or has left. */
export interface WatchedParticipant {
  participant_id: string;
  name: string;
  mode: 'listen' | 'whisper' | 'barge_in' | 'take_over';
  status: 'connecting' | 'joined' | 'left' | 'failed';
  reason: string | null;
}

const KINDS = new Set(['participant', 'status', 'transcript', 'metrics', 'step', 'tool', 'state', 'gap']);

/** Null = unknown event. */
export function watchedEvent({ event, data }: ServerEvent): WatchedEvent | null {
  if (!KINDS.has(event)) return null;
  try {
    return { ...(JSON.parse(data) as object), type: event } as WatchedEvent;
  } catch {
    return null;
  }
}

/** In the format of the talk socket. */
export function turnTimesOf(times: WatchedTimes): TalkTurnTimes {
  return {
    turn: times.turn,
    response_ms: times.utterance_latency,
    end_of_turn_ms: times.end_of_turn,
    llm_first_ms: times.llm_first,
    first_sentence_ms: times.first_sentence,
    tts_first_ms: times.tts_first,
  };
}
