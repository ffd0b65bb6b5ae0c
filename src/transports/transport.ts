/**
 * A session's audio input and output. Every transport passes the contract suite in `src/testing`.
 *
 * A transport delivers input as it arrives and gets the agent's audio 20 ms at a time, a frame a tick. The first frame
 * of speech after silence comes as soon as it exists, up to a tick early, and a silent tick is skipped for it: the line
 * is at most one frame ahead of the ticks.
 */
export interface Transport {
  readonly name: string;
  /** Rate of the audio for `TransportSink.audio`. */
  readonly inputRateHz: number;
  /** Rate of the audio for `play`. */
  readonly outputRateHz: number;
  /** Whether the user's client answers `action` messages with form results. Default false. */
  readonly showsForms?: boolean;
  /**
   * How far ahead of real time `play` may get the agent's speech, in milliseconds. The client stops at `pause` and
   * keeps unplayed audio, resumes at `unpause`, and drops it at `clear`. If omitted, audio given to `play` is heard
   * whatever messages follow, and frames come on time.
   */
  readonly leadMs?: number;
  /**
   * For a line with `leadMs`: the client continues to play through messages with `soundGoesOn`. Then a background has
   * no gaps, and nothing is sent ahead. Default false: the background is left out from `pause` to `unpause`.
   */
  readonly playsThroughPauses?: boolean;
  /** Starts to deliver input, including earlier input. Called once. */
  start(sink: TransportSink): void;
  /**
   * The agent's audio for one tick: exactly 20 ms at `outputRateHz`, or null for silence. Never throws.
   * @param isBackground background without speech, which counts as silence of the agent. Default false
   */
  play(frame: Int16Array | null, isBackground?: boolean): void;
  /** Sends a message to the user's client; transports without a side channel ignore it. Never throws. */
  send(message: TransportMessage): void;
  /** Ends the line. Audio already given to `play` is still heard if possible. May be called twice. */
  close(): Promise<void>;
  /**
   * Connects the user to a phone number or address. After success `close` ends only the agent's part; a line that
   * closes by itself does so after this has resolved. Abort: cancels the attempt, and the line stays as it was. Omitted
   * by transports without transfers.
   */
  transfer?(target: string, signal: AbortSignal): Promise<TransferOutcome>;
  /** Whether the user hears only this line until a transfer is answered, and needs a ringback tone. Default false. */
  readonly ringsOnTransfer?: boolean;
  /**
   * Sends keys: 0-9, *, #, A-D, each as 100 ms of tone and 100 ms of silence; `w` waits 500 ms. Resolves when all are
   * sent. Transports that omit this get tones to play.
   */
  sendDigits?(digits: string, signal: AbortSignal): Promise<void>;
  /**
   * How much of the audio given to `play` was not heard yet, in milliseconds, if the far end reports it: it counts as
   * not said when the user interrupts. Default: 0.
   */
  unheardMs?(): number;
  /** Packet statistics so far, also after the end. Omitted by transports without packets. */
  lineStats?(): LineStats;
}

/** Counts are packets, times milliseconds. */
export interface LineStats {
  received: number;
  /** Did not arrive in time. */
  lost: number;
  /** Of these: arrived after their place was given up. */
  late: number;
  duplicate: number;
  /** Arrived after a later one, in time. */
  reordered: number;
  /** Final interarrival jitter (RFC 3550, 6.4.1). */
  jitterMs: number;
  /** Final wait for missing packets. */
  patienceMs: number;
  sent: number;
  /** Share of sent packets, 0 to 1, that the other side missed by its last report; null without reports. */
  reportedLoss: number | null;
  /** The negotiated codec; omitted if unknown. */
  codec?: string | null;
  /** Concealed audio, in milliseconds. */
  concealedMs?: number;
  /** By the last report. */
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
      /** The target's last words. */
      words?: string;
    };

/** `voicemail` and `declined`: results of an attended transfer. */
export type TransferFailure = 'busy' | 'no-answer' | 'rejected' | 'voicemail' | 'declined' | 'unsupported' | 'failed';

/** Receives a transport's input. None of these throws. */
export interface TransportSink {
  /**
   * Mono audio at `inputRateHz`, any length, whose last sample was spoken now. It may be overwritten afterwards. Deliver
   * silence too: pauses are counted in it. Where none comes for 500 ms after speech, the session counts them itself.
   */
  audio(samples: Int16Array): void;
  /** Keys of the user: 0-9, *, #, A-D. */
  digits(digits: string): void;
  /** A typed message of the user. */
  text(text: string): void;
  /** The user's value for a form that the agent requested. */
  formResult(id: string, value: unknown): void;
  /** The line has ended; called once, also after `close`. `error` is set if it broke. */
  closed(error?: Error): void;
}

/** Side-channel messages, named as on the talk socket (`docs/talk-socket.md`). */
export type TransportMessage =
  | { type: 'ready'; sessionId: string }
  | ({ type: 'queue' } & PlaceInQueue)
  | ({ type: 'transcript' } & TranscriptMessage)
  /** `answer` numbers the agent's answers: texts of one answer have the same number. */
  | { type: 'response'; text: string; isFinal: boolean; answer: number }
  /** An answer is being prepared; its audio follows. */
  | { type: 'answering' }
  /** A possible interruption: pause playback. Exactly one `unpause` follows. */
  | { type: 'pause'; soundGoesOn?: SoundGoesOn }
  /** A false alarm: resume playback. After a `clear`: the next audio may play. */
  | { type: 'unpause'; soundGoesOn?: SoundGoesOn }
  /** A real interruption: drop unplayed audio. */
  | { type: 'clear'; soundGoesOn?: SoundGoesOn }
  | { type: 'action'; id: string; name: string; data: Readonly<Record<string, unknown>> }
  | { type: 'metrics'; turn: TurnTimes }
  /** `limit`: with the status `timeout`, whether the inactivity or the duration limit was reached. */
  | { type: 'ended'; status: string; limit?: 'idle' | 'duration' | undefined };

/** Where a user stands who waits for an agent. */
export interface PlaceInQueue {
  /** Counted from 1; 0 = the wait is over. */
  position: number;
  /** The estimated wait in seconds, rounded up to minutes; null = unknown. */
  waitS: number | null;
  /** Why no agent will come, such as `overflow` or `closed`; null = one will. */
  left: string | null;
}

/** The user's words in one segment so far. */
export interface TranscriptMessage {
  text: string;
  isFinal: boolean;
  /** The user's turn. Turns count up; a turn that was answered too soon keeps its number. */
  turn: number;
  /** Counts up over the session. A transcript replaces the previous one of the same segment. */
  segment: number;
}

/** A background: the audio is only the background, and continues without a stop. */
export type SoundGoesOn = true;

/** Times of a turn's answer by stage, in milliseconds; see `TurnMetrics` of the session. */
export interface TurnTimes {
  turn: number;
  responseMs: number | null;
  endOfTurnMs: number | null;
  llmFirstMs: number | null;
  firstSentenceMs: number | null;
  ttsFirstMs: number | null;
}
