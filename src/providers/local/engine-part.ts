import type { EngineReply, EngineRequest } from './engine-protocol.js';

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
