import * as z from 'zod';
import type { StepFigures } from '../../store/step-figures.js';
import type { Api } from '../http/api.js';
import { faultOf } from '../../schema/issues.js';
import type { AgentRegistry } from './agents.js';

export interface StepRoutesOptions {
  agents: Pick<AgentRegistry, 'stored'>;
  nowUnixMs: () => number;
  figures: (agentId: string, fromMs: number, toMs: number) => Promise<readonly StepFigures[]>;
}

const DAY_MS = 86_400_000;
const USUAL_DAYS = 30;

const figuresSchema = z
  .strictObject({
    from: z.iso.date(),
    to: z.iso.date(),
    calls: z.int().describe('Calls that have ended.'),
    steps: z.array(
      z.strictObject({
        step: z.string(),
        title: z.string().nullable().describe('`null`: it has none, or is no step of the flow any more.'),
        entered: z.int(),
        ended: z.int().describe('Calls that ended in it. In a step without `end` those are callers who dropped out.'),
        is_end: z.boolean().describe('Whether the step ends the call itself.'),
        seconds: z.number().describe('Mean time in it.'),
        left: z
          .array(z.strictObject({ to: z.string(), count: z.int() }))
          .describe('By which way, the most used first.'),
      }),
    ),
  })
  .meta({ id: 'StepFigures', description: 'How calls pass the steps of a flow.' });

/** Figures of the steps of agents with a flow. */
export function stepRoutes(api: Api, { agents, nowUnixMs, figures }: StepRoutesOptions): void {
  api.add({
    id: 'getStepFigures',
    method: 'GET',
    path: '/agents/{agent_id}/steps',
    tag: 'agents',
    summary: 'How calls pass the steps of an agent, and where callers drop out',
    description: 'Calls count on the day (UTC) on which they end. Test calls do not count.',
    params: { agent_id: z.string() },
    query: {
      from: z.iso.date().exactOptional().describe('The first day. Default: 29 days before the last one.'),
      to: z.iso.date().exactOptional().describe('The last day. Default: today.'),
    },
    answer: figuresSchema,
    errors: ['NOT_FOUND'],
    examples: () => ({ answer: EXAMPLE }),
    handle: async ({ params: { agent_id: id }, query }) => {
      const { extensions } = agents.stored(id);
      const toMs = query.to === undefined ? nowUnixMs() : Date.parse(query.to);
      const fromMs = query.from === undefined ? toMs - (USUAL_DAYS - 1) * DAY_MS : Date.parse(query.from);
      if (fromMs > toMs) throw faultOf(['query', 'from'], 'Input should be no later than to');
      const flow = extensions?.flow ?? null;
      const known = flow === null ? [] : [...flow.steps, ...(flow.global ?? [])];
      const rows = await figures(id, fromMs, toMs);
      const ids = [...new Set([...known.map((step) => step.id), ...rows.map(({ step }) => step)])];
      const steps = ids.map((step) => {
        const own = rows.filter((row) => row.step === step);
        const entered = own.reduce((sum, { count }) => sum + count, 0);
        const ms = own.reduce((sum, row) => sum + row.ms, 0);
        const one = known.find((candidate) => candidate.id === step);
        return {
          step,
          title: one?.title ?? null,
          entered,
          ended: own.find(({ next }) => next === null)?.count ?? 0,
          is_end: one?.end != null,
          seconds: entered === 0 ? 0 : Math.round(ms / entered / 100) / 10,
          left: own
            .flatMap(({ next, count }) => (next === null ? [] : [{ to: next, count }]))
            .toSorted((a, b) => b.count - a.count),
        };
      });
      // Each call ends once.
      const calls = steps.reduce((sum, { ended }) => sum + ended, 0);
      return { from: dayOf(fromMs), to: dayOf(toMs), calls, steps };
    },
  });
}

function dayOf(unixMs: number): string {
  return new Date(unixMs).toISOString().slice(0, 10);
}

const EXAMPLE = {
  from: '2026-11-01',
  to: '2026-11-30',
  calls: 412,
  steps: [
    {
      step: 'details',
      title: 'Details of the booking',
      entered: 412,
      ended: 31,
      is_end: false,
      seconds: 24.6,
      left: [{ to: 'booked', count: 381 }],
    },
    { step: 'booked', title: null, entered: 381, ended: 381, is_end: true, seconds: 4.1, left: [] },
  ],
};
