import { delay } from '../../clock/clock.js';
import type { LlmProvider } from '../../providers/llm/llm.js';

/** A tool that a double calls before its answer to every n-th message of the user. */
export interface ToolUse {
  name: string;
  /** Default 1: before every answer. */
  every?: number;
}

export interface TimedLlmOptions {
  /** What is answered, in turns. */
  answers: readonly string[];
  /** What is called before answers, where it is offered. Default none. */
  tool?: ToolUse;
  /** Until the first piece. */
  firstMs: () => number;
  /** Between pieces of a word each. */
  pieceMs: number;
}

/** A language model with nothing to say and a vendor's pace: a double for benchmarks. */
export function timedLlm({ answers, tool, firstMs, pieceMs }: TimedLlmOptions): LlmProvider {
  let calls = 0;
  return {
    name: 'timed',
    virtualTime: true,
    warmUp: () => Promise.resolve(),
    close: () => Promise.resolve(),
    async *complete({ messages, tools, clock, signal }) {
      await delay(clock, firstMs(), signal);
      const turn = messages.filter(({ role }) => role === 'user').length;
      const isDue = tool !== undefined && messages.at(-1)?.role === 'user' && turn % (tool.every ?? 1) === 0;
      if (isDue && tools.some(({ name }) => name === tool.name)) {
        yield { type: 'toolCall', call: { id: `call-${String(++calls)}`, name: tool.name, arguments: '{}' } };
        return;
      }
      for (const text of (answers[turn % answers.length] ?? '').match(/\S+\s*/g) ?? []) {
        yield { type: 'text', text };
        await delay(clock, pieceMs, signal);
      }
    },
  };
}
