import * as z from 'zod';
import type { Clock } from '../../base/clock.js';
import type { CampaignChange, StoredCampaign } from '../../store/campaigns.js';
import { versionPinSchema } from '../agents/requested-agent.js';
import type { Api } from '../http/api.js';
import { success } from '../http/endpoint.js';
import type { Campaigns } from './campaigns.js';
import { changedOverrides, overridesSchema, SCHEDULE_EXAMPLE, scheduleSchema, scheduleReply } from './schedule.js';
import { campaignProgressRoutes } from './progress-routes.js';
import { campaignRecordRoutes, recordSchema } from './record-routes.js';

const nameSchema = z.string().trim().min(1).max(200);
const createSchema = z.strictObject({ name: nameSchema }).meta({ id: 'CampaignCreate' });
const changeSchema = z
  .strictObject({
    name: nameSchema.exactOptional(),
    include_metadata_in_prompt: z
      .boolean()
      .exactOptional()
      .describe("Whether the agent's prompt also lists the metadata of the record"),
  })
  .meta({ id: 'CampaignChange' });
const number = z.string().min(1).max(100);
const callerSchema = z
  .strictObject({
    phone: number.nullish().describe("One of the daemon's numbers. Its agent conducts the calls."),
    caller: number.nullish().describe('The same as `phone`.'),
    agent_version: versionPinSchema.nullish(),
  })
  .refine(({ phone, caller }) => (phone ?? caller) != null, {
    path: ['phone'],
    error: 'Field required',
    params: { type: 'missing' },
  });

const shape = {
  id: z.string(),
  name: z.string(),
  status: z.enum(['idle', 'started', 'paused', 'finished', 'failed']),
  created_at: z.int().describe('Unix seconds'),
};
const newCampaignSchema = z
  .strictObject({ ...shape, records: z.array(recordSchema) })
  .meta({ id: 'NewCampaign', description: 'A new campaign.' });
const campaignSchema = z
  .strictObject({
    ...shape,
    caller: z.string().nullable().describe('The number that it calls from'),
    agent_version: versionPinSchema.nullable(),
    include_metadata_in_prompt: z.boolean(),
  })
  .meta({ id: 'Campaign', description: 'A list of people whom one agent calls.' });

const EXAMPLE: z.output<typeof campaignSchema> = {
  id: 'a7b7de5c-b4bb-4be8-abd8-7739e4869c29',
  name: 'Spring offer',
  status: 'idle',
  created_at: 1_795_448_092,
  caller: '+12025550100',
  agent_version: null,
  include_metadata_in_prompt: false,
};
const params = { campaign_id: z.string().min(1).max(100) };
const tag = 'campaigns';
const path = '/campaigns/{campaign_id}';
const one = { tag, params, answer: campaignSchema };

/** Campaigns, with their records and progress. */
export function campaignRoutes(api: Api, campaigns: Campaigns, clock: Clock): void {
  campaignRecordRoutes(api, campaigns);
  campaignProgressRoutes(api, campaigns, clock);
  collectionRoutes(api, campaigns);
  campaignItemRoutes(api, campaigns);
  callingRoutes(api, campaigns);
  scheduleRoutes(api, campaigns);
}

/** Lists and creates campaigns. */
function collectionRoutes(api: Api, campaigns: Campaigns): void {
  api.add({
    id: 'createCampaign',
    method: 'POST',
    path: '/campaigns',
    tag,
    summary: 'Create a campaign',
    body: createSchema,
    answer: newCampaignSchema,
    examples: () => ({
      body: { name: EXAMPLE.name },
      answer: { id: EXAMPLE.id, name: EXAMPLE.name, status: 'idle', records: [], created_at: EXAMPLE.created_at },
    }),
    handle: async ({ body: { name } }) => {
      const { id, status, createdAt } = await campaigns.create(name);
      return { id, name, status, records: [], created_at: createdAt };
    },
  });

  api.add({
    id: 'listCampaigns',
    method: 'GET',
    path: '/campaigns',
    tag,
    summary: 'All campaigns',
    answer: z.array(campaignSchema),
    examples: () => ({ answer: [EXAMPLE] }),
    handle: async () => (await campaigns.list()).map(replyOf),
  });
}

/** Reads, changes and deletes one campaign. */
function campaignItemRoutes(api: Api, campaigns: Campaigns): void {
  api.add({
    ...one,
    id: 'getCampaign',
    method: 'GET',
    path: `${path}/info`,
    summary: 'A campaign',
    errors: ['NOT_FOUND'],
    examples: () => ({ answer: EXAMPLE }),
    handle: async ({ params: { campaign_id: id } }) => replyOf(await campaigns.get(id)),
  });

  api.add({
    ...one,
    id: 'updateCampaign',
    method: 'PUT',
    path: `${path}/info`,
    summary: 'Change a campaign',
    body: changeSchema,
    errors: ['NOT_FOUND', 'CAMPAIGN_FINISHED'],
    examples: () => ({
      body: { name: 'Summer offer', include_metadata_in_prompt: true },
      answer: { ...EXAMPLE, name: 'Summer offer', include_metadata_in_prompt: true },
    }),
    handle: async ({ params: { campaign_id: id }, body: { name, include_metadata_in_prompt: include } }) => {
      const change: CampaignChange = {};
      if (name !== undefined) change.name = name;
      if (include !== undefined) change.includeMetadataInPrompt = include;
      return replyOf(await campaigns.change(id, change));
    },
  });

  api.add({
    id: 'deleteCampaign',
    method: 'DELETE',
    path,
    tag,
    params,
    summary: 'Delete a campaign with its records',
    answer: success,
    description: 'Stop it first. Its calls stay in the log.',
    errors: ['NOT_FOUND', 'CAMPAIGN_RUNNING'],
    handle: async ({ params: { campaign_id: id } }) => {
      await campaigns.remove(id);
      return { success: true };
    },
  });
}

/** Sets the number of a campaign, starts and stops it. */
function callingRoutes(api: Api, campaigns: Campaigns): void {
  api.add({
    ...one,
    id: 'setCampaignCaller',
    method: 'POST',
    path: `${path}/set_caller`,
    summary: 'Set the number that a campaign calls from',
    body: callerSchema,
    errors: ['NOT_FOUND', 'NUMBER_NOT_OWNED', 'CAMPAIGN_FINISHED'],
    examples: () => ({ body: { phone: '+12025550100' }, answer: EXAMPLE }),
    handle: async ({ params: { campaign_id: id }, body: { phone, caller, agent_version: version } }) =>
      replyOf(await campaigns.setCaller(id, phone ?? caller ?? '', version ?? null)),
  });

  api.add({
    ...one,
    id: 'startCampaign',
    method: 'POST',
    scope: 'calls',
    path: `${path}/start`,
    summary: 'Start or resume a campaign',
    description: 'Has no effect on a running campaign.',
    errors: ['NOT_FOUND', 'CAMPAIGN_FINISHED', 'CAMPAIGN_NOT_READY', 'NUMBER_INACTIVE', 'AGENT_DISABLED'],
    examples: () => ({ answer: { ...EXAMPLE, status: 'started' } }),
    handle: async ({ params: { campaign_id: id } }) => replyOf(await campaigns.start(id)),
  });

  api.add({
    ...one,
    id: 'stopCampaign',
    method: 'POST',
    scope: 'calls',
    path: `${path}/stop`,
    summary: 'Pause a campaign',
    description: 'Calls in progress continue to their end. `start` resumes it.',
    errors: ['NOT_FOUND', 'CAMPAIGN_FINISHED'],
    examples: () => ({ answer: { ...EXAMPLE, status: 'paused' } }),
    handle: async ({ params: { campaign_id: id } }) => replyOf(await campaigns.stop(id)),
  });
}

/** Reads and changes the schedule of a campaign. */
function scheduleRoutes(api: Api, campaigns: Campaigns): void {
  api.add({
    id: 'getCampaignSchedule',
    method: 'GET',
    path: `${path}/schedule`,
    tag,
    params,
    summary: 'The schedule of a campaign',
    answer: scheduleSchema,
    errors: ['NOT_FOUND'],
    examples: () => ({ answer: SCHEDULE_EXAMPLE }),
    handle: async ({ params: { campaign_id: id } }) => scheduleReply(campaigns.scheduleOf(await campaigns.get(id))),
  });

  api.add({
    id: 'setCampaignSchedule',
    method: 'POST',
    path: `${path}/schedule`,
    tag,
    params,
    summary: 'Change the schedule of a campaign',
    description: "Overrides the operator's pace, retries and calling hours. Answers with the resulting schedule.",
    body: overridesSchema,
    answer: scheduleSchema,
    errors: ['NOT_FOUND', 'CAMPAIGN_FINISHED'],
    examples: () => ({
      body: {
        max_concurrent_calls: 5,
        calling_hours: { start: '09:00', end: '20:00', days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
        timezone: 'America/New_York',
        retries: { busy: [300, 900, 3_600] },
      },
      answer: SCHEDULE_EXAMPLE,
    }),
    handle: async ({ params: { campaign_id: id }, body }) => {
      const overrides = changedOverrides((await campaigns.get(id)).overrides, body);
      return scheduleReply(campaigns.scheduleOf(await campaigns.change(id, { overrides })));
    },
  });
}

/** The JSON of the API. */
function replyOf(campaign: StoredCampaign): z.output<typeof campaignSchema> {
  const { id, name, status, createdAt: created_at, caller, agentVersion: agent_version } = campaign;
  const include_metadata_in_prompt = campaign.includeMetadataInPrompt;
  return { id, name, status, created_at, caller, agent_version, include_metadata_in_prompt };
}
