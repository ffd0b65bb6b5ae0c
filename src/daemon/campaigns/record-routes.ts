import * as z from 'zod';
import { ParleyError } from '../../base/errors.js';
import type { StoredRecord, StoredRejection } from '../../store/campaign-records.js';
import type { Api } from '../http/api.js';
import { success } from '../http/endpoint.js';
import type { Campaigns } from './campaigns.js';

/** Records of one request. */
const MOST_RECORDS = 10_000;
const MOST_BYTES = 8 * 1024 * 1024;

const metadataSchema = z.record(z.string(), z.unknown());
const inputSchema = z
  .strictObject({
    phone: z.string().max(200).describe('With its country code, such as +12025550123; formatting is left aside.'),
    metadata: metadataSchema
      .nullish()
      .describe('Values of the variables in prompt and messages. `timezone`: whose clock the calling hours go by.'),
  })
  .meta({ id: 'CampaignRecordInput' });
// Counted before the records are checked: a million records get one error, not a million.
const uploadSchema = z.array(inputSchema).meta({ description: `At most ${String(MOST_RECORDS)}.` });

const shape = {
  phone: z.string(),
  metadata: metadataSchema,
  session_id: z.string().nullable().describe('Of the latest call'),
};
export const recordSchema = z
  .strictObject({ ...shape, call_status: z.enum(['not_started', 'started', 'finished', 'failed']) })
  .meta({ id: 'CampaignRecord' });

const statusSchema = z.enum(['not_started', 'started', 'finished', 'failed', 'rejected']);
const listedSchema = z
  .strictObject({
    ...shape,
    call_status: statusSchema,
    attempts: z.int().describe('Calls so far'),
    next_call_at: z
      .number()
      .nullable()
      .describe('Unix seconds from which on it may be called, within its calling hours; null = it is not waiting'),
    reason: z.string().nullable().describe('Why it was refused, has failed, or is called again'),
  })
  .meta({ id: 'CampaignRecordState', description: 'Somebody whom a campaign calls, and how far that is.' });
const pageSchema = z.strictObject({
  records: z.array(listedSchema),
  next_cursor: z.int().describe('`start_after` of the next page; 0 = this is the last one'),
});

const EXAMPLE: z.output<typeof listedSchema> = {
  phone: '+12025550101',
  metadata: { name: 'Ann', timezone: 'America/New_York' },
  session_id: '007750c3-70b3-468b-8ed2-58d80e641cf6',
  call_status: 'started',
  attempts: 1,
  next_call_at: 1_795_448_392,
  reason: 'busy',
};

const params = { campaign_id: z.string().min(1).max(100) };

/** Whom campaigns call. */
export function campaignRecordRoutes(api: Api, campaigns: Campaigns): void {
  const tag = 'campaigns';
  const path = '/campaigns/{campaign_id}/records';

  api.add({
    id: 'addRecords',
    method: 'POST',
    path,
    tag,
    params,
    summary: 'Add people to call',
    body: uploadSchema,
    answer: success,
    description:
      'Numbers that are none, and those that are in the campaign already, are refused one by one: `success` is false ' +
      'then, and `GET …/records?status=rejected` lists them with the reason. The others are added.',
    bodyBytes: MOST_BYTES,
    errors: ['NOT_FOUND', 'CAMPAIGN_FINISHED', 'CAMPAIGN_TOO_MANY_RECORDS'],
    examples: () => ({
      body: [
        { phone: '+12025550101', metadata: { name: 'Ann', timezone: 'America/New_York' } },
        { phone: '+12025550102', metadata: { name: 'Bob' } },
      ],
    }),
    handle: async ({ params: { campaign_id: id }, body }) => {
      if (body.length > MOST_RECORDS) throw new ParleyError('CAMPAIGN_TOO_MANY_RECORDS', { limit: MOST_RECORDS });
      return { success: (await campaigns.upload(id, body)) === 0 };
    },
  });

  api.add({
    id: 'listRecords',
    method: 'GET',
    path,
    tag,
    params,
    summary: 'Whom a campaign calls',
    answer: pageSchema,
    description: 'In the order in which they were added; those that were refused are listed by `status=rejected` only.',
    query: {
      status: statusSchema.exactOptional(),
      limit: z.int().min(1).max(1000).default(100),
      start_after: z.int().min(0).default(0).describe('`next_cursor` of the page before'),
    },
    errors: ['NOT_FOUND'],
    examples: () => ({ answer: { records: [EXAMPLE], next_cursor: 0 } }),
    handle: ({ params: { campaign_id: id }, query: { status, limit, start_after: after } }) => {
      const page = { after, limit: limit + 1 };
      if (status === 'rejected') return paged(campaigns.rejections(id, page), limit, rejectionReply);
      return paged(campaigns.records(id, page, status), limit, replyOf);
    },
  });

  api.add({
    id: 'deleteRecord',
    method: 'DELETE',
    path: `${path}/{phone}`,
    tag,
    summary: 'Call somebody no more',
    answer: success,
    description: 'Takes the record out of the campaign. Its calls stay in the log.',
    params: { ...params, phone: z.string().min(1).max(200) },
    errors: ['NOT_FOUND', 'CAMPAIGN_FINISHED', 'RECORD_BEING_CALLED'],
    handle: async ({ params: { campaign_id: id, phone } }) => {
      await campaigns.removeRecord(id, phone);
      return { success: true };
    },
  });
}

/** @param found one more than the page has, where there are more */
function paged<T extends { seq: number }>(
  found: readonly T[],
  limit: number,
  word: (item: T) => z.output<typeof listedSchema>,
): z.output<typeof pageSchema> {
  const page = found.slice(0, limit);
  return { records: page.map(word), next_cursor: found.length > limit ? (page.at(-1)?.seq ?? 0) : 0 };
}

function replyOf(record: StoredRecord): z.output<typeof listedSchema> {
  const { phone, metadata, status, sessionId, attempts, dueMs, reason } = record;
  return {
    phone,
    metadata,
    session_id: sessionId,
    call_status: status,
    attempts,
    next_call_at: dueMs === null ? null : dueMs / 1000,
    reason,
  };
}

function rejectionReply({ phone, metadata, reason }: StoredRejection): z.output<typeof listedSchema> {
  const nothing = { session_id: null, attempts: 0, next_call_at: null };
  return { phone, metadata, call_status: 'rejected', ...nothing, reason };
}
