/**
 * What a client and the daemon say to each other around a talk session: types only, shared by both sides. The protocol
 * is described in docs/talk-socket.md. Audio travels beside these as binary messages.
 */

/** The first message of a client. */
export interface TalkInitiate {
  method: 'initiate';
  data: {
    /** A session token or a public key. */
    public_key: string;
    /** A stored agent, its fields for this session where the operator allows them, or these alone. */
    agent: {
      agent_id?: string | null;
      agent_config?: Readonly<Record<string, unknown>> | null;
      /** Refused with a public key. */
      agent_extensions?: Readonly<Record<string, unknown>> | null;
    };
    metadata?: Readonly<Record<string, unknown>> | null;
    include_metadata_in_prompt?: boolean | null;
    /** What the session goes on from. */
    session_continuation?: {
      session_id?: string | null;
      messages?: readonly Readonly<Record<string, unknown>>[] | null;
      /** The same call goes on after its line broke: the agent does not greet again. */
      resume?: boolean | null;
    } | null;
    /** The client keeps playing where `pause` says `sound_goes_on`, so that a background sounds without a break. */
    background_in_pauses?: boolean | null;
  };
}

/** What a client may send after that. */
export type TalkClientMessage =
  | { method: 'ping'; data?: unknown }
  /** A typed message of the user. */
  | { method: 'text'; data: string }
  /** Keys: 0-9, *, #, A-D. */
  | { method: 'dtmf'; data: string }
  /** The answer to an `ai_action` that asks for one. */
  | { method: 'form_result'; payload: { id: string; value: unknown } }
  /** On a data channel: another offer of the same connection, such as an ICE restart. Answered by `answer`. */
  | { method: 'offer'; payload: { sdp: string; type: 'offer' } };

export type TalkServerMessage =
  | { method: 'onready'; payload: { session_id: string } }
  /** Replaces the one before of the same `segment`. Segments belong to turns; both count up. */
  | { method: 'ontranscript'; data: string; payload: { is_final: boolean; turn: number; segment: number } }
  /** Replaces the one before of the same `answer`. */
  | { method: 'onresponsetext'; data: string; payload: { is_final: boolean; answer: number } }
  | { method: 'start_answering' }
  /** `sound_goes_on`: a background is playing, so there is nothing to hold or to drop. */
  | { method: 'pause' | 'unpause' | 'clear'; payload?: { sound_goes_on: true } }
  | { method: 'ai_action'; payload: TalkAction }
  | { method: 'onmetrics'; payload: TalkTurnTimes }
  | { method: 'onerror'; data: string }
  /** `limit`: of the status `timeout`, whether nobody spoke for too long or the call was too long. */
  | { method: 'onsessionended'; payload: { status: string; limit?: 'idle' | 'duration' } }
  | { method: 'pong'; data?: unknown }
  | { method: 'answer'; payload: { sdp: string; type: 'answer' } };

/** The agent does something. With a `type`, the client is asked for it, and answers with a `form_result` of this id. */
export interface TalkAction {
  id: string;
  name: string;
  /** `webform` (or `web_form`): the user is to fill in `data.param`. `webhook`: the client is to do it itself. */
  type?: 'webform' | 'web_form' | 'webhook';
  /** Arguments of the model's. */
  params?: Readonly<Record<string, unknown>>;
  data?: TalkForm;
  /** Nothing is waited for any more: the form can go. */
  withdrawn?: true;
  /** Of a transfer: where to. */
  phone?: string;
}

export interface TalkForm {
  param: { name: string; type?: string | null; required?: boolean | null; description?: string | null };
  /** A suggestion, or what was filled in before. */
  value?: unknown;
  /** What was wrong with it. */
  problem?: string;
}

/** How long an answer took, in milliseconds; null = the turn did not have this stage. */
export interface TalkTurnTimes {
  turn: number;
  /** From the end of the user's speech to the first audio of the answer at the line. */
  response_ms: number | null;
  /** From the end of speech to the decision that the turn is over. */
  end_of_turn_ms: number | null;
  /** From that decision to the model's first piece. */
  llm_first_ms: number | null;
  /** From that decision to the first sentence given to the voice. */
  first_sentence_ms: number | null;
  /** From that sentence to its first audio. */
  tts_first_ms: number | null;
}

/** The reply of `POST /sessions/token`. */
export interface SessionTokenReply {
  token: string;
  /** Unix seconds. */
  expires_at: number;
  /** STUN and TURN servers, as RTCPeerConnection takes them. */
  ice_servers: readonly { urls: string; username?: string; credential?: string }[];
}

/** The reply of `GET /page.json`: what the page needs to know of its daemon. */
export interface PageDescription {
  public_key: string;
  /** `warnings`: what keeps an agent from answering as one would expect, and what to do. */
  agents: readonly { id: string; name: string; warnings: readonly string[] }[];
  /** Whether the engines are warm, as `/readyz` tells. */
  ready: boolean;
}
