/** How a user's words sound. */
export interface Sentiment {
  /** -1 to 1. */
  score: number;
  label: 'negative' | 'neutral' | 'positive';
}

/** What goes on in a call right now. */
export const CALL_STATES = [
  'ringing',
  'waiting',
  'listening',
  'user_speaking',
  'agent_speaking',
  'thinking',
  'tool',
  'held',
  'transferring',
  'taken_over',
  'after_call',
] as const;

/** Why somebody should look at a call, the most urgent first. docs/live-calls.md has the rules. */
export const WARNINGS = [
  'asks_for_human',
  'shouting',
  'misunderstood',
  'fault',
  'unhappy',
  'repeats',
  'tool_failed',
  'silence',
  'slow',
] as const;
export type WarningKind = (typeof WARNINGS)[number];

/** A running call, as watchers get it. Times are Unix seconds. */
export interface CallActivity {
  state: (typeof CALL_STATES)[number];
  state_since: number;
  user_muted: boolean;
  agent_muted: boolean;
  /** People who have joined the user and the agent, in order. */
  participants: { id: string; name: string; mode: 'listen' | 'whisper' | 'barge_in' | 'take_over'; held: boolean }[];
  /** Null = none runs. */
  /** The step of the flow. */
  step: string | null;
  tool: string | null;
  /** The tool that was called last, and key words of the user's latest turns. Null words = the agent opts out. */
  topic: { tool: string | null; words: string[] | null };
  user_said: string | null;
  agent_said: string | null;
  /** Of the user's last turn. Null = none yet, no lexicon for the language, or the agent opts out. */
  sentiment: Sentiment | null;
  /** The user's turns so far. */
  turns: number;
  response_ms: number | null;
  median_response_ms: number | null;
  warnings: { kind: WarningKind; since: number; detail: string | null }[];
}

/** A running call, as the API gives it. */
export interface RunningCall {
  session_id: string;
  call_id: string | null;
  call_status: string;
  channel: 'phone' | 'talk' | 'webrtc' | 'chat';
  direction: 'inbound' | 'outbound';
  agent_id: string | null;
  campaign_id: string | null;
  from: string | null;
  to: string | null;
  /** The start in Unix seconds. */
  ts: number;
  /** Null = its node does not answer. */
  live: CallActivity | null;
}
