import * as z from 'zod';
import { readSuite } from './suite-text.js';
import type { Api } from '../http/api.js';
import { success } from '../http/endpoint.js';
import type { EvalRuns } from './eval-runs.js';
import type { EvalSuites } from './eval-suites.js';
import {
  suiteItem,
  suiteListSchema,
  suiteReply,
  suiteReplySchema,
  suiteVersionReply,
  suiteVersionSchema,
} from './replies.js';

export interface SuiteRoutesOptions {
  suites: EvalSuites;
  runs: EvalRuns;
}

const suiteSchema = z
  .union([z.string().min(1), z.record(z.string(), z.unknown())])
  .describe('The suite as YAML or JSON text, or as an object. See docs/evals.md; members that name files are refused.');
const agentSchema = z.string().min(1).max(200).nullable().describe('The agent that it tests; null = any');
const params = { suite_id: z.string().min(1).max(100) };
const tag = 'evals';
const errors = ['NOT_FOUND'] as const;
const SUITE_PLACE = ['body', 'suite'];

const EXAMPLE_SUITE = {
  name: 'Bookings',
  cases: [
    {
      name: 'books a table',
      caller: { script: [{ say: 'A table for four tomorrow at seven, please.' }, { say: 'My name is Ann Lee.' }] },
      tools: { '*': { result: 'done' } },
      expect: [{ said: 'four' }],
    },
  ],
};
const EXAMPLE_TEXT = `name: Bookings
cases:
  - name: books a table
    caller:
      script:
        - say: A table for four tomorrow at seven, please.
        - say: My name is Ann Lee.
    tools:
      "*":
        result: done
    expect:
      - said: four
`;

export function exampleSuite(): z.output<typeof suiteReplySchema> {
  return {
    id: '5a0f6f0a-41fd-4a3c-9c2f-0a0d9bf3f0a1',
    agent_id: 'the-crooked-fork',
    name: 'Bookings',
    version: 1,
    cases: 1,
    created_at: 1_795_448_092,
    changed_at: 1_795_448_092,
    changed_by: 'PARLEY_API_KEY',
    suite: EXAMPLE_SUITE,
    text: EXAMPLE_TEXT,
  };
}

/** Creates, changes and deletes test suites. */
export function suiteRoutes(api: Api, options: SuiteRoutesOptions): void {
  collectionRoutes(api, options);
  itemRoutes(api, options);
}

/** Lists and creates suites. */
function collectionRoutes(api: Api, { suites }: SuiteRoutesOptions): void {
  api.add({
    id: 'listEvalSuites',
    method: 'GET',
    path: '/evals/suites',
    tag,
    summary: 'Test suites, in the order of creation',
    query: { agent_id: z.string().min(1).max(200).exactOptional().describe('Only suites of this agent') },
    answer: z.array(suiteListSchema),
    examples: () => {
      const { suite: _suite, text: _text, ...item } = exampleSuite();
      return { answer: [item] };
    },
    handle: async ({ query: { agent_id: agentId = null } }) => (await suites.list(agentId)).map(suiteItem),
  });

  api.add({
    id: 'createEvalSuite',
    method: 'POST',
    scope: 'evals',
    path: '/evals/suites',
    tag,
    summary: 'Create a test suite',
    description: 'Faults of a text begin with their line, such as `Line 12: Unknown field: expects`.',
    body: z.strictObject({ suite: suiteSchema, agent_id: agentSchema.exactOptional() }).meta({ id: 'EvalSuiteCreate' }),
    answer: suiteReplySchema,
    errors,
    examples: () => ({ body: { suite: EXAMPLE_TEXT, agent_id: 'the-crooked-fork' }, answer: exampleSuite() }),
    handle: async ({ body: { suite, agent_id: agentId = null }, key }) =>
      suiteReply(await suites.create(readSuite(suite, SUITE_PLACE), agentId, key?.name ?? '')),
  });
}

/** Reads, changes and deletes one suite. */
function itemRoutes(api: Api, { suites, runs }: SuiteRoutesOptions): void {
  api.add({
    id: 'getEvalSuite',
    method: 'GET',
    path: '/evals/suites/{suite_id}',
    tag,
    summary: 'A test suite',
    params,
    errors,
    answer: suiteReplySchema,
    examples: () => ({ answer: exampleSuite() }),
    handle: async ({ params: { suite_id: id } }) => suiteReply(await suites.get(id)),
  });

  api.add({
    id: 'updateEvalSuite',
    method: 'PUT',
    scope: 'evals',
    path: '/evals/suites/{suite_id}',
    tag,
    summary: 'Save a new version of a test suite',
    description: 'Members that are left out do not change. Runs keep the version that they started with.',
    params,
    errors,
    body: z
      .strictObject({ suite: suiteSchema.exactOptional(), agent_id: agentSchema.exactOptional() })
      .meta({ id: 'EvalSuiteChange' }),
    answer: suiteReplySchema,
    examples: () => ({ body: { suite: EXAMPLE_SUITE }, answer: { ...exampleSuite(), version: 2 } }),
    handle: async ({ params: { suite_id: id }, body: { suite, agent_id: agentId }, key }) => {
      const content = suite === undefined ? undefined : readSuite(suite, SUITE_PLACE);
      return suiteReply(await suites.change(id, () => ({ content, agentId }), key?.name ?? ''));
    },
  });

  api.add({
    id: 'deleteEvalSuite',
    method: 'DELETE',
    scope: 'evals',
    path: '/evals/suites/{suite_id}',
    tag,
    summary: 'Delete a test suite, with its versions and runs',
    description: 'Ends its runs.',
    params,
    errors,
    answer: success,
    handle: async ({ params: { suite_id: id } }) => {
      await suites.get(id);
      await runs.empty('suite', id);
      await suites.remove(id);
      return { success: true };
    },
  });

  api.add({
    id: 'listEvalSuiteVersions',
    method: 'GET',
    path: '/evals/suites/{suite_id}/versions',
    tag,
    summary: 'The versions of a test suite, latest first',
    params,
    errors,
    query: {
      limit: z.int().min(1).max(100).exactOptional().describe('Default 20.'),
      before: z.int().min(1).exactOptional().describe('Only versions before this one, such as the last one of a page.'),
    },
    answer: z.array(suiteVersionSchema),
    pages: { cursor: 'before', items: null, next: 'version' },
    examples: () => {
      const { id: _id, agent_id: _agent, created_at: _created, ...version } = exampleSuite();
      return { answer: [version] };
    },
    handle: async ({ params: { suite_id: id }, query: { limit = 20, before = Number.MAX_SAFE_INTEGER } }) =>
      (await suites.versions(id, { limit, before })).map(suiteVersionReply),
  });
}
