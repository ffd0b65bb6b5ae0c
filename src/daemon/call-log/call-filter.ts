import * as z from 'zod';
import type { CallStatus } from '../../telephony/calls/call-status.js';
import type { CallFilter } from '../../store/call-pages.js';

/** Every status that a call can have. */
const STATUSES: Readonly<Record<CallStatus | 'chat_completion', 'going on' | 'completed' | 'failed' | 'other'>> = {
  registered: 'going on',
  queued: 'going on',
  dispatching: 'going on',
  initiated: 'going on',
  ringing: 'going on',
  'in-progress': 'going on',
  'user-ended': 'completed',
  'agent-ended': 'completed',
  'api-ended': 'completed',
  'voicemail-hangup': 'completed',
  'voicemail-message': 'completed',
  timeout: 'completed',
  busy: 'failed',
  'no-answer': 'failed',
  failed: 'failed',
  error: 'failed',
  canceled: 'other',
  chat_completion: 'other',
};

const NAMES = Object.keys(STATUSES);

/** Whether a call with this status has not ended. */
export function goesOn(status: string): boolean {
  return Reflect.get(STATUSES, status) === 'going on';
}

/** Whether a call with this status came to a conversation that ended as conversations do. */
export function isCompleted(status: string): boolean {
  return Reflect.get(STATUSES, status) === 'completed';
}

/** Times above this are milliseconds. */
const LAST_SECOND = 1e11;

const time = z.number().min(0).max(1e14);
const id = z.string().min(1).max(200);
const statusSchema = z.string().refine((text) => statusesOf(text) !== null, {
  error: `Input should be COMPLETED, FAILED or a status: ${NAMES.join(', ')}`,
  params: { type: 'enum' },
});

/** Query parameters that filter calls. */
export const callQuery = {
  start_time: time
    .exactOptional()
    .describe('Calls that started at this time or later. Unix seconds, above 1e11 milliseconds'),
  end_time: time.exactOptional().describe('Calls that started at this time or earlier'),
  agent_id: id.exactOptional(),
  agent_version: z.int().min(1).max(1e9).exactOptional().describe('Calls of this version of the agent `agent_id`'),
  call_status: statusSchema
    .exactOptional()
    .describe('A status, `COMPLETED` or `FAILED` (busy, no-answer, failed, error), in upper or lower case'),
  phone_number: z
    .string()
    .min(1)
    .max(100)
    .exactOptional()
    .describe('The number of either party: whole (`+1 202 555 0103`), its start (`+1202*`) or its end (`0103`)'),
  campaign_id: id.exactOptional(),
};

const querySchema = z.strictObject(callQuery);
export type CallQuery = z.output<typeof querySchema>;

export function callFilter(query: CallQuery): CallFilter {
  const { start_time, end_time, call_status } = query;
  return {
    agentId: query.agent_id,
    agentVersion: query.agent_version,
    campaignId: query.campaign_id,
    phone: query.phone_number,
    statuses: call_status === undefined ? undefined : (statusesOf(call_status) ?? []),
    fromUs: start_time === undefined ? undefined : Math.round(secondsOf(start_time) * 1e6),
    toUs: end_time === undefined ? undefined : Math.round(secondsOf(end_time) * 1e6),
  };
}

function secondsOf(given: number): number {
  return given > LAST_SECOND ? given / 1000 : given;
}

/** The statuses of a filter value; null = it is unknown. */
function statusesOf(text: string): string[] | null {
  const word = text.toLowerCase();
  if (word === 'completed') return NAMES.filter(isCompleted);
  // "FAILED" means the group, not the one status of that name.
  if (word === 'failed') return NAMES.filter((name) => Reflect.get(STATUSES, name) === 'failed');
  return Object.hasOwn(STATUSES, word) ? [word] : null;
}
