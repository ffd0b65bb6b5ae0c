/**
 * Messages between a client and the daemon in a talk session: types only, shared by both sides. docs/talk-socket.md
 * describes the protocol. Audio is sent as binary messages.
 */

/** The first message of a client. */
export interface TalkInitiate {
  method: 'initiate';
  data: {
    /** A session token or a public key. */
    public_key: string;
    /** A stored agent, fields to override for this session if the operator allows it, or a complete agent. */
    agent: {
      agent_id?: string | null;
      agent_config?: Readonly<Record<string, unknown>> | null;
      /** Refused with a public key. */
      agent_extensions?: Readonly<Record<string, unknown>> | null;
    };
    metadata?: Readonly<Record<string, unknown>> | null;
    include_metadata_in_prompt?: boolean | null;
    /** The session to continue. */
    session_continuation?: {
      session_id?: string | null;
      messages?: readonly Readonly<Record<string, unknown>>[] | null;
      /** The same call continues after its line broke: the agent does not greet again. */
      resume?: boolean | null;
    } | null;
    /** The client continues to play if `pause` says `sound_goes_on`, so that a background has no gap. */
    background_in_pauses?: boolean | null;
  };
}

/** Later messages of a client. */
export type TalkClientMessage =
  | { method: 'ping'; data?: unknown }
  /** A typed message of the user. */
  | { method: 'text'; data: string }
  | { method: 'dtmf'; data: string }
  /** The answer to an `ai_action` with a request. */
  | { method: 'form_result'; payload: { id: string; value: unknown } }
  /** On a data channel: another offer of the same connection, such as an ICE restart. Answered by `answer`. */
  | { method: 'offer'; payload: { sdp: string; type: 'offer' } };

export type TalkServerMessage =
  | { method: 'onready'; payload: { session_id: string } }
  /** Before `onready`: the client waits for an agent. `left`: none will come, and the socket closes; null = one will. */
  | { method: 'onqueue'; payload: { position: number; wait_s: number | null; left: string | null } }
  /** Replaces the previous one of the same `segment`. Segments belong to turns; both count up. */
  | { method: 'ontranscript'; data: string; payload: { is_final: boolean; turn: number; segment: number } }
  /** Replaces the previous one of the same `answer`. */
  | { method: 'onresponsetext'; data: string; payload: { is_final: boolean; answer: number } }
  | { method: 'start_answering' }
  /** `sound_goes_on`: a background is playing, so do not stop playing. */
  | { method: 'pause' | 'unpause' | 'clear'; payload?: { sound_goes_on: true } | undefined }
  | { method: 'ai_action'; payload: TalkAction }
  | { method: 'onmetrics'; payload: TalkTurnTimes }
  | { method: 'onerror'; data: string }
  /** `limit`: with the status `timeout`, whether the inactivity or the duration limit was reached. */
  | { method: 'onsessionended'; payload: { status: string; limit?: 'idle' | 'duration' | undefined } }
  | { method: 'pong'; data?: unknown }
  | { method: 'answer'; payload: { sdp: string; type: 'answer' } };

/**
 * An action of the agent. With a `type` it is a request to the client, which answers with a `form_result` of this id.
 */
export interface TalkAction {
  id: string;
  name: string;
  /** `webform` (or `web_form`): the user fills in `data.param`. `webhook`: the client executes it. */
  type?: 'webform' | 'web_form' | 'webhook';
  /** The model's arguments. */
  params?: Readonly<Record<string, unknown>>;
  data?: TalkForm;
  /** The request is withdrawn: close the form. */
  withdrawn?: true;
  /** Target of a transfer. */
  phone?: string;
}

export interface TalkForm {
  param: { name: string; type?: string | null; required?: boolean | null; description?: string | null };
  /** A suggestion, or an earlier value. */
  value?: unknown;
  /** Why the earlier value was rejected. */
  problem?: string;
}

/** Times of an answer, in milliseconds; null = the turn did not have the stage. */
export interface TalkTurnTimes {
  turn: number;
  /** From the end of the user's speech to the first audio of the answer at the line. */
  response_ms: number | null;
  /** From the end of speech to the decision that the turn is over. */
  end_of_turn_ms: number | null;
  /** From that decision to the model's first piece. */
  llm_first_ms: number | null;
  /** From that decision to the first sentence for the voice. */
  first_sentence_ms: number | null;
  /** From that sentence to its first audio. */
  tts_first_ms: number | null;
}

/** The reply of `POST /sessions/token`. */
export interface SessionTokenReply {
  token: string;
  /** Unix seconds. */
  expires_at: number;
  /** STUN and TURN servers for RTCPeerConnection. */
  ice_servers: readonly { urls: string; username?: string; credential?: string }[];
}

/** The reply of `GET /page.json`: the daemon's facts for the page. */
export interface PageDescription {
  public_key: string;
  /** `warnings`: what will not work as expected, and what to do. */
  agents: readonly { id: string; name: string; warnings: readonly string[] }[];
  /** Whether the engine is warm, as in `/readyz`. */
  ready: boolean;
}
