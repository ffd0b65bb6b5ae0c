import * as z from 'zod';
import { timezoneSchema } from '../schema/text.js';

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

const timeSchema = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$|^24:00$/, 'Input should be a time such as 09:00');
const waitsSchema = z.array(z.number().min(1).max(2_592_000)).max(20);

/** How a campaign calls, member by member; the operator's settings and those of one campaign have the same. */
export const scheduleFields = {
  /** Calls at once. */
  concurrent: z.int().min(1).max(10_000),
  /** Calls begun within a minute, spread evenly over it. */
  perMinute: z.number().min(0.1).max(60_000),
  /** People are called from this time of their day … */
  hoursStart: timeSchema,
  /** … to this one, which is later; `24:00` is midnight. */
  hoursEnd: timeSchema,
  /** The days of their week. */
  days: z.array(z.enum(WEEKDAYS)).min(1).max(7),
  /** Of numbers that do not tell where they are. */
  timezone: timezoneSchema,
  /** Calls to one number, whatever they come to. */
  maxAttempts: z.int().min(1).max(100),
  /** Seconds before the first, second, … call that is made again because the line was busy; after the last no more. */
  retryBusyS: waitsSchema,
  /** The same where nobody answered. */
  retryNoAnswerS: waitsSchema,
  /** Where a mailbox answered and the agent hung up. */
  retryVoicemailS: waitsSchema,
  /** Where the network or the other side refused. */
  retryFailedS: waitsSchema,
  /** Where the call broke off on our side, as with a crash. */
  retryErrorS: waitsSchema,
};

/** How a campaign calls. */
export type CampaignSchedule = { [K in keyof typeof scheduleFields]: z.output<(typeof scheduleFields)[K]> };

/** When people may be called, by their own clock. */
export type CallingHours = Pick<CampaignSchedule, 'hoursStart' | 'hoursEnd' | 'days'>;

/** What applies where nobody says otherwise; `timezone` is the operator's. */
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
