import type { FastifyRequest } from 'fastify';
import * as z from 'zod';
import { type AgentConfig, agentConfigSchema } from '../../agent/agent.js';
import { agentExtensionsSchema, overriddenExtensions } from '../../agent/extensions/extensions.js';
import { movingSchema, oldPlaceWarnings } from '../../agent/extensions/old-place.js';
import { redactAgentConfig } from '../../agent/redact.js';
import { wholeAgentConfig } from '../../agent/whole-agent.js';
import type { AgentVersion, StoredAgent } from '../../store/agents.js';
import type { KnowledgeBase } from '../../store/knowledge.js';
import type { AgentRegistry, CheckedAgent, WorkingAgent } from './agents.js';
import { authorOf } from './requested-agent.js';
import type { Api } from '../http/api.js';
import { jsonBody } from '../http/checked.js';
import { success } from '../http/endpoint.js';
import type { StoredKey } from '../../store/keys.js';

export interface AgentRoutesOptions {
  agents: AgentRegistry;
  knowledge: Pick<KnowledgeBase, 'filesOf' | 'setAgentFiles'>;
}

const nameSchema = z.string().min(1).max(200);
const scriptSchema = z.unknown().describe('Rules of the embedded scripted model, see docs/agent-scripts.md.');
const extensionsSchema = agentExtensionsSchema
  .nullable()
  .describe('Settings that AgentConfig has no place for; null = none.');
const createSchema = movingSchema(
  z
    .strictObject({
      name: nameSchema,
      config: agentConfigSchema,
      script: scriptSchema.optional(),
      extensions: extensionsSchema.optional(),
    })
    .meta({ id: 'AgentCreate' }),
);
export const noteSchema = z.string().max(2_000).describe('What the change is for, for the history.');
export const changeSchema = movingSchema(
  z
    .strictObject({
      name: nameSchema.exactOptional(),
      config: agentConfigSchema.exactOptional().describe('Replaces all of it: missing fields get their defaults.'),
      script: scriptSchema.optional().describe('Null removes it.'),
      extensions: agentExtensionsSchema.nullable().exactOptional().describe('Replaces all of them. Null removes them.'),
      if_version: z
        .int()
        .min(1)
        .exactOptional()
        .describe('The version that this changes. If the agent has another one, the change is refused (409).'),
      note: noteSchema.exactOptional(),
    })
    .meta({ id: 'AgentChange', description: 'Members that are left out do not change.' }),
);
const configSchema = agentConfigSchema.describe(
  'Secrets appear as `***`. Every member is present: unset members are null, unset arrays [].',
);
const agentShape = {
  id: z.string(),
  name: z.string(),
  config: configSchema,
  created_at: z.int().describe('Unix seconds'),
};
const warningsSchema = z.array(z.strictObject({ loc: z.array(z.union([z.string(), z.int()])), msg: z.string() }));
const agentSchema = z
  .strictObject({
    ...agentShape,
    warnings: warningsSchema.describe(
      'Why the agent cannot answer, and what to do. [] = it can. `GET /agents/{agent_id}` checks the whole agent.',
    ),
  })
  .meta({ id: 'Agent' });
const detailSchema = z
  .strictObject({
    ...agentShape,
    script: scriptSchema,
    extensions: extensionsSchema,
    version: z.int().describe('Starts at 1 and grows by one with each change.'),
    published_version: z.int().describe('The version that callers have.'),
    is_draft: z.boolean().describe('True: callers do not have this version, until it is published.'),
  })
  .meta({ id: 'AgentDetail', description: 'An agent with its script and its extensions.' });
export const checkedSchema = detailSchema
  .extend({
    warnings: warningsSchema.describe(
      'Parts of the agent that will not work as expected, with the reasons. [] = none.',
    ),
  })
  .meta({ id: 'CheckedAgent', description: 'A stored agent with warnings about it.' });
export const versionSchema = z
  .strictObject({
    version: z.int(),
    name: z.string(),
    config: configSchema,
    script: scriptSchema,
    extensions: extensionsSchema,
    changed_at: z.int().describe('Unix seconds'),
    changed_by: z.string().nullable().describe('The name of the key; null = the daemon, at its start.'),
    changed_by_key: z.string().nullable().describe('The id of the key; null also for versions of earlier releases.'),
    note: z.string().nullable(),
    published_at: z.int().nullable().describe('When callers had it for the first time, Unix seconds; null = never.'),
  })
  .meta({ id: 'AgentVersion', description: 'An agent after a change.' });

/** What the examples of the document create and answer. */
const EXAMPLE_CONFIG: AgentConfig = {
  prompt: 'You answer the phone of a bakery that is open from seven to six, except on Sundays. Be brief.',
  first_message: 'Hello, this is the bakery. How can I help?',
  language: 'en-US',
  llm: { model: 'scripted' },
};
const EXAMPLE_SCRIPT = { rules: [{ when: 'open', say: 'We are open from seven to six, except on Sundays.' }] };

export function exampleAgent(config = EXAMPLE_CONFIG): z.output<typeof detailSchema> {
  return {
    id: '1bb4c4e6-057f-4770-950b-854a049d1671',
    name: 'Bakery',
    config: wholeAgentConfig(config),
    created_at: 1_795_448_092,
    script: EXAMPLE_SCRIPT,
    extensions: null,
    version: 1,
    published_version: 1,
    is_draft: false,
  };
}

export function exampleVersion(): z.output<typeof versionSchema> {
  const { name, config, script, extensions, version, created_at: changed_at } = exampleAgent();
  const by = { changed_by: 'PARLEY_API_KEY', changed_by_key: '3c5f0c1e' };
  return {
    version,
    name,
    config,
    script,
    extensions,
    changed_at,
    ...by,
    note: 'Opening hours',
    published_at: changed_at,
  };
}

const params = { agent_id: z.string().min(1).max(200) };
export const versionParams = {
  ...params,
  version: z.string().regex(/^[1-9]\d{0,8}$/, 'Input should be the number of a version'),
};
const tag = 'agents';
const errors = ['NOT_FOUND'] as const;

/** Creates, changes, copies, disables and deletes agents, and restores earlier versions. */
export function agentRoutes(api: Api, options: AgentRoutesOptions): void {
  collectionRoutes(api, options);
  checkRoute(api, options);
  agentItemRoutes(api, options);
  copyRoutes(api, options);
  versionRoutes(api, options);
}

/** Lists and creates agents. */
function collectionRoutes(api: Api, { agents }: AgentRoutesOptions): void {
  api.add({
    id: 'listAgents',
    method: 'GET',
    path: '/agents',
    tag,
    summary: 'All agents, in the versions that callers have',
    answer: z.array(agentSchema),
    examples: () => {
      const { id, name, config, created_at } = exampleAgent();
      return { answer: [{ id, name, config, created_at, warnings: [] }] };
    },
    handle: () =>
      agents.all().map((agent) => ({ ...replyOf(agent), warnings: warningReplies(agents.modelWarnings(agent)) })),
  });

  api.add({
    id: 'createAgent',
    method: 'POST',
    path: '/agents',
    tag,
    summary: 'Create an agent',
    body: createSchema,
    answer: checkedSchema,
    description:
      'Refuses an invalid configuration and names the place of each fault. Stores a language or a vendor that this ' +
      'daemon cannot serve with a warning, and refuses calls of the agent.',
    examples: () => ({
      body: { name: 'Bakery', config: EXAMPLE_CONFIG, script: EXAMPLE_SCRIPT },
      answer: { ...exampleAgent(), warnings: [] },
    }),
    handle: async ({ body: { name, config, script, extensions = null }, key, request }) => {
      const content = { name, config, extensions, script: script ?? undefined };
      return checkedReply(await agents.create(content, authorOf(key)), configSent(request));
    },
  });
}

/** Checks an agent that is not stored. */
function checkRoute(api: Api, { agents }: AgentRoutesOptions): void {
  api.add({
    id: 'checkAgent',
    method: 'POST',
    scope: 'read',
    path: '/agents/check',
    tag,
    summary: 'Check an agent without storing it',
    body: createSchema,
    answer: z.strictObject({ warnings: warningsSchema }).meta({ id: 'AgentCheck' }),
    description: 'Refuses what `POST /agents` refuses, and has the same warnings.',
    examples: () => ({
      body: { name: 'Bakery', config: EXAMPLE_CONFIG, script: EXAMPLE_SCRIPT },
      answer: { warnings: [] },
    }),
    handle: async ({ body: { name, config, script, extensions = null }, request }) => {
      const found = await agents.review({ name, config, extensions, script: script ?? undefined });
      return { warnings: warningReplies([...found, ...oldPlaceWarnings(configSent(request), ['body', 'config'])]) };
    },
  });
}

/** Reads, changes and deletes one agent. */
function agentItemRoutes(api: Api, { agents, knowledge }: AgentRoutesOptions): void {
  api.add({
    id: 'getAgent',
    method: 'GET',
    path: '/agents/{agent_id}',
    tag,
    params,
    errors,
    summary: 'An agent',
    description: 'As `PUT` changes it: its draft, or the published version if there is no draft.',
    answer: checkedSchema,
    examples: () => ({ answer: { ...exampleAgent(), warnings: [] } }),
    handle: async ({ params: { agent_id: id } }) => checkedReply(await agents.checked(id)),
  });

  api.add({
    id: 'updateAgent',
    method: 'PUT',
    path: '/agents/{agent_id}',
    tag,
    summary: 'Change an agent',
    params,
    errors: ['NOT_FOUND', 'AGENT_CHANGED'],
    description:
      'Applies to sessions that start later. An agent that uses drafts changes its draft (`is_draft`), which ' +
      '`publishAgent` brings to callers. Members that are left out do not change; `config` is replaced as a whole. A secret of `***` keeps its stored value. Sending an answer back changes nothing.',
    body: changeSchema,
    answer: checkedSchema,
    examples: () => ({
      body: { name: 'Harbour Bakery', config: EXAMPLE_CONFIG },
      answer: { ...exampleAgent(), name: 'Harbour Bakery', version: 2, published_version: 2, warnings: [] },
    }),
    handle: async ({ params: { agent_id: id }, body, key, request }) => changeAgent(agents, id, { body, key, request }),
  });

  api.add({
    id: 'deleteAgent',
    method: 'DELETE',
    path: '/agents/{agent_id}',
    tag,
    summary: 'Delete an agent, with its versions',
    params,
    description: 'Running sessions continue. An agent that answers a number cannot be deleted.',
    answer: success,
    errors: ['NOT_FOUND', 'AGENT_IN_USE'],
    handle: async ({ params: { agent_id: id } }) => {
      await agents.remove(id);
      await knowledge.setAgentFiles(id, []);
      return { success: true };
    },
  });
}

/** Copies, enables and disables agents. */
function copyRoutes(api: Api, { agents, knowledge }: AgentRoutesOptions): void {
  api.add({
    id: 'duplicateAgent',
    method: 'POST',
    path: '/agents/{agent_id}/duplicate',
    tag,
    params,
    errors,
    summary: 'Copy an agent, with its script, its files and its embed configuration',
    body: z.strictObject({ name: nameSchema.nullish().describe("Default: the agent's name and `(copy)`.") }).optional(),
    answer: detailSchema,
    examples: () => ({
      body: { name: 'Night bakery' },
      answer: { ...exampleAgent(), id: '7c0d6c1e-6b0f-4f6f-9f4e-2d1f0a3b5c7d', name: 'Night bakery' },
    }),
    handle: async ({ params: { agent_id: id }, body, key }) => {
      const files = await knowledge.filesOf(agents.stored(id).id);
      const copy = await agents.duplicate(id, body?.name ?? null, authorOf(key));
      await knowledge.setAgentFiles(copy.id, files);
      return detailReply(copy);
    },
  });

  api.add({
    id: 'setAgentStatus',
    method: 'POST',
    path: '/agents/{agent_id}/status',
    tag,
    summary: 'Enable or disable an agent',
    params,
    errors,
    description:
      'A disabled agent takes no calls (409). Sets `status` of its configuration, also of its draft, and applies at once.',
    body: z.strictObject({ status: z.enum(['active', 'disabled']) }),
    answer: detailSchema,
    examples: () => ({
      body: { status: 'disabled' },
      answer: { ...exampleAgent({ ...EXAMPLE_CONFIG, status: 'disabled' }), version: 2, published_version: 2 },
    }),
    handle: async ({ params: { agent_id: id }, body: { status }, key }) =>
      detailReply(await agents.setStatus(id, status, authorOf(key))),
  });
}

/** Lists and restores versions of agents. */
function versionRoutes(api: Api, { agents }: AgentRoutesOptions): void {
  api.add({
    id: 'listAgentVersions',
    method: 'GET',
    path: '/agents/{agent_id}/versions',
    tag,
    params,
    errors,
    summary: 'The versions of an agent, latest first',
    query: {
      limit: z.int().min(1).max(100).exactOptional().describe('Default 20.'),
      before: z.int().min(1).exactOptional().describe('Only versions before this one, such as the last one of a page.'),
    },
    answer: z.array(versionSchema),
    pages: { cursor: 'before', items: null, next: 'version' },
    examples: () => ({ answer: [exampleVersion()] }),
    handle: async ({ params: { agent_id: id }, query: { limit = 20, before = Number.MAX_SAFE_INTEGER } }) =>
      (await agents.versions(id, { limit, before })).map(versionReply),
  });

  api.add({
    id: 'restoreAgentVersion',
    method: 'POST',
    path: '/agents/{agent_id}/versions/{version}/restore',
    tag,
    errors,
    summary: 'Restore an earlier version, with its secrets, as a new version or draft',
    params: versionParams,
    answer: checkedSchema,
    examples: () => ({ answer: { ...exampleAgent(), version: 3, published_version: 3, warnings: [] } }),
    handle: async ({ params: { agent_id: id, version }, key }) =>
      checkedReply(await agents.restore(id, Number(version), authorOf(key))),
  });
}

/** Changes an agent as a request says. @param asDraft as `ChangeOptions`. Default: as the agent does */
export async function changeAgent(
  agents: AgentRegistry,
  id: string,
  { body, key, request }: { body: z.output<typeof changeSchema>; key: StoredKey | null; request: FastifyRequest },
  asDraft?: boolean,
): Promise<z.output<typeof checkedSchema>> {
  const { if_version: ifVersion = null, note = null, ...change } = body;
  const sent = configSent(request);
  // An extension in its old place changes only that extension.
  const isWhole = body.extensions == null || oldPlaceWarnings(sent).length === 0;
  if (!isWhole) change.extensions = overriddenExtensions((await agents.working(id)).extensions, body.extensions);
  const options = asDraft === undefined ? { ifVersion, note } : { ifVersion, note, asDraft };
  return checkedReply(await agents.change(id, change, authorOf(key), options), sent);
}

function configSent(request: FastifyRequest): unknown {
  return (jsonBody(request) as { config?: unknown }).config;
}

/** The JSON of the API. */
function replyOf({
  id,
  name,
  config,
  createdAt,
}: Pick<StoredAgent, 'id' | 'name' | 'config' | 'createdAt'>): Omit<z.output<typeof agentSchema>, 'warnings'> {
  return { id, name, config: redactedConfig(config), created_at: createdAt };
}

function redactedConfig(config: AgentConfig): AgentConfig {
  return wholeAgentConfig(redactAgentConfig(config));
}

function detailReply(agent: WorkingAgent): z.output<typeof detailSchema> {
  const { script = null, extensions = null, version, published } = agent;
  const is_draft = version !== published;
  return { ...replyOf(agent), script, extensions, version, published_version: published, is_draft };
}

/** @param sent the configuration as the client wrote it. Default none */
export function checkedReply(agent: CheckedAgent, sent?: unknown): z.output<typeof checkedSchema> {
  const warnings = [...oldPlaceWarnings(sent, ['body', 'config']), ...agent.warnings];
  return { ...detailReply(agent), warnings: warningReplies(warnings) };
}

function warningReplies(warnings: CheckedAgent['warnings']): z.output<typeof warningsSchema> {
  return warnings.map(({ loc, msg }) => ({ loc: [...loc], msg }));
}

export function versionReply(version: AgentVersion): z.output<typeof versionSchema> {
  const { name, config, script = null, extensions = null, changedAt, changedBy, changedByKey, note } = version;
  return {
    version: version.version,
    name,
    config: redactedConfig(config),
    script,
    extensions,
    changed_at: changedAt,
    changed_by: changedBy,
    changed_by_key: changedByKey,
    note,
    published_at: version.publishedAt,
  };
}
