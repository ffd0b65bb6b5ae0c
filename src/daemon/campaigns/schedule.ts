import * as z from 'zod';
import { type CampaignSchedule, scheduleFields } from '../../settings/campaign-schedule.js';

const { shape } = z.object(scheduleFields);
const waits = (what: string) =>
  shape.retryBusyS.describe(`Seconds before the first, second, … repeated call ${what}; [] = no repeated calls`);

const hoursSchema = z.strictObject({
  start: shape.hoursStart.describe('`HH:MM` in the time zone of the called number'),
  end: shape.hoursEnd.describe('`HH:MM`, later than `start`; `24:00` is midnight'),
  days: shape.days,
});
const retriesShape = {
  busy: waits('after a busy line'),
  no_answer: waits('after a call without an answer'),
  voicemail: waits('after the agent hung up on a mailbox'),
  failed: waits('after a refusal by the network or the other party'),
  error: waits('after a failure on our side'),
};

const members = {
  max_concurrent_calls: shape.concurrent.describe('Maximum of concurrent calls'),
  calls_per_minute: shape.perMinute.describe('Calls started per minute, evenly spread'),
  calling_hours: hoursSchema,
  timezone: shape.timezone.describe('Time zone for numbers without a known place'),
  max_attempts: shape.maxAttempts.describe('Maximum of calls to one number, with any result'),
};

/** Overrides of the operator's settings: null removes an override, a missing member changes nothing. */
export const overridesSchema = z
  .strictObject({
    max_concurrent_calls: members.max_concurrent_calls.nullish(),
    calls_per_minute: members.calls_per_minute.nullish(),
    calling_hours: hoursSchema
      .refine(({ start, end }) => start < end, {
        path: ['end'],
        error: 'Input should be later than start',
        params: { type: 'calling_hours' },
      })
      .nullish(),
    timezone: members.timezone.nullish(),
    max_attempts: members.max_attempts.nullish(),
    retries: z
      .strictObject({
        busy: retriesShape.busy.nullish(),
        no_answer: retriesShape.no_answer.nullish(),
        voicemail: retriesShape.voicemail.nullish(),
        failed: retriesShape.failed.nullish(),
        error: retriesShape.error.nullish(),
      })
      .nullish()
      .describe("Null = the operator's settings"),
  })
  .meta({
    id: 'CampaignScheduleChange',
    description: "Overrides of the operator's settings. Null removes an override; a missing member changes nothing.",
  });

/** The resulting schedule. */
export const scheduleSchema = z
  .strictObject({ ...members, retries: z.strictObject(retriesShape) })
  .meta({ id: 'CampaignSchedule', description: "The schedule of the campaign: its settings over the operator's." });

export const SCHEDULE_EXAMPLE: z.output<typeof scheduleSchema> = {
  max_concurrent_calls: 5,
  calls_per_minute: 10,
  calling_hours: { start: '09:00', end: '20:00', days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat'] },
  timezone: 'America/New_York',
  max_attempts: 4,
  retries: { busy: [300, 900, 3_600], no_answer: [3_600, 14_400], voicemail: [], failed: [], error: [300] },
};

type Overrides = Partial<CampaignSchedule>;

/** Members of the API, with their names in the code. */
const SCALARS = [
  ['max_concurrent_calls', 'concurrent'],
  ['calls_per_minute', 'perMinute'],
  ['timezone', 'timezone'],
  ['max_attempts', 'maxAttempts'],
] as const;
const RETRIES = [
  ['busy', 'retryBusyS'],
  ['no_answer', 'retryNoAnswerS'],
  ['voicemail', 'retryVoicemailS'],
  ['failed', 'retryFailedS'],
  ['error', 'retryErrorS'],
] as const;

/** The overrides after a change. */
export function changedOverrides(before: Overrides, change: z.output<typeof overridesSchema>): Overrides {
  const after: Record<string, unknown> = { ...before };
  const put = (key: keyof CampaignSchedule, value: unknown): void => {
    if (value === null) delete after[key];
    else if (value !== undefined) after[key] = value;
  };
  for (const [name, key] of SCALARS) put(key, change[name]);
  const { calling_hours: hours, retries } = change;
  put('hoursStart', hours === null ? null : hours?.start);
  put('hoursEnd', hours === null ? null : hours?.end);
  put('days', hours === null ? null : hours?.days);
  for (const [name, key] of RETRIES) put(key, retries === null ? null : retries?.[name]);
  return after;
}

/** The JSON of the API. */
export function scheduleReply(schedule: CampaignSchedule): z.output<typeof scheduleSchema> {
  return {
    max_concurrent_calls: schedule.concurrent,
    calls_per_minute: schedule.perMinute,
    calling_hours: { start: schedule.hoursStart, end: schedule.hoursEnd, days: schedule.days },
    timezone: schedule.timezone,
    max_attempts: schedule.maxAttempts,
    retries: {
      busy: schedule.retryBusyS,
      no_answer: schedule.retryNoAnswerS,
      voicemail: schedule.retryVoicemailS,
      failed: schedule.retryFailedS,
      error: schedule.retryErrorS,
    },
  };
}
