import * as z from 'zod';
import { htmlReport } from '../../eval/report/html-report.js';
import { junitReport } from '../../eval/report/junit-report.js';
import type { Api } from '../http/api.js';
import type { EvalRuns } from './eval-runs.js';
import { reportReply, reportSchema, type RunReport } from './replies.js';

const params = { run_id: z.string().min(1).max(100) };
const errors = ['NOT_FOUND', 'EVAL_RESULT_MISSING'] as const;
const tag = 'evals';

const EXAMPLE: RunReport = {
  suite: 'Bookings',
  agent: 'the-crooked-fork@3',
  started_at: '2026-11-23T16:54:52.200Z',
  took_ms: 1700,
  passed: true,
  cost_unit: null,
  cases: [
    {
      name: 'books a table',
      mode: 'text',
      passed: true,
      passes: 1,
      pass_rate: { rate: 1, low: 0.2065, high: 1 },
      needed: 1,
      runs: [
        {
          run: 0,
          seed: 1,
          passed: true,
          error: null,
          session_id: 'eval-0b9f4a36-5b5e-4d2f-8a53-8a1cf5e4a3c2-0',
          expectations: [
            {
              index: 0,
              kind: 'said',
              expected: 'the agent says "four"',
              outcome: 'pass',
              reason: '',
              line: null,
              votes: [],
              judge: null,
            },
          ],
          played_by: null,
          lines: [
            { type: 'agent', text: 'Good evening.', start_ms: 400, end_ms: 1500, interrupted: false },
            {
              type: 'caller',
              text: 'A table for four tomorrow at seven, please.',
              understood: 'A table for four tomorrow at seven, please.',
              start_ms: 1900,
              end_ms: 3900,
              cut_off: false,
              response_ms: 640,
            },
            { type: 'agent', text: 'A table for four, gladly.', start_ms: 4540, end_ms: 6100, interrupted: false },
            { type: 'end', status: 'user-ended', by: 'caller', start_ms: 9800 },
          ],
          metrics: {
            duration_ms: 9800,
            caller_turns: 2,
            talk_ratio: 0.41,
            response_ms: [640],
            cut_offs: 0,
            longest_silence_ms: 700,
            prompt_tokens: 0,
            completion_tokens: 0,
            cost: null,
            persona: null,
            judges: null,
          },
        },
      ],
    },
  ],
  comparison: null,
};

/** Formats of the result beside JSON, by the end of the address. */
const FORMATS = [
  { end: '.xml', format: 'JUnit', content: 'application/xml', written: junitReport },
  { end: '.html', format: 'HTML', content: 'text/html', written: htmlReport },
] as const;

/** The result of a run in several formats. */
export function reportRoutes(api: Api, runs: EvalRuns): void {
  api.add({
    id: 'getEvalReport',
    method: 'GET',
    path: '/evals/runs/{run_id}/report',
    tag,
    summary: 'The result of a run: every call with its lines and expectations',
    description: 'A call opens in the call log by its `session_id`, with its trace and its recording.',
    params,
    errors,
    answer: reportSchema,
    examples: () => ({ answer: EXAMPLE }),
    handle: async ({ params: { run_id: id } }) => reportReply(await runs.result(id)),
  });

  for (const { end, format, content, written } of FORMATS) {
    api.add({
      id: `getEvalReport${format}`,
      method: 'GET',
      path: `/evals/runs/{run_id}/report${end}`,
      tag,
      summary: `The result of a run as ${format}`,
      params,
      errors,
      content,
      handle: async ({ params: { run_id: id }, reply }) => {
        const text = written(await runs.result(id));
        return reply.type(`${content}; charset=utf-8`).header('x-content-type-options', 'nosniff').send(text);
      },
    });
  }
}
