import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { redactAgentConfig } from '../../agent/redact.js';
import { trimmedAgentConfig } from '../../agent/whole-agent.js';
import { InvalidConfigError } from '../../schema/issues.js';
import { ParleyError } from '../../base/errors.js';
import type { AgentContent, AgentVersion } from '../../store/agents.js';
import type { SqlDatabase } from '../../store/sql/statement.js';
import { exampleVersion, versionParams, versionReply, versionSchema } from '../agents/agent-routes.js';
import type { AgentRegistry } from '../agents/agents.js';
import { callFilter, callQuery } from '../call-log/call-filter.js';
import type { Api } from '../http/api.js';
import {
  type Average,
  differencesOf,
  MOST_CALLS,
  type Share,
  type VersionFigures,
  versionFigures,
} from './version-figures.js';

export interface VersionRoutesOptions {
  agents: AgentRegistry;
  database: SqlDatabase;
}

const changeSchema = z
  .strictObject({
    path: z.string().describe('JSON pointer, such as /config/first_message.'),
    before: z.unknown().describe('Left out: the first version does not have it.'),
    after: z.unknown().describe('Left out: the second version does not have it.'),
  })
  .meta({ id: 'VersionChange', description: 'Secrets appear as `***`, also where they differ.' });
const nullable = z.number().nullable();
const shareSchema = z
  .strictObject({ count: z.int(), of: z.int(), rate: nullable, low: nullable, high: nullable })
  .meta({
    id: 'Share',
    description: 'A share, 0 to 1, with its 95 % interval (Wilson). Null: there is nothing to count.',
  });
const averageSchema = z
  .strictObject({ count: z.int(), value: nullable, low: nullable, high: nullable })
  .meta({ id: 'Average', description: 'With its 95 % interval; null: there are too few values for one.' });
const figuresSchema = z
  .strictObject({
    version: z.int(),
    calls: z.int().describe('Calls that have ended.'),
    conversations: z.int().describe('Those with a conversation.'),
    is_complete: z.boolean().describe(`False: only the latest ${String(MOST_CALLS)} calls count.`),
    statuses: z.record(z.string(), z.int()).describe('Calls by how they ended.'),
    completed: shareSchema.describe('Of all calls.'),
    voicemail: shareSchema.describe('Of all calls.'),
    transferred: shareSchema.describe('Of the conversations.'),
    tool_errors: shareSchema.describe('Conversations in which a function failed.'),
    interruptions: shareSchema.describe('Of the answers.'),
    duration: averageSchema.describe('Mean, seconds.'),
    response_p50: averageSchema.describe("The median of the conversations' medians, ms."),
    response_p95: averageSchema.describe("The median of the conversations' 95th percentiles, ms."),
    cost: averageSchema.describe("Mean, by the operator's prices."),
  })
  .meta({ id: 'VersionFigures' });
const differenceSchema = z
  .strictObject({
    version: z.int(),
    figure: z.string(),
    difference: z.number(),
    low: nullable,
    high: nullable,
    is_clear: z.boolean().describe('Chance alone makes such a difference in one of twenty cases at most.'),
  })
  .meta({
    id: 'VersionDifference',
    description: 'A figure against that of the first version, with its 95 % interval.',
  });
const NAMES = {
  toolErrors: 'tool_errors',
  responseP50: 'response_p50',
  responseP95: 'response_p95',
} as const;
const EXAMPLE_SHARE: Share = { count: 18, of: 20, rate: 0.9, low: 0.699, high: 0.972 };
const EXAMPLE_AVERAGE: Average = { count: 20, value: 62.5, low: 51.3, high: 73.7 };
const EXAMPLE_FIGURES: VersionFigures = {
  version: 4,
  calls: 20,
  conversations: 20,
  isComplete: true,
  statuses: { 'user-ended': 15, 'agent-ended': 3, failed: 2 },
  completed: EXAMPLE_SHARE,
  voicemail: { count: 0, of: 20, rate: 0, low: 0, high: 0.161 },
  transferred: EXAMPLE_SHARE,
  toolErrors: EXAMPLE_SHARE,
  interruptions: EXAMPLE_SHARE,
  duration: EXAMPLE_AVERAGE,
  responseP50: EXAMPLE_AVERAGE,
  responseP95: EXAMPLE_AVERAGE,
  cost: EXAMPLE_AVERAGE,
};
const WRONG_VERSION = 'Input should be the number of a version, draft or published';
const tag = 'agents';
const { agent_id: agentId } = versionParams;
const versionsPath = '/agents/{agent_id}/versions';
const number = versionParams.version;

/** Reads versions of agents, how they differ, and what became of the calls of each. */
export function versionRoutes(api: Api, { agents, database }: VersionRoutesOptions): void {
  api.add({
    id: 'getAgentVersion',
    method: 'GET',
    path: `${versionsPath}/{version}`,
    tag,
    params: { agent_id: agentId, version: z.string().regex(/^(?:draft|published|[1-9]\d{0,8})$/, WRONG_VERSION) },
    errors: ['NOT_FOUND'],
    summary: 'A version of an agent',
    description: 'By its number, or `published` or `draft`.',
    answer: versionSchema,
    examples: () => ({ answer: exampleVersion() }),
    handle: async ({ params: { agent_id: id, version } }) => versionReply(await pinned(agents, id, version)),
  });

  api.add({
    id: 'diffAgentVersions',
    method: 'GET',
    path: `${versionsPath}/diff`,
    tag,
    params: { agent_id: agentId },
    query: { from: number, to: number },
    errors: ['NOT_FOUND'],
    summary: 'What differs between two versions',
    answer: z.strictObject({ from: z.int(), to: z.int(), changes: z.array(changeSchema) }).meta({ id: 'VersionDiff' }),
    examples: () => ({
      answer: {
        from: 3,
        to: 4,
        changes: [{ path: '/config/first_message', before: 'Hello.', after: 'Hello, this is the bakery.' }],
      },
    }),
    handle: async ({ params: { agent_id: id }, query: { from, to } }) => {
      const [first, second] = [await agents.kept(id, Number(from)), await agents.kept(id, Number(to))];
      return { from: Number(from), to: Number(to), changes: changesBetween(first, second) };
    },
  });

  compareRoute(api, { agents, database });
}

/** The figures of versions side by side. */
function compareRoute(api: Api, { agents, database }: VersionRoutesOptions): void {
  const { start_time, end_time, campaign_id } = callQuery;
  api.add({
    id: 'compareAgentVersions',
    method: 'GET',
    path: `${versionsPath}/compare`,
    tag,
    params: { agent_id: agentId },
    query: {
      versions: z
        .string()
        .regex(/^[1-9]\d{0,8}(?:,[1-9]\d{0,8}){0,9}$/, 'Input should be numbers of versions, such as 3,4')
        .exactOptional()
        .describe('Such as `3,4`; at most ten. Default: those of the split, or the published one and the one before.'),
      start_time,
      end_time,
      campaign_id,
    },
    errors: ['NOT_FOUND'],
    summary: 'What became of the calls of each version',
    description: 'With intervals, because few calls say little. Test calls and calls of earlier releases do not count.',
    answer: z
      .strictObject({ versions: z.array(figuresSchema), differences: z.array(differenceSchema) })
      .meta({ id: 'VersionComparison' }),
    examples: () => ({
      answer: {
        versions: [figuresReply(EXAMPLE_FIGURES)],
        differences: [{ version: 5, figure: 'completed', difference: 0.02, low: -0.11, high: 0.15, is_clear: false }],
      },
    }),
    handle: async ({ params: { agent_id: id }, query: { versions: asked, ...query } }) => {
      const figures: VersionFigures[] = [];
      for (const version of await comparedVersions(agents, id, asked)) {
        figures.push(
          await versionFigures(database, { ...callFilter({ ...query, agent_id: id }), agentVersion: version }),
        );
      }
      return {
        versions: figures.map(figuresReply),
        differences: differencesOf(figures).map(({ isClear: is_clear, figure, ...rest }) => ({
          ...rest,
          figure: figure in NAMES ? NAMES[figure as keyof typeof NAMES] : figure,
          is_clear,
        })),
      };
    },
  });
}

/** @throws ParleyError NOT_FOUND */
async function pinned(agents: AgentRegistry, id: string, version: string): Promise<AgentVersion> {
  const { draft, version: published } = agents.stored(id);
  if (version === 'published') return agents.kept(id, published);
  if (version !== 'draft') return agents.kept(id, Number(version));
  if (draft === null) throw new ParleyError('NOT_FOUND', { what: 'draft of', id });
  return agents.kept(id, draft);
}

/** @throws InvalidConfigError for a version twice; ParleyError NOT_FOUND */
async function comparedVersions(agents: AgentRegistry, id: string, asked: string | undefined): Promise<number[]> {
  const { version, publishing } = agents.stored(id);
  if (asked === undefined) {
    if (publishing.split !== null) return publishing.split.versions.map((each) => each.version);
    const earlier = (await agents.versions(id, { limit: 20, before: version })).find(
      (each) => each.publishedAt !== null,
    );
    return earlier === undefined ? [version] : [earlier.version, version];
  }
  const numbers = asked.split(',').map(Number);
  if (new Set(numbers).size < numbers.length) {
    throw new InvalidConfigError([
      { loc: ['query', 'versions'], msg: 'Each version may appear once', type: 'value_error' },
    ]);
  }
  return numbers;
}

/** The JSON of the API. */
function figuresReply(figures: VersionFigures): z.output<typeof figuresSchema> {
  const { isComplete: is_complete, toolErrors: tool_errors, responseP50: response_p50, ...rest } = figures;
  const { responseP95: response_p95, ...others } = rest;
  return { ...others, is_complete, tool_errors, response_p50, response_p95 };
}

/** A secret that differs is a change, too, but it is not shown. */
export function changesBetween(first: AgentContent, second: AgentContent): z.output<typeof changeSchema>[] {
  const [before, after] = [first, second].map(({ name, config, script, extensions }) => ({
    whole: {
      name,
      config: trimmedAgentConfig(config),
      script: script ?? undefined,
      extensions: extensions ?? undefined,
    },
    shown: { name, config: trimmedAgentConfig(redactAgentConfig(config)), script, extensions },
  }));
  const changes: z.output<typeof changeSchema>[] = [];
  const visit = (a: Side, b: Side, path: string): void => {
    if (isDeepStrictEqual(a.whole, b.whole)) return;
    if (isObject(a.whole) && isObject(b.whole)) {
      for (const name of new Set([...Object.keys(a.whole), ...Object.keys(b.whole)])) {
        visit(memberOf(a, name), memberOf(b, name), `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`);
      }
      return;
    }
    const change: z.output<typeof changeSchema> = { path, before: a.shown, after: b.shown };
    if (a.shown === undefined) delete change.before;
    if (b.shown === undefined) delete change.after;
    changes.push(change);
  };
  if (before !== undefined && after !== undefined) visit(before, after, '');
  return changes;
}

/** A value with its secrets, and as it is shown. */
interface Side {
  whole: unknown;
  shown: unknown;
}

function memberOf({ whole, shown }: Side, name: string): Side {
  return { whole: Reflect.get(whole as object, name), shown: isObject(shown) ? shown[name] : shown };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
