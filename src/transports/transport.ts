/**
 * How a session's audio gets in and out. Every transport passes the contract suite in `src/testing`.
 *
 * A transport delivers input as it comes and is given the agent's audio 20 ms at a time, a frame a tick. The first
 * frame of speech after silence comes as soon as it is there, up to a tick early, and a silent tick is left out for it:
 * the line is at most one frame ahead of the ticks.
 */
export interface Transport {
  readonly name: string;
  /** Rate of what `TransportSink.audio` delivers. */
  readonly inputRateHz: number;
  /** Rate of what `play` takes. */
  readonly outputRateHz: number;
  /** Whether the user's client answers an `action` message with a form result. Default false. */
  readonly showsForms?: boolean;
  /**
   * How far ahead of real time `play` may be given the agent's voice, in milliseconds. The client at the other end stops
   * at `pause` and keeps what it has not played, goes on with it at `unpause`, and drops it at `clear`. Left out: what
   * `play` was given is heard, whatever messages follow, and frames come at their time.
   */
  readonly leadMs?: number;
  /**
   * Of a line with `leadMs`: the client goes on playing through messages with `soundGoesOn`. Then a background sounds
   * without a break, and nothing is given ahead. Default false: the background is left out from `pause` to `unpause`.
   */
  readonly playsThroughPauses?: boolean;
  /** Begins to deliver. Called once; what arrived before is delivered now. */
  start(sink: TransportSink): void;
  /**
   * The agent's audio for one tick: exactly 20 ms at `outputRateHz`, or null for silence. Never throws.
   * @param isBackground nobody speaks in it: to whoever waits for the agent to be silent it is silence. Default false
   */
  play(frame: Int16Array | null, isBackground?: boolean): void;
  /** Tells the user's client what is going on; transports without a side channel ignore it. Never throws. */
  send(message: TransportMessage): void;
  /** Ends the line. What `play` was given before is still heard where that is possible. May be called twice. */
  close(): Promise<void>;
  /**
   * Connects the user to a phone number or address. After success `close` ends the agent's part only, and a line that
   * closes by itself does so after this has resolved. Aborted: the attempt is given up, the line stays as it was.
   * Transports that cannot do it leave this out.
   */
  transfer?(target: string, signal: AbortSignal): Promise<TransferOutcome>;
  /** Whether the user hears this line alone until somebody answers a transfer, and is to hear ringing. Default false. */
  readonly ringsOnTransfer?: boolean;
  /**
   * Sends keys: 0-9, *, #, A-D, each as 100 ms of tone and 100 ms of silence; `w` waits 500 ms. Resolves when all is
   * sent. Transports without a way of their own leave this out, and are given tones to play.
   */
  sendDigits?(digits: string, signal: AbortSignal): Promise<void>;
  /**
   * How much of what `play` was given has not been heard yet, in milliseconds, where the far end tells: what it holds
   * back counts as not said when the user interrupts. Default: nothing is known of that, and 0 is assumed.
   */
  unheardMs?(): number;
  /** What became of the packets, so far; also when it is over. Transports without packets leave this out. */
  lineStats?(): LineStats;
}

/** Counts of packets, and milliseconds. */
export interface LineStats {
  received: number;
  /** Never came in time. */
  lost: number;
  /** Of these: came when their place had been given up. */
  late: number;
  duplicate: number;
  /** Came behind a later one, in time. */
  reordered: number;
  /** Interarrival jitter (RFC 3550, 6.4.1), at the end. */
  jitterMs: number;
  /** How long a missing packet was waited for, at the end. */
  patienceMs: number;
  sent: number;
  /** Share of what was sent, 0..1, that the other side missed by its last report; null where it sent none. */
  reportedLoss: number | null;
  /** The codec that was agreed upon; left out: nobody has said. */
  codec?: string | null;
  /** Sound that was made up in place of what was lost, in milliseconds. */
  concealedMs?: number;
  /** From us to the other side and back, by its last report. */
  roundTripMs?: number | null;
}

/** The statistics of a line without packets. */
export const NO_LINE_STATS: LineStats = {
  received: 0,
  lost: 0,
  late: 0,
  duplicate: 0,
  reordered: 0,
  jitterMs: 0,
  patienceMs: 0,
  sent: 0,
  reportedLoss: null,
};

export type TransferOutcome =
  | { ok: true }
  | {
      ok: false;
      reason: TransferFailure;
      /** What whoever was asked said last. */
      words?: string;
    };

/** `voicemail` and `declined`: of somebody who was asked first whether they take the call. */
export type TransferFailure = 'busy' | 'no-answer' | 'rejected' | 'voicemail' | 'declined' | 'unsupported' | 'failed';

/** What a session takes from its transport. None of these throws. */
export interface TransportSink {
  /** Mono audio at `inputRateHz`, any length. It may be overwritten afterwards. */
  audio(samples: Int16Array): void;
  /** Keys that the user pressed: 0-9, *, #, A-D. */
  digits(digits: string): void;
  /** A message that the user typed. */
  text(text: string): void;
  /** The value of a form that the agent asked the client to fill in. */
  formResult(id: string, value: unknown): void;
  /** The line is gone; called once, also after `close`. `error` tells why it broke, if it did. */
  closed(error?: Error): void;
}

/** Side-channel messages, named as on the talk socket (`docs/talk-socket.md`). */
export type TransportMessage =
  | { type: 'ready'; sessionId: string }
  | ({ type: 'transcript' } & TranscriptMessage)
  /** `answer` counts the agent's answers: texts of one answer have the same number. */
  | { type: 'response'; text: string; isFinal: boolean; answer: number }
  /** An answer is being prepared; its audio follows. */
  | { type: 'answering' }
  /** The user may be interrupting: hold what has not been played. Exactly one `unpause` follows. */
  | { type: 'pause'; soundGoesOn?: SoundGoesOn }
  /** A false alarm: go on from where it was held. Behind a `clear`: the line is free for what comes next. */
  | { type: 'unpause'; soundGoesOn?: SoundGoesOn }
  /** A real interruption: drop what has not been played. */
  | { type: 'clear'; soundGoesOn?: SoundGoesOn }
  | { type: 'action'; id: string; name: string; data: Readonly<Record<string, unknown>> }
  | { type: 'metrics'; turn: TurnTimes }
  /** `limit`: of the status `timeout`, which limit was reached: of silence, or of the call's length. */
  | { type: 'ended'; status: string; limit?: 'idle' | 'duration' };

/** What the user says in one segment, as far as it is known. */
export interface TranscriptMessage {
  text: string;
  isFinal: boolean;
  /** The user's turn that the words belong to. Turns count up; a turn that was answered too soon goes on with its number. */
  turn: number;
  /** Counts up over the session. A transcript replaces the one before of the same segment. */
  segment: number;
}

/** There is a background: what is played is the background alone, and goes on without a stop. */
export type SoundGoesOn = true;

/** How long a turn's answer took, by stage, in milliseconds; see `TurnMetrics` of the session. */
export interface TurnTimes {
  turn: number;
  responseMs: number | null;
  endOfTurnMs: number | null;
  llmFirstMs: number | null;
  firstSentenceMs: number | null;
  ttsFirstMs: number | null;
}
