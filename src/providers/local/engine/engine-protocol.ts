/** Requests to the process of a local engine, and its replies. The caller chooses the ids. */

/** Streaming STT, batch STT, TTS, denoising. */
export type EngineName = 'listen' | 'transcribe' | 'speak' | 'denoise';

export interface EngineLoad {
  engine: EngineName;
  /** The argument of sherpa-onnx's constructor for that engine. */
  config: Readonly<Record<string, unknown>>;
  /** Threads per computation. */
  threads: number;
  /** Reports idleness after this many milliseconds without a request, and repeats; null = never. */
  idleMs: number | null;
}

export type EngineRequest =
  | { type: 'load'; load: EngineLoad }
  /** Answered after all earlier requests. */
  | { type: 'ping' }
  /** Opens an audio stream. */
  | { type: 'open'; id: number }
  /** 16 kHz. */
  | { type: 'audio'; id: number; samples: Int16Array }
  /** Requests the complete transcript; this much silence is appended first. */
  | { type: 'finish'; id: number; mark: number; padSamples: number }
  | { type: 'transcribe'; id: number; samples: Int16Array; language: string | null; hotwords: string | null }
  /** `language` for multilingual models: espeak-ng's code; null = the model's own. */
  | { type: 'speak'; id: number; text: string; speaker: number; rate: number; language: string | null }
  /** Cancels all requests of this id. */
  | { type: 'close'; id: number };

export type EngineReply =
  | { type: 'ready'; sampleRateHz: number; speakers: number }
  /** `isMissing`: the package is not installed or does not support this machine. */
  | { type: 'unusable'; reason: string; isMissing: boolean }
  | { type: 'pong' }
  | { type: 'idle' }
  /** `mark` of the request that this answers; null = an interim result. */
  | { type: 'heard'; id: number; mark: number | null; heard: EngineTranscript }
  | { type: 'audio'; id: number; samples: Int16Array }
  | { type: 'done'; id: number }
  | { type: 'failed'; id: number; reason: string };

export interface EngineTranscript {
  text: string;
  /** The tokens of the text. Empty if the model does not report them. */
  tokens: readonly string[];
  /** Start of each token, in seconds of the stream. Empty if the model does not report it. */
  timesS: readonly number[];
  /** Log-probability of each token (natural logarithm). Empty if the model does not report it. */
  logProbs: readonly number[];
}

export type SendReply = (reply: EngineReply) => void;

/** One of the engines, inside the process. */
export interface EnginePart {
  readonly sampleRateHz: number;
  readonly speakers: number;
  /** Throws if the request fails. */
  take(request: EngineRequest): void;
  /**
   * Resolves when work outside the event loop is done, which delays pings until then. Absent = all work runs in the
   * loop.
   */
  settled?(): Promise<void>;
}
