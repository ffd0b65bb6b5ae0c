import { delay } from '../../base/clock.js';
import type { ToolCall } from '../../agent/chat.js';
import { ParleyError } from '../../base/errors.js';
import type { LlmProvider, LlmRequest } from '../../providers/llm/llm.js';

/** The answer of a test's model: words, tool calls, a failure, or (`stall`) no answer. */
export type Answer =
  string | { text?: string; calls?: readonly Omit<ToolCall, 'id'>[] } | { fault: string } | { stall: true };

export interface FunctionLlmOptions {
  /** Until the first piece. Default 100. */
  firstMs?: number;
  /** Between pieces; each piece is a word. Default 10. */
  pieceMs?: number;
}

/** A model for tests: a function computes the answer to each request. */
export function functionLlm(
  answer: (request: LlmRequest) => Answer,
  { firstMs = 100, pieceMs = 10 }: FunctionLlmOptions = {},
): LlmProvider {
  let calls = 0;
  return {
    name: 'function',
    virtualTime: true,
    warmUp: () => Promise.resolve(),
    close: () => Promise.resolve(),
    async *complete(request) {
      const { clock, signal } = request;
      const said = answer(request);
      if (typeof said === 'object' && 'stall' in said) {
        await delay(clock, Number.MAX_SAFE_INTEGER, signal);
        return;
      }
      await delay(clock, firstMs, signal);
      const { text, calls: wanted, fault } = plain(said);
      if (fault !== undefined) throw new ParleyError('PROVIDER_FAILED', { provider: 'function', reason: fault });
      for (const piece of text.match(/\S+\s*/g) ?? []) {
        yield { type: 'text', text: piece };
        await delay(clock, pieceMs, signal);
      }
      for (const call of wanted) yield { type: 'toolCall', call: { id: `call-${String(++calls)}`, ...call } };
      yield { type: 'usage', promptTokens: request.messages.length, completionTokens: text.length };
    },
  };
}

function plain(said: Exclude<Answer, { stall: true }>): {
  text: string;
  calls: readonly Omit<ToolCall, 'id'>[];
  fault?: string;
} {
  if (typeof said === 'string') return { text: said, calls: [] };
  if ('fault' in said) return { text: '', calls: [], fault: said.fault };
  return { text: said.text ?? '', calls: said.calls ?? [] };
}
