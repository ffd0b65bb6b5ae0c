import { expect, it } from 'vitest';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import type { Knowledge, KnowledgeQuery, Passage } from '../../../src/tools/knowledge/knowledge.js';
import { SearchTool } from '../../../src/tools/knowledge/search-tool.js';
import type { ToolResult } from '../../../src/tools/tool.js';

const PASSAGE: Passage = {
  fileId: 'f',
  fileName: 'menu.pdf',
  page: 3,
  heading: 'Soups',
  text: 'The soup is hot. Bread is free with every soup.',
};

/** What the model gets of a call. */
async function ask(
  search: (query: KnowledgeQuery) => Promise<Passage[]>,
  args = '{"query": "is bread free"}',
  signal = new AbortController().signal,
): Promise<ToolResult & { atMs: number }> {
  const clock = new VirtualClock();
  const knowledge: Knowledge = { known: async (ids) => [...ids], filesOf: async () => [], search };
  const tool = new SearchTool({ knowledge, fileIds: ['f'], language: 'en-GB', messages: ['One moment.'], clock });
  const call = { id: '1', name: 'search_knowledge', arguments: args };
  let settled = false;
  const result = tool.run(call, { sessionId: 's', metadata: {}, signal }).finally(() => (settled = true));
  result.catch(() => undefined);
  await clock.runUntil(() => settled, 60_000);
  return { ...(await result), atMs: clock.nowMs() };
}

it('tells the passages with their sources, and the sentence that answers best', async () => {
  let asked: KnowledgeQuery | undefined;
  const { ok, content, atMs } = await ask(async (query) => {
    asked = query;
    return [PASSAGE, { ...PASSAGE, page: null, heading: null }];
  });
  expect(ok).toBe(true);
  expect(JSON.parse(content)).toEqual({
    best: 'Bread is free with every soup.',
    passages: [
      { source: 'menu.pdf, page 3, Soups', text: PASSAGE.text },
      { source: 'menu.pdf', text: PASSAGE.text },
    ],
  });
  expect(asked).toMatchObject({ text: 'is bread free', fileIds: ['f'], language: 'en-GB', limit: 5 });
  expect(atMs).toBe(20);
});

it('says where nothing fits', async () => {
  const { ok, content } = await ask(async () => []);
  expect(ok).toBe(true);
  expect(JSON.parse(content)).toEqual({ error: expect.stringContaining('Nothing in the files fits') as string });
});

it.each(['', '{}', '{"query": 3}', '{"query": " "}', '{"query'])(
  'asks for a query where there is none: %s',
  async (args) => {
    expect(await ask(async () => [PASSAGE], args)).toMatchObject({
      ok: false,
      content: expect.stringContaining('query') as string,
    });
  },
);

it('is a failure that the model can speak about where the search fails or hangs', async () => {
  const failing = await ask(() => Promise.reject(new Error('the disk is gone')));
  expect(failing).toMatchObject({ ok: false, content: 'The documents could not be searched: the disk is gone' });
});

it('is given up when the call is over', async () => {
  const over = new AbortController();
  const work = ask(
    () => {
      over.abort(new Error('over'));
      return Promise.resolve([]);
    },
    undefined,
    over.signal,
  );
  await expect(work).rejects.toThrow('over');
});
