import * as z from 'zod';
import { ParleyError } from '../../base/errors.js';
import type { AgentSplit, StoredAgent } from '../../store/agents.js';
import type { StoredKey } from '../../store/keys.js';
import type { Publication } from '../../store/publications.js';
import {
  changeAgent,
  changeSchema,
  checkedReply,
  checkedSchema,
  exampleAgent,
  noteSchema,
} from '../agents/agent-routes.js';
import type { AgentRegistry } from '../agents/agents.js';
import { authorOf, versionPinSchema } from '../agents/requested-agent.js';
import { checkScope } from '../http/access.js';
import type { Api } from '../http/api.js';
import { success } from '../http/endpoint.js';
import type { Publisher, PublishingChange } from './publisher.js';

export interface PublishingRoutesOptions {
  agents: AgentRegistry;
  publisher: Publisher;
}

const version = z.int().min(1).max(1e9);
const overrideSchema = z
  .string()
  .trim()
  .min(1)
  .max(2_000)
  .exactOptional()
  .describe('Why it needs no gate. Needs the scope `admin`.');
const splitSchema = z
  .strictObject({
    versions: z.array(z.strictObject({ version, weight: z.number().positive().max(1e6) })),
    seed: z.string().describe('Another seed gives callers to the versions anew.'),
  })
  .meta({ id: 'AgentSplit', description: 'Versions that share new conversations by weight.' });
const publishingSchema = z
  .strictObject({
    agent_id: z.string(),
    drafts: z.boolean().describe('Whether changes become a draft. False = they are live at once.'),
    published_version: z.int(),
    draft_version: z.int().nullable().describe('Null = there is no draft.'),
    split: splitSchema.nullable().describe('Null = new conversations have the published version.'),
    gate: z.string().nullable().describe('The id of the test suite that a version must pass before it is published.'),
    widget_version: versionPinSchema.nullable(),
  })
  .meta({ id: 'AgentPublishing', description: 'Which version of an agent its callers have.' });
const settingsSchema = z
  .strictObject({
    drafts: z.boolean().exactOptional(),
    gate: z.string().min(1).max(200).nullable().exactOptional().describe('The id of a test suite. Null = no gate.'),
    widget_version: versionPinSchema.nullable().exactOptional(),
  })
  .meta({ id: 'PublishingSettings', description: 'Members that are left out do not change.' });
const publicationSchema = z
  .strictObject({
    id: z.string(),
    action: z.enum(['publish', 'rollback', 'split', 'discard', 'settings']),
    status: z.enum(['checking', 'scheduled', 'done', 'refused', 'canceled']),
    version: z.int().nullable(),
    previous_version: z.int().nullable().describe('The published version before it.'),
    note: z.string().nullable(),
    publish_at: z.number().nullable().describe('Unix seconds; null = at once.'),
    run_id: z.string().nullable().describe('The run of the test suite of the gate.'),
    reason: z.string().nullable().describe('Why it was refused or canceled, or needs no gate.'),
    failed_cases: z
      .array(z.strictObject({ name: z.string(), mode: z.string(), passes: z.int(), runs: z.int(), needed: z.number() }))
      .describe('Cases of the gate that failed.'),
    is_override: z.boolean().describe('Somebody has published without the gate.'),
    details: z.record(z.string(), z.unknown()).nullable().describe('The split or the settings.'),
    by: z.strictObject({ key_id: z.string(), name: z.string() }).nullable(),
    created_at: z.number().describe('Unix seconds'),
    finished_at: z.number().nullable(),
    seq: z.int(),
  })
  .meta({ id: 'Publication', description: 'What somebody did with the versions of an agent.' });

const EXAMPLE: z.output<typeof publicationSchema> = {
  id: '5b0c1c0e-3c52-4b3f-9a5e-1f5f0e1b7a01',
  action: 'publish',
  status: 'done',
  version: 4,
  previous_version: 3,
  note: 'Winter opening hours',
  publish_at: null,
  run_id: null,
  reason: null,
  failed_cases: [],
  is_override: false,
  details: null,
  by: { key_id: '3c5f0c1e', name: "Ann's laptop" },
  created_at: 1_795_448_092.1,
  finished_at: 1_795_448_092.1,
  seq: 7,
};
const EXAMPLE_PUBLISHING: z.output<typeof publishingSchema> = {
  agent_id: 'the-crooked-fork',
  drafts: true,
  published_version: 4,
  draft_version: null,
  split: null,
  gate: null,
  widget_version: null,
};
const tag = 'agents';
const params = { agent_id: z.string().min(1).max(200) };
const path = '/agents/{agent_id}';
const one = { tag, params } as const;

/** Saves and discards drafts, and says which versions callers have. */
export function draftRoutes(api: Api, { agents, publisher }: PublishingRoutesOptions): void {
  api.add({
    ...one,
    id: 'saveAgentDraft',
    method: 'PUT',
    path: `${path}/draft`,
    summary: 'Save a draft of an agent',
    description:
      'As `updateAgent`, but callers do not get the change before it is published. From then on `updateAgent` changes the ' +
      'draft, too.',
    errors: ['NOT_FOUND', 'AGENT_CHANGED'],
    body: changeSchema,
    answer: checkedSchema,
    examples: () => ({
      body: { name: 'Harbour Bakery', note: 'The new name' },
      answer: { ...exampleAgent(), name: 'Harbour Bakery', version: 2, is_draft: true, warnings: [] },
    }),
    handle: ({ params: { agent_id: id }, body, key, request }) => changeAgent(agents, id, { body, key, request }, true),
  });

  api.add({
    ...one,
    id: 'getAgentDraft',
    method: 'GET',
    path: `${path}/draft`,
    summary: 'The draft of an agent',
    errors: ['NOT_FOUND'],
    answer: checkedSchema,
    examples: () => ({ answer: { ...exampleAgent(), version: 2, is_draft: true, warnings: [] } }),
    handle: async ({ params: { agent_id: id } }) => {
      if (agents.stored(id).draft === null) throw new ParleyError('NOT_FOUND', { what: 'draft of', id });
      return checkedReply(await agents.checked(id));
    },
  });

  api.add({
    ...one,
    id: 'discardAgentDraft',
    method: 'DELETE',
    path: `${path}/draft`,
    summary: 'Discard the draft of an agent',
    description: 'Its version stays in the history. Cancels a publication that is scheduled.',
    errors: ['NOT_FOUND'],
    answer: success,
    handle: async ({ params: { agent_id: id }, key }) => {
      await publisher.discard(id, authorOf(key));
      return { success: true };
    },
  });

  settingsRoutes(api, { agents, publisher });
}

/** Which version callers have, and how changes are published. */
function settingsRoutes(api: Api, { agents, publisher }: PublishingRoutesOptions): void {
  api.add({
    ...one,
    id: 'getAgentPublishing',
    method: 'GET',
    path: `${path}/publishing`,
    summary: 'Which version of an agent its callers have',
    errors: ['NOT_FOUND'],
    answer: publishingSchema,
    examples: () => ({ answer: EXAMPLE_PUBLISHING }),
    handle: ({ params: { agent_id: id } }) => publishingReply(agents.stored(id)),
  });

  api.add({
    ...one,
    id: 'setAgentPublishing',
    method: 'PUT',
    scope: 'admin',
    path: `${path}/publishing`,
    summary: 'Set whether an agent uses drafts, its gate, and the version of its widget',
    errors: ['NOT_FOUND', 'AGENT_DRAFT_OPEN'],
    body: settingsSchema,
    answer: publishingSchema,
    examples: () => ({ body: { drafts: true }, answer: EXAMPLE_PUBLISHING }),
    handle: async ({ params: { agent_id: id }, body: { drafts, gate, widget_version: widget }, key }) => {
      const change: PublishingChange = {};
      if (drafts !== undefined) change.drafts = drafts;
      if (gate !== undefined) change.gate = gate;
      if (widget !== undefined) change.widget = widget;
      return publishingReply(await publisher.configure(id, change, authorOf(key)));
    },
  });
}

/** Publishes versions, takes them back, and splits callers between them. */
export function publicationRoutes(api: Api, { publisher }: PublishingRoutesOptions): void {
  publishRoutes(api, publisher);
  splitRoute(api, publisher);

  api.add({
    ...one,
    id: 'listAgentPublications',
    method: 'GET',
    path: `${path}/publications`,
    summary: 'Who published, rolled back, split and discarded what, latest first',
    errors: ['NOT_FOUND'],
    query: {
      limit: z.int().min(1).max(100).exactOptional().describe('Default 20.'),
      before: z.int().min(1).exactOptional().describe('Only entries before this `seq`, such as the last of a page.'),
    },
    answer: z.array(publicationSchema),
    pages: { cursor: 'before', items: null, next: 'seq' },
    examples: () => ({ answer: [EXAMPLE] }),
    handle: async ({ params: { agent_id: id }, query: { limit = 20, before = Number.MAX_SAFE_INTEGER } }) =>
      (await publisher.list(id, { limit, before })).map(publicationReply),
  });

  const publication = { ...params, publication_id: z.string().min(1).max(100) };
  api.add({
    tag,
    params: publication,
    id: 'getAgentPublication',
    method: 'GET',
    path: `${path}/publications/{publication_id}`,
    summary: 'How a publication stands',
    errors: ['NOT_FOUND'],
    answer: publicationSchema,
    examples: () => ({ answer: EXAMPLE }),
    handle: async ({ params: { agent_id: id, publication_id: publicationId } }) =>
      publicationReply(await publisher.get(id, publicationId)),
  });

  api.add({
    tag,
    params: publication,
    id: 'cancelAgentPublication',
    method: 'DELETE',
    scope: 'publish',
    path: `${path}/publications/{publication_id}`,
    summary: 'Cancel a publication that is scheduled or being checked',
    description: 'One that is over stays as it is.',
    errors: ['NOT_FOUND'],
    answer: publicationSchema,
    examples: () => ({ answer: { ...EXAMPLE, status: 'canceled', reason: 'It was canceled.' } }),
    handle: async ({ params: { agent_id: id, publication_id: publicationId } }) =>
      publicationReply(await publisher.cancel(id, publicationId)),
  });
}

function publishRoutes(api: Api, publisher: Publisher): void {
  api.add({
    ...one,
    id: 'publishAgent',
    method: 'POST',
    scope: 'publish',
    path: `${path}/publish`,
    summary: 'Publish the draft, or another version, of an agent',
    description:
      'New conversations have it at once, or from `publish_at` on. If it has not passed the gate yet, the answer is ' +
      '`checking`, and then `done` or `refused`. Ends a split.',
    errors: ['NOT_FOUND', 'AGENT_NOT_PUBLISHED', 'PUBLICATION_OPEN'],
    body: z
      .strictObject({
        version: version.exactOptional().describe('Default: the draft.'),
        note: noteSchema.exactOptional(),
        publish_at: z.number().min(0).max(1e11).exactOptional().describe('Unix seconds. Default: at once.'),
        override: overrideSchema,
      })
      .meta({ id: 'AgentPublish' })
      .optional(),
    answer: publicationSchema,
    examples: () => ({ body: { note: EXAMPLE.note }, answer: EXAMPLE }),
    handle: async ({ params: { agent_id: id }, body, key }) => {
      const { version: asked = null, note = null, publish_at: at = null, override = null } = body ?? {};
      mayOverride(key, override);
      const dueUs = at === null ? null : Math.round(at * 1e6);
      return publicationReply(await publisher.publish(id, { version: asked, note, dueUs, override }, authorOf(key)));
    },
  });

  api.add({
    ...one,
    id: 'rollBackAgent',
    method: 'POST',
    scope: 'publish',
    path: `${path}/rollback`,
    summary: 'Take a publication back at once',
    description:
      'Makes a version that callers had the published one again. Ends a split, and cancels what is scheduled.',
    errors: ['NOT_FOUND', 'AGENT_NOT_PUBLISHED'],
    body: z
      .strictObject({
        version: version.exactOptional().describe('Default: the one before; with a split, the published one.'),
        note: noteSchema.exactOptional(),
      })
      .meta({ id: 'AgentRollback' })
      .optional(),
    answer: publicationSchema,
    examples: () => ({
      body: { note: 'Callers were asked for their name twice' },
      answer: { ...EXAMPLE, action: 'rollback', version: 3, previous_version: 4 },
    }),
    handle: async ({ params: { agent_id: id }, body: { version: asked = null, note = null } = {}, key }) =>
      publicationReply(await publisher.rollBack(id, { version: asked, note }, authorOf(key))),
  });
}

function splitRoute(api: Api, publisher: Publisher): void {
  api.add({
    ...one,
    id: 'splitAgent',
    method: 'PUT',
    scope: 'publish',
    path: `${path}/split`,
    summary: 'Share new conversations between versions',
    description:
      'By weight; the same person always gets the same version. `compareAgentVersions` compares them. `[]` ends it.',
    errors: ['NOT_FOUND', 'AGENT_NOT_PUBLISHED'],
    body: z
      .strictObject({
        versions: z
          .array(z.strictObject({ version, weight: z.number().positive().max(1e6) }))
          .max(10)
          .refine((all) => new Set(all.map((each) => each.version)).size === all.length, {
            error: 'Each version may appear once',
          }),
        seed: z.string().max(200).exactOptional().describe('Default empty.'),
        override: overrideSchema,
      })
      .meta({ id: 'AgentSplitChange' }),
    answer: publishingSchema,
    examples: () => ({
      body: { versions: [{ version: 1, weight: 1 }] },
      answer: {
        ...EXAMPLE_PUBLISHING,
        split: {
          versions: [
            { version: 4, weight: 90 },
            { version: 5, weight: 10 },
          ],
          seed: '',
        },
      },
    }),
    handle: async ({ params: { agent_id: id }, body: { versions, seed = '', override = null }, key }) => {
      mayOverride(key, override);
      const split = versions.length === 0 ? null : { versions, seed };
      return publishingReply(await publisher.setSplit(id, split, authorOf(key), override));
    },
  });
}

/** @throws ParleyError AUTH_SCOPE */
function mayOverride(key: StoredKey | null, override: string | null): void {
  if (override !== null && key !== null) checkScope(key, 'admin');
}

/** The JSON of the API. */
function publishingReply({ id, version: live, draft, publishing }: StoredAgent): z.output<typeof publishingSchema> {
  const { drafts, gate, widget, split } = publishing;
  const settings = { drafts, split: split && splitReply(split), gate, widget_version: widget };
  return { agent_id: id, published_version: live, draft_version: draft, ...settings };
}

function splitReply({ versions, seed }: AgentSplit): z.output<typeof splitSchema> {
  return { versions: versions.map((each) => ({ ...each })), seed };
}

function publicationReply(entry: Publication): z.output<typeof publicationSchema> {
  const { id, action, status, version: about, previous, note, dueUs, runId, details, by, seq } = entry;
  const { reason = null, failed = [], override = false, split, settings } = details;
  const changed = settings === undefined ? null : { ...settings };
  return {
    id,
    action,
    status,
    version: about,
    previous_version: previous,
    note,
    publish_at: dueUs === null ? null : dueUs / 1e6,
    run_id: runId,
    reason,
    failed_cases: failed.map((each) => ({ ...each })),
    is_override: override,
    details: split === undefined ? changed : { split },
    by: by && { key_id: by.id, name: by.name },
    created_at: entry.createdUs / 1e6,
    finished_at: entry.finishedUs === null ? null : entry.finishedUs / 1e6,
    seq,
  };
}
