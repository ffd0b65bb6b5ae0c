import { type LlmPiece, type LlmProvider, type LlmRequest, ParleyError, RealClock } from '@parley-voice/parley';
import { expect } from 'vitest';

export function request(changes: Partial<LlmRequest> = {}): LlmRequest {
  return {
    model: 'gpt-4o-mini',
    messages: [
      {
        role: 'user',
        content: 'Hi',
      },
    ],
    tools: [],
    temperature: 0.5,
    clock: new RealClock(),
    signal: new AbortController().signal,
    ...changes,
  };
}

export async function collect(pieces: AsyncIterable<LlmPiece>): Promise<LlmPiece[]> {
  const all: LlmPiece[] = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}

/** What a reply fails with. */
export async function failure(llm: LlmProvider, changes: Partial<LlmRequest> = {}): Promise<ParleyError> {
  const error: unknown = await collect(llm.complete(request(changes))).then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ParleyError);
  return error as ParleyError;
}
