import { delay } from '../../clock/clock.js';
import type { LlmProvider } from '../../providers/llm/llm.js';

export interface TimedLlmOptions {
  /** What is answered, in turns. */
  answers: readonly string[];
  /** Every answer to a user's message is preceded by a call of this tool, where it is offered. Default none. */
  tool?: string;
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
      const last = messages.at(-1);
      if (tool !== undefined && last?.role === 'user' && tools.some(({ name }) => name === tool)) {
        yield { type: 'toolCall', call: { id: `call-${String(++calls)}`, name: tool, arguments: '{}' } };
        return;
      }
      const turn = messages.filter(({ role }) => role === 'user').length;
      for (const text of (answers[turn % answers.length] ?? '').match(/\S+\s*/g) ?? []) {
        yield { type: 'text', text };
        await delay(clock, pieceMs, signal);
      }
    },
  };
}
