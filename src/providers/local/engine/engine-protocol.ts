/** What the process of a local engine is told, and what it answers. Ids are the caller's. */

/** Hears as it comes, hears whole recordings, speaks, takes noise out. */
export type EngineName = 'listen' | 'transcribe' | 'speak' | 'denoise';

export interface EngineLoad {
  engine: EngineName;
  /** What sherpa-onnx's constructor of that engine takes. */
  config: Readonly<Record<string, unknown>>;
  /** Processors that one computation may use. */
  threads: number;
  /** It says when nothing has been asked of it for so long, in milliseconds, and again after as long; null = it does not. */
  idleMs: number | null;
}

export type EngineRequest =
  | { type: 'load'; load: EngineLoad }
  /** Answered when what was sent before has been dealt with. */
  | { type: 'ping' }
  /** A stream of sound. */
  | { type: 'open'; id: number }
  /** 16 kHz. */
  | { type: 'audio'; id: number; samples: Int16Array }
  /** What was heard is wanted, whole: so much silence is put behind it. */
  | { type: 'finish'; id: number; mark: number; padSamples: number }
  | { type: 'transcribe'; id: number; samples: Int16Array; language: string | null; hotwords: string | null }
  /** `language` for models that speak several: espeak-ng's code; null = the model's own. */
  | { type: 'speak'; id: number; text: string; speaker: number; rate: number; language: string | null }
  /** Nobody wants anything of this id any more. */
  | { type: 'close'; id: number };

export type EngineReply =
  | { type: 'ready'; sampleRateHz: number; speakers: number }
  /** `isMissing`: the package is not there, or not for this machine. */
  | { type: 'unusable'; reason: string; isMissing: boolean }
  | { type: 'pong' }
  | { type: 'idle' }
  /** `mark` of the request that it answers; null = it came up while listening. */
  | { type: 'heard'; id: number; mark: number | null; heard: Heard }
  | { type: 'audio'; id: number; samples: Int16Array }
  | { type: 'done'; id: number }
  | { type: 'failed'; id: number; reason: string };

export interface Heard {
  text: string;
  /** The pieces of the text, as the model writes them. Empty where it does not tell. */
  tokens: readonly string[];
  /** When each begins, in seconds of the stream. Empty where the model does not tell. */
  timesS: readonly number[];
  /** The natural logarithm of how likely each is. Empty where the model does not tell. */
  logProbs: readonly number[];
}

export type Reply = (reply: EngineReply) => void;

/** One of the engines, in the process that runs it. */
export interface EnginePart {
  readonly sampleRateHz: number;
  readonly speakers: number;
  /** Throws where the request cannot be carried out. */
  take(request: EngineRequest): void;
  /**
   * Resolves when what is computed beside the process's loop is over: until then nobody can say that it lives. Without it
   * everything is computed in the loop.
   */
  settled?(): Promise<void>;
}
