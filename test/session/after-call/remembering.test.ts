import { expect, it } from 'vitest';
import type { LlmRequest } from '../../../src/providers/llm/llm.js';
import { type MemoryKeeper, plainSummary } from '../../../src/session/after-call/memory.js';
import { type Answer, functionLlm } from '../../../src/testing/doubles/function-llm.js';
import { play, recording, saidBy } from '../support.js';

const SPEECH = recording(4000, [1500, 2800]);
const LINES = ['I would like the blue kettle'];

function store(): MemoryKeeper & { kept: string[] } {
  const kept: string[] = [];
  return { kept, keep: async (text) => void kept.push(text) };
}

/** Answers the summary's request with this call, or as it pleases. */
function summing(reply: (request: LlmRequest) => Answer | { arguments: string }): ReturnType<typeof functionLlm> {
  return functionLlm((request) => {
    if (request.requiredTool !== 'remember') return 'Very well.';
    const answer = reply(request);
    if (typeof answer === 'string') return answer;
    return 'arguments' in answer ? { calls: [{ name: 'remember', ...answer }] } : answer;
  });
}

it('keeps what the model says that the session established', async () => {
  const memory = store();
  const requests: LlmRequest[] = [];
  const llm = summing((request) => {
    requests.push(request);
    return { arguments: '{"summary": " Wants the\\nblue kettle. "}' };
  });
  const played = await play(SPEECH, { lines: LINES, memory, llm });
  expect(saidBy(played)).toContain('Very well.');
  expect(memory.kept).toEqual(['Wants the blue kettle.']);
  expect(requests).toHaveLength(1);
  expect(requests[0]?.tools.map(({ name }) => name)).toEqual(['remember']);
  expect(requests[0]?.messages.some(({ content }) => content === LINES[0])).toBe(true);
});

it.each([
  ['talks instead', 'I am sorry, I cannot do that.'],
  ['answers in another form', { arguments: '{"text": 3}' }],
  ['writes broken JSON', { arguments: '{"summ' }],
])('keeps what the user said where the model %s', async (_name, reply) => {
  const memory = store();
  await play(SPEECH, { lines: LINES, memory, llm: summing(() => reply) });
  expect(memory.kept).toEqual([`The user said: "${LINES[0] ?? ''}"`]);
});

it('stores nothing without content, and without a user', async () => {
  const memory = store();
  await play(SPEECH, { lines: LINES, memory, llm: summing(() => ({ arguments: '{"summary": ""}' })) });
  await play(recording(1000), { memory, llm: summing(() => ({ arguments: '{"summary": "x"}' })) });
  expect(memory.kept).toEqual([]);
});

it('is not held up by a model that is silent and a store that hangs or fails', async () => {
  const llm = summing(() => ({ stall: true }));
  const hanging: MemoryKeeper = { keep: () => new Promise(() => undefined) };
  const { report } = await play(SPEECH, { lines: LINES, memory: hanging, llm });
  expect(report.status).toBe('user-ended');
  expect(report.faults).toMatchObject({ 'memory.failed': 2 });
  const failing: MemoryKeeper = { keep: () => Promise.reject(new Error('the disk is full')) };
  const { report: second, log } = await play(SPEECH, { lines: LINES, memory: failing, llm: summing(() => 'no') });
  expect(second.status).toBe('user-ended');
  expect(JSON.stringify(log)).toContain('the disk is full');
});

it('says without a model what was done and what the user said', () => {
  const call = { result: '', tookMs: 0, runAfterCall: false };
  const summary = plainSummary(
    [
      { role: 'system', content: 'You are a waiter of some sort.' },
      { role: 'user', content: 'a table for two please' },
      { role: 'assistant', content: 'For when would that be?' },
      { role: 'user', content: 'yes' },
    ],
    [
      { ...call, name: 'book_table', arguments: '{"party": 2, "name": "Ann"}', ok: true },
      { ...call, name: 'send_mail', arguments: '{}', ok: false },
      { ...call, name: 'end_call', arguments: '{}', ok: true },
    ],
  );
  expect(summary).toBe('Done: book table (party: 2, name: Ann). The user said: "a table for two please"');
});
