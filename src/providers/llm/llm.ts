import type { Clock } from '../../clock/clock.js';
import type { ChatMessage, ToolCall, ToolSpec } from '../../config/chat.js';

/** A language model, streaming. One vendor a file; the registry names them. */
export interface LlmProvider {
  readonly name: string;
  /** True where a reply depends only on the request and comes at times from a table. */
  readonly virtualTime: boolean;
  warmUp(): Promise<void>;
  /**
   * One reply. Ends after the last piece; throws a ParleyError when the model fails, and the signal's reason when
   * it is aborted. Nothing goes on running after either.
   */
  complete(request: LlmRequest): AsyncIterable<LlmPiece>;
  close(): Promise<void>;
}

export interface LlmRequest {
  model: string;
  messages: readonly ChatMessage[];
  tools: readonly ToolSpec[];
  /** The reply is to be one call of this tool, which the last message asks for. */
  requiredTool?: string;
  /** 0..2. */
  temperature: number;
  clock: Clock;
  signal: AbortSignal;
}

export type LlmPiece =
  /** `flush`: what there is now is to be spoken, whole sentence or not; `pauseMs`: with so much silence behind it. */
  | { type: 'text'; text: string; flush?: boolean; pauseMs?: number }
  /** A whole call; models that stream arguments are gathered up first. */
  | { type: 'toolCall'; call: ToolCall }
  | LlmUsage;

/** What the vendor counts. A reply may tell it in parts, which add up; one that is broken off may not come to tell it. */
export interface LlmUsage {
  type: 'usage';
  /** All that was read. */
  promptTokens: number;
  /** Of these, those that came out of the vendor's cache, and those that were written to it. Default 0. */
  cachedTokens?: number;
  cacheWriteTokens?: number;
  completionTokens: number;
  /** Who counts, where that is not who was asked: a stand-in, and the model id that it was asked for. */
  by?: { provider: string; model: string };
}
