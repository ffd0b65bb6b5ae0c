import * as z from 'zod';
import { webhookAddress, webhookSchema } from '../../agent/webhook.js';
import type { Api } from '../http/api.js';
import { success } from '../http/endpoint.js';
import type { EvalRuns } from './eval-runs.js';
import { type RunReply, runReply, runReplySchema } from './replies.js';

const id = z.string().min(1).max(200);
const version = z.int().min(1);
const params = { run_id: z.string().min(1).max(100) };
const tag = 'evals';

const startSchema = z
  .strictObject({
    suite_id: id,
    agent_id: id.exactOptional().describe('Default: the agent of the suite'),
    agent_version: version.exactOptional().describe('Default: the latest'),
    mode: z.enum(['text', 'voice']).exactOptional().describe('Default: all modes of each case'),
    runs: z.int().min(1).max(1000).exactOptional().describe('Runs of each case. Default: as the suite has it'),
    only: z
      .array(z.string().min(1).max(120))
      .min(1)
      .max(1000)
      .exactOptional()
      .describe('Names or tags of cases. Default all'),
    against: z
      .strictObject({
        agent_id: id.exactOptional().describe('Default: the agent of the run'),
        agent_version: version.exactOptional().describe('Default: the latest'),
      })
      .exactOptional()
      .describe('Runs the same calls with this version, too, and compares. Default none'),
    webhook: webhookSchema
      .exactOptional()
      .describe('Gets `eval_run.finished` with the run when it is over, signed as all webhooks'),
  })
  .meta({ id: 'EvalRunStart' });

export const EXAMPLE_RUN: RunReply = {
  id: '0b9f4a36-5b5e-4d2f-8a53-8a1cf5e4a3c2',
  suite_id: '5a0f6f0a-41fd-4a3c-9c2f-0a0d9bf3f0a1',
  suite_version: 1,
  agent_id: 'the-crooked-fork',
  agent_version: 3,
  mode: 'text',
  runs: null,
  only: null,
  against: null,
  status: 'done',
  reason: null,
  passed: true,
  progress: { done: 1, total: 1, passed: 1, failed: 0 },
  cases: [
    {
      name: 'books a table',
      mode: 'text',
      passed: true,
      runs: 1,
      passes: 1,
      errors: 0,
      pass_rate: { rate: 1, low: 0.2065, high: 1 },
      needed: 1,
      response_ms: 640,
      cost: 0,
    },
  ],
  created_at: 1_795_448_092.1,
  started_at: 1_795_448_092.2,
  finished_at: 1_795_448_093.9,
};
const QUEUED: RunReply = {
  ...EXAMPLE_RUN,
  status: 'queued',
  passed: null,
  progress: { done: 0, total: 0, passed: 0, failed: 0 },
  cases: null,
  started_at: null,
  finished_at: null,
};

/** Starts, lists, cancels and deletes runs of test suites. */
export function runRoutes(api: Api, runs: EvalRuns): void {
  startRoutes(api, runs);
  itemRoutes(api, runs);
}

/** Lists and starts runs. */
function startRoutes(api: Api, runs: EvalRuns): void {
  api.add({
    id: 'listEvalRuns',
    method: 'GET',
    path: '/evals/runs',
    tag,
    summary: 'Runs of test suites, latest first',
    query: {
      suite_id: id.exactOptional(),
      agent_id: id.exactOptional(),
      status: runReplySchema.shape.status.exactOptional(),
      limit: z.int().min(1).max(100).default(20),
      cursor: z.int().min(0).default(0).describe('The `next_cursor` of the previous page; 0 = the first page'),
    },
    answer: z
      .strictObject({ runs: z.array(runReplySchema), next_cursor: z.int().describe('0 at the end') })
      .meta({ id: 'EvalRuns' }),
    pages: { cursor: 'cursor', items: 'runs', next: 'next_cursor' },
    examples: () => ({ answer: { runs: [EXAMPLE_RUN], next_cursor: 0 } }),
    handle: async ({ query: { suite_id: suiteId = null, agent_id: agentId = null, status = null, limit, cursor } }) => {
      const beforeSeq = cursor === 0 ? null : cursor;
      const found = await runs.list({ suiteId, agentId, status, beforeSeq, limit: limit + 1 });
      const page = found.slice(0, limit);
      return { runs: page.map(runReply), next_cursor: found.length > limit ? (page.at(-1)?.seq ?? 0) : 0 };
    },
  });

  api.add({
    id: 'startEvalRun',
    method: 'POST',
    scope: 'evals',
    path: '/evals/runs',
    tag,
    summary: 'Run a test suite',
    description:
      'Runs are held in processes of their own, a few at a time; others wait (`queued`). `GET /evals/runs/{run_id}/progress` ' +
      'follows a run.',
    body: startSchema,
    answer: runReplySchema,
    errors: ['NOT_FOUND', 'DAEMON_DRAINING', 'EVAL_QUEUE_FULL'],
    examples: () => ({ body: { suite_id: QUEUED.suite_id, mode: 'text' }, answer: QUEUED }),
    handle: async ({ body }) =>
      runReply(
        await runs.start({
          suiteId: body.suite_id,
          agentId: body.agent_id ?? null,
          agentVersion: body.agent_version ?? null,
          mode: body.mode ?? null,
          runs: body.runs ?? null,
          only: body.only ?? null,
          against: body.against
            ? { agentId: body.against.agent_id ?? null, agentVersion: body.against.agent_version ?? null }
            : null,
          webhook: webhookAddress(body.webhook, new Map()),
        }),
      ),
  });
}

/** Reads, cancels and deletes one run. */
function itemRoutes(api: Api, runs: EvalRuns): void {
  api.add({
    id: 'getEvalRun',
    method: 'GET',
    path: '/evals/runs/{run_id}',
    tag,
    summary: 'A run',
    params,
    errors: ['NOT_FOUND'],
    answer: runReplySchema,
    examples: () => ({ answer: EXAMPLE_RUN }),
    handle: async ({ params: { run_id: runId } }) => runReply(await runs.get(runId)),
  });

  api.add({
    id: 'cancelEvalRun',
    method: 'POST',
    scope: 'evals',
    path: '/evals/runs/{run_id}/cancel',
    tag,
    summary: 'Cancel a run',
    description: 'Kills its process and answers when it has ended. A run that is over stays as it is.',
    params,
    errors: ['NOT_FOUND'],
    answer: runReplySchema,
    examples: () => ({ answer: { ...QUEUED, status: 'canceled', finished_at: 1_795_448_093.9 } }),
    handle: async ({ params: { run_id: runId } }) => runReply(await runs.cancel(runId)),
  });

  api.add({
    id: 'deleteEvalRun',
    method: 'DELETE',
    scope: 'evals',
    path: '/evals/runs/{run_id}',
    tag,
    summary: 'Delete a run, with its calls, recordings and traces',
    params,
    errors: ['NOT_FOUND', 'EVAL_RUN_GOES_ON'],
    answer: success,
    handle: async ({ params: { run_id: runId } }) => {
      await runs.remove(runId);
      return { success: true };
    },
  });
}
