import * as z from 'zod';
import { ParleyError } from '../../base/errors.js';
import type { StoredRecord, StoredRejection } from '../../store/campaign-records.js';
import type { Api } from '../http/api.js';
import { success } from '../http/endpoint.js';
import type { Campaigns } from './campaigns.js';

/** Limit of records in one request. */
const MOST_RECORDS = 10_000;
const MOST_BYTES = 8 * 1024 * 1024;

const metadataSchema = z.record(z.string(), z.unknown());
const inputSchema = z
  .strictObject({
    phone: z.string().max(200).describe('With the country code, such as +12025550123. Formatting is ignored.'),
    metadata: metadataSchema
      .nullish()
      .describe('Values of the variables in the prompt and messages. `timezone`: the time zone for the calling hours.'),
  })
  .meta({ id: 'CampaignRecordInput' });
// The handler counts the records before it checks them: a million records get one error, not a million.
const uploadSchema = z.array(inputSchema).meta({ description: `At most ${String(MOST_RECORDS)}.` });

const shape = {
  phone: z.string(),
  metadata: metadataSchema,
  session_id: z.string().nullable().describe('The session of the latest call'),
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
      .describe('Earliest time of the next call within the calling hours, Unix seconds; null = it is not waiting'),
    reason: z.string().nullable().describe('Why it was refused, failed or gets another call'),
  })
  .meta({ id: 'CampaignRecordState', description: 'The state of a record.' });
const pageSchema = z.strictObject({
  records: z.array(listedSchema),
  next_cursor: z.int().describe('`start_after` of the next page; 0 = this is the last page'),
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

/** The records of campaigns: the people to call. */
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
      'Refuses invalid numbers and numbers that the campaign has already, and adds the others. If it refuses any, ' +
      '`success` is false, and `GET …/records?status=rejected` lists them with the reasons.',
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
    summary: 'The records of a campaign',
    answer: pageSchema,
    pages: { cursor: 'start_after', items: 'records', next: 'next_cursor' },
    description: 'In the order of upload. Only `status=rejected` lists refused items.',
    query: {
      status: statusSchema.exactOptional(),
      limit: z.int().min(1).max(1000).default(100),
      start_after: z.int().min(0).default(0).describe('`next_cursor` of the previous page'),
    },
    errors: ['NOT_FOUND'],
    examples: () => ({ answer: { records: [EXAMPLE], next_cursor: 0 } }),
    handle: async ({ params: { campaign_id: id }, query: { status, limit, start_after: after } }) => {
      const page = { after, limit: limit + 1 };
      if (status === 'rejected') return paged(await campaigns.rejections(id, page), limit, rejectionReply);
      return paged(await campaigns.records(id, page, status), limit, replyOf);
    },
  });

  api.add({
    id: 'deleteRecord',
    method: 'DELETE',
    path: `${path}/{phone}`,
    tag,
    summary: 'Remove a record from a campaign',
    answer: success,
    description: 'Its calls stay in the log.',
    params: { ...params, phone: z.string().min(1).max(200) },
    errors: ['NOT_FOUND', 'CAMPAIGN_FINISHED', 'RECORD_BEING_CALLED'],
    handle: async ({ params: { campaign_id: id, phone } }) => {
      await campaigns.removeRecord(id, phone);
      return { success: true };
    },
  });
}

/** @param found has one more item than the page if there is a next page */
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
