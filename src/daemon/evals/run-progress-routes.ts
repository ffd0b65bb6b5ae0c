import * as z from 'zod';
import type { Clock } from '../../base/clock.js';
import { ParleyError } from '../../base/errors.js';
import type { Api } from '../http/api.js';
import { EventStream, sendProgress } from '../http/event-stream.js';
import type { EvalRuns } from './eval-runs.js';
import { progressReply, progressSchema } from './replies.js';

/** Maximum of concurrent watchers. */
const MOST_STREAMS = 100;
const RETRY_S = 10;

/** The progress of runs as server-sent events. */
export function runProgressRoutes(api: Api, runs: EvalRuns, clock: Clock): void {
  let streams = 0;

  api.add({
    id: 'watchEvalRun',
    method: 'GET',
    path: '/evals/runs/{run_id}/progress',
    tag: 'evals',
    summary: 'Watch the progress of a run',
    description:
      'Server-sent events: `event: progress` with the progress as JSON, at once and after each change. One event may ' +
      'combine several changes. The stream ends when the run is over or deleted.',
    params: { run_id: z.string().min(1).max(100) },
    content: 'text/event-stream',
    answer: progressSchema,
    errors: ['NOT_FOUND', 'STREAMS_FULL'],
    examples: () => ({ answer: { status: 'running', reason: null, done: 12, total: 25, passed: 11, failed: 1 } }),
    handle: ({ params: { run_id: id }, reply }) => {
      const run = runs.get(id);
      if (streams >= MOST_STREAMS) throw new ParleyError('STREAMS_FULL', { limit: MOST_STREAMS, retryAfterS: RETRY_S });
      streams++;
      void sendProgress(new EventStream(reply, clock), run, {
        watch: (listener) => runs.watch(id, listener),
        reply: progressReply,
        isLast: ({ finishedMs }) => finishedMs !== null,
      }).finally(() => {
        streams--;
      });
      return reply;
    },
  });
}
