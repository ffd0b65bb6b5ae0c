import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import type { CheckOutcome } from '../../../src/eval/expectations/check.js';
import { saidLike, type SaidLikeOptions, utterances } from '../../../src/eval/expectations/deciders.js';
import type { EvalLine } from '../../../src/eval/result.js';
import { Embedder } from '../../../src/tools/knowledge/embeddings.js';
import { EmbeddingsDouble } from '../embeddings-double.js';

/** Knows three things: money, time and greetings. */
const meaning = (text: string): number[] => [
  /price|cost|fee|dollars/i.test(text) ? 1 : 0,
  /open|hours|noon/i.test(text) ? 1 : 0,
  /hello|good/i.test(text) ? 1 : 0.1,
];

let double: EmbeddingsDouble;
let embedder: Embedder;
let clock: VirtualClock;
beforeEach(async () => {
  double = new EmbeddingsDouble(meaning);
  clock = new VirtualClock();
  embedder = new Embedder({ baseUrl: await double.open(), apiKey: 'key', model: 'small' }, clock);
});
afterEach(async () => {
  await embedder.close();
  await embedder.close();
  await double.close();
});

const agent = (text: string): EvalLine => ({ type: 'agent', text, startMs: 0, endMs: 1, interrupted: false });
const LINES: readonly EvalLine[] = [
  agent('Hello.'),
  {
    type: 'caller',
    text: 'What does it cost?',
    understood: null,
    startMs: 0,
    endMs: 1,
    cutOff: false,
    responseMs: null,
  },
  agent('Good question. It is ten dollars. We open at noon.'),
];

function found(changes: Partial<SaidLikeOptions> = {}): Promise<CheckOutcome> {
  const { signal } = new AbortController();
  return saidLike({ text: 'The price', lines: LINES, embedder, signal, ...changes });
}

it('passes where a sentence of an answer has the meaning, though the whole answer has not', async () => {
  const finding = await found();
  expect(finding).toEqual({ outcome: 'pass', reason: 'similarity 1.00: "It is ten dollars."', line: 2 });
  expect(double.sizes).toEqual([6]);
});

it('fails where nothing comes close, and says what comes closest', async () => {
  const finding = await found({ text: 'The price of hours', atLeast: 0.9 });
  expect(finding).toMatchObject({ outcome: 'fail', line: 2 });
  expect(finding.reason).toMatch(/^at least 0\.9 is needed; the closest has similarity 0\.8\d: "Good question\. It is/);
  expect((await found({ text: 'The price of hours' })).outcome).toBe('pass');
});

it('does not count what the caller says', async () => {
  const [, caller] = LINES;
  const lines = [agent('Hello.'), caller as EvalLine];
  expect(await found({ lines })).toMatchObject({ outcome: 'fail', line: 0 });
  expect(await found({ lines: [caller as EvalLine] })).toEqual({
    outcome: 'fail',
    reason: 'the agent says nothing',
    line: null,
  });
});

it('asks for no more texts at once than a server takes', async () => {
  const lines = Array.from({ length: 100 }, (_, index) => agent(`Hello ${String(index)}.`));
  await found({ lines: [...lines, agent('Ten dollars.')] });
  expect(double.sizes).toEqual([64, 38]);
});

it('cuts answers into sentences', () => {
  expect(utterances([agent(' Yes.  It is, Mr. '), agent('No'), agent(' ')])).toEqual([
    { text: 'Yes.  It is, Mr.', line: 0 },
    { text: 'Yes.', line: 0 },
    { text: 'It is, Mr.', line: 0 },
    { text: 'No', line: 1 },
  ]);
});

describe('is an error, never a pass,', () => {
  it('where no embedding model is configured: it says what to set', async () => {
    const { outcome, reason } = await found({ embedder: null });
    expect(outcome).toBe('error');
    expect(reason).toContain('PARLEY_EMBEDDING_MODEL');
  });

  it.each([429, 500])('where the server answers with status %i', async (status) => {
    double.status = status;
    const finding = await found();
    expect(finding).toMatchObject({ outcome: 'error', line: null });
    expect(finding.reason).toContain(`status ${String(status)}`);
  });

  it.each([
    ['no JSON', 'oops'],
    ['no vectors', '{"data":[]}'],
    ['words as vectors', '{"data":[{"index":0,"embedding":["a"]}]}'],
  ])('where the server gives %s', async (_name, body) => {
    double.body = body;
    expect((await found()).outcome).toBe('error');
  });

  it('where the server does not answer in time', async () => {
    double.isSilent = true;
    const finding = found();
    while (double.sizes.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await clock.advanceBy(30_000);
    expect(await finding).toMatchObject({ outcome: 'error' });
    expect((await finding).reason).toContain('30000 ms');
  });
});

it('is broken off by its signal', async () => {
  double.isSilent = true;
  const abort = new AbortController();
  const broken = expect(found({ signal: abort.signal })).rejects.toThrow('enough');
  while (double.sizes.length === 0) await new Promise((resolve) => setImmediate(resolve));
  abort.abort(new Error('enough'));
  await broken;
});
