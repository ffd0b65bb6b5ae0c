import * as z from 'zod';
import { WEEKDAYS } from '../base/local-time.js';
import { timezoneSchema } from '../schema/text.js';

const timeSchema = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$|^24:00$/, 'Input should be a time such as 09:00');
const waitsSchema = z.array(z.number().min(1).max(2_592_000)).max(20);

/** Fields of a campaign's schedule. The operator's settings and each campaign have the same fields. */
export const scheduleFields = {
  /** Concurrent calls. */
  concurrent: z.int().min(1).max(10_000),
  /** Calls started per minute, evenly spread. */
  perMinute: z.number().min(0.1).max(60_000),
  /** Start of the calling hours, in the called person's time zone. */
  hoursStart: timeSchema,
  /** End of the calling hours, later than their start; `24:00` is midnight. */
  hoursEnd: timeSchema,
  /** Days of the week in the called person's time zone. */
  days: z.array(z.enum(WEEKDAYS)).min(1).max(7),
  /** Time zone of numbers whose location is unknown. */
  timezone: timezoneSchema,
  /** Calls to one number, whatever their outcome. */
  maxAttempts: z.int().min(1).max(100),
  /** Seconds before the first, second, … retry after a busy line; after the last entry there is no retry. */
  retryBusyS: waitsSchema,
  /** The same after a call without an answer. */
  retryNoAnswerS: waitsSchema,
  /** The same after a mailbox answered and the agent hung up. */
  retryVoicemailS: waitsSchema,
  /** The same after a refusal by the network or the other side. */
  retryFailedS: waitsSchema,
  /** The same after an error on our side, such as a crash. */
  retryErrorS: waitsSchema,
};

export type CampaignSchedule = { [K in keyof typeof scheduleFields]: z.output<(typeof scheduleFields)[K]> };

/** When people may be called, in their own time zone. */
export type CallingHours = Pick<CampaignSchedule, 'hoursStart' | 'hoursEnd' | 'days'>;

/** Defaults; that of `timezone` is the operator's time zone. */
export const DEFAULT_CAMPAIGN_SCHEDULE: Omit<CampaignSchedule, 'timezone'> = {
  concurrent: 5,
  perMinute: 10,
  hoursStart: '09:00',
  hoursEnd: '20:00',
  days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat'],
  maxAttempts: 4,
  retryBusyS: [300, 900, 3_600],
  retryNoAnswerS: [3_600, 14_400],
  retryVoicemailS: [],
  retryFailedS: [],
  retryErrorS: [300],
};
