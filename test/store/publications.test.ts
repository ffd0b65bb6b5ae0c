import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  type AgentContent,
  type AgentStep,
  AgentStore,
  LIVE_AT_ONCE,
  MAX_VERSIONS,
  type StoredAgent,
} from '../../src/store/agents.js';
import { type NewPublication, PublicationStore } from '../../src/store/publications.js';
import { SecretBox } from '../../src/store/secret-box.js';
import { sql } from '../../src/store/sql/statement.js';
import { backends, type TestDatabase } from './support/backends.js';

const box = new SecretBox(Buffer.alloc(32, 1));
const ANN = { id: 'k1', name: 'Ann' };

describe.each(backends)('drafts and publications, in $name', (backend) => {
  let test: TestDatabase;
  let agents: AgentStore;
  let store: PublicationStore;
  let now: StoredAgent;
  let made = 0;
  let entries = 0;

  beforeAll(async () => {
    test = await backend.open();
    agents = await AgentStore.open(test.database, test.tables, box);
    store = new PublicationStore(test.database);
  });

  beforeEach(async () => {
    const own = { draft: null, publishing: LIVE_AT_ONCE, revision: 0, changedBy: 'Ann', version: 1, createdAt: 1 };
    await agents.add({ ...content('one'), ...own, id: `agent ${String(++made)}` }, ANN);
    now = current();
  });

  afterAll(() => test.remove());

  function current(): StoredAgent {
    const found = agents.get(`agent ${String(made)}`);
    if (found === null) throw new Error('there is no agent');
    return found;
  }

  function content(prompt: string): AgentContent {
    return { name: 'Desk', config: { prompt }, extensions: null, script: undefined };
  }

  function stepOf(step: Partial<AgentStep>): AgentStep {
    const { version: live, draft, publishing } = current();
    return { content: null, note: null, live, draft, publishing, ...step };
  }

  function take(step: Partial<AgentStep>, from = current()): Promise<StoredAgent | null> {
    return agents.take(from, stepOf(step), { by: ANN, at: 2 });
  }

  function entry(more: Partial<NewPublication> = {}): NewPublication {
    const nothing = { version: 2, previous: null, note: null, details: {}, runId: null, dueUs: null };
    const id = `publication ${String(++entries)}`;
    return { ...nothing, id, agentId: now.id, action: 'publish', status: 'scheduled', by: ANN, ...more };
  }

  it('keep the published version in force while a draft changes, also after a restart', async () => {
    const publishing = { ...LIVE_AT_ONCE, drafts: true };
    await take({ content: content('two'), note: 'a try', draft: 'new', publishing });
    expect(await take({ content: content('three'), draft: 'new' })).toMatchObject({ version: 1, draft: 3 });
    const again = await AgentStore.open(test.database, test.tables, box);
    expect(again.get(now.id)).toMatchObject({ version: 1, draft: 3, config: { prompt: 'one' }, publishing });
    const versions = await agents.versions(now.id, { limit: 9, before: 9 });
    expect(versions).toMatchObject([
      { version: 3, config: { prompt: 'three' }, publishedAt: null, note: null, changedByKey: 'k1' },
      { version: 2, publishedAt: null, note: 'a try', changedBy: 'Ann', changedAt: 2 },
      { version: 1, publishedAt: 1 },
    ]);
    expect(await take({ live: 3, draft: null })).toMatchObject({
      version: 3,
      draft: null,
      config: { prompt: 'three' },
    });
    const [latest] = await agents.versions(now.id, { limit: 1, before: 9 });
    expect(latest?.publishedAt).toBe(2);
  });

  it('take one of two steps from the same state', async () => {
    const steps = [content('left'), content('right')].map((each) => take({ content: each, live: 'new' }, now));
    expect((await Promise.all(steps)).filter((taken) => taken !== null)).toHaveLength(1);
    expect(current().version).toBe(2);
  });

  it('undo a step whose other part fails', async () => {
    const failing = agents.take(
      now,
      stepOf({ content: content('two'), live: 'new' }),
      { by: ANN, at: 2 },
      function* () {
        yield* store.adding(entry({ status: 'done' }));
        throw new Error('no');
      },
    );
    await expect(failing).rejects.toThrow('no');
    expect(current()).toMatchObject({ version: 1, revision: 0 });
    expect(await store.list(now.id, { limit: 9, before: 1e9 })).toEqual([]);
  });

  it('delete no version that callers may get', async () => {
    const kept = [2, 3, 4, 5, 6, 7];
    await test.database.transaction(function* () {
      yield sql`WITH RECURSIVE numbers (version) AS (
          SELECT 2 UNION ALL SELECT version + 1 FROM numbers WHERE version < ${MAX_VERSIONS + 20}
        )
        INSERT INTO agent_versions (agent_id, version, name, config, extensions, changed_at)
        SELECT agent_id, numbers.version, name, config, extensions, changed_at FROM agent_versions, numbers
        WHERE agent_id = ${now.id} AND agent_versions.version = 1`;
      yield sql`INSERT INTO phones (number, carrier, status, agent_id, agent_version, created_at)
        VALUES (${`+${String(made)}`}, 'sip', 'active', ${now.id}, '4', 1)`;
      yield sql`INSERT INTO campaigns (id, name, status, agent_version, include_metadata_in_prompt, overrides, created_at)
        VALUES (${`campaign ${String(made)}`}, 'Offer', 'idle', '5', 0, '{}', 1)`;
      yield* store.adding(entry({ version: 6 }));
      yield* store.adding(entry({ status: 'done', version: 1, previous: 7 }));
    });
    const split = { versions: [{ version: 3, weight: 1 }], seed: '' };
    await take({ live: 2, draft: MAX_VERSIONS + 20, publishing: { ...LIVE_AT_ONCE, drafts: true, split } });
    await take({ content: content('last'), draft: 'new' });
    const found = await agents.versions(now.id, { limit: 20, before: 25 });
    expect(found.map(({ version }) => version).toReversed()).toEqual([...kept, 22, 23, 24]);
  });

  it('are moved on once, and open once at a time', async () => {
    expect(await store.addOpen(entry())).toBe(true);
    expect(await store.addOpen(entry())).toBe(false);
    const open = (await store.open()).entries.find(({ agentId }) => agentId === now.id);
    if (open === undefined) throw new Error('nothing is open');
    const other = new PublicationStore(await test.connect());
    const to = { status: 'done', details: {}, runId: null, previous: 1 } as const;
    const moves = await Promise.all([store, other, store].map((one) => one.move(open, to)));
    expect(moves.filter(Boolean)).toHaveLength(1);
    expect(await store.get(open.id)).toMatchObject({ status: 'done', previous: 1, by: ANN });
    expect((await store.lastOf(now.id, 2))?.id).toBe(open.id);
    expect(await store.addOpen(entry())).toBe(true);
    expect(await test.database.transaction(() => store.canceling(now.id, 'gone'))).toBe(1);
    expect(await store.list(now.id, { limit: 1, before: 1e9 })).toMatchObject([{ details: { reason: 'gone' } }]);
  });
});
