import * as z from 'zod';
import { DEFAULT_CAMPAIGN_SCHEDULE, scheduleFields } from './campaign-schedule.js';
import { setting } from '../schema/field.js';

/** Limits on requests, sessions and sizes. */
export const limitsSchema = z.strictObject({
  bodyBytes: setting(z.int().min(1_024), 'Largest JSON body of a request.', { unit: 'bytes' }),
  promptChars: setting(z.int().min(1), 'Longest prompt.', { unit: 'characters' }),
  requestsPerMinute: setting(z.int().min(1), 'Requests per key.', { unit: 'per minute' }),
  sessions: setting(z.int().min(1), 'Concurrent sessions.', { unit: 'sessions' }),
  connections: setting(z.int().min(1), 'Concurrent connections; further ones are closed.', { unit: 'connections' }),
  socketsPerAddress: setting(
    z.int().min(1),
    'Concurrent talk sockets per client address; all clients behind an untrusted proxy share one.',
    { unit: 'sockets' },
  ),
  knowledgeFileBytes: setting(z.int().min(1_024), 'Largest file in the knowledge base.', { unit: 'bytes' }),
  knowledgeFiles: setting(z.int().min(1), 'Files in the knowledge base.', { unit: 'files' }),
  toolReplyBytes: setting(z.int().min(1_024), "Largest reply from a tool's webhook.", { unit: 'bytes' }),
  traceBytes: setting(z.int().min(1_024), 'Largest trace of a session; it ends at this size.', { unit: 'bytes' }),
  waitingWriteBytes: setting(
    z.int().min(1_048_576),
    'Writes of running calls that wait while PostgreSQL cannot be reached; beyond it they are lost.',
    { unit: 'bytes' },
  ),
  waitingFileBytes: setting(
    z.int().min(1_048_576),
    'Files on the disk that wait for the store in `files`; beyond it, the log warns. Nothing is discarded.',
    { unit: 'bytes' },
  ),
});

/** Limits on outbound calls. */
export const callsSchema = z.strictObject({
  enabled: setting(z.boolean(), 'Whether agents may place calls.'),
  allowedPrefixes: setting(
    z.array(
      z.string().regex(/^(?:\+[1-9]\d{0,14}|\*)$/, 'Input should be the beginning of a number, such as +44, or *'),
    ),
    'Prefixes of numbers that may be called, see [destinations](calls.md#destinations); * = any number.',
  ),
  concurrent: setting(z.int().min(1), 'Concurrent calls.', { unit: 'calls' }),
  perMinute: setting(z.int().min(1), 'Calls started per minute.', { unit: 'per minute' }),
  perDestinationPerMinute: setting(z.int().min(1), 'Calls to one number per minute.', { unit: 'per minute' }),
  perDestinationPerDay: setting(z.int().min(1), 'Calls to one number within 24 hours.', { unit: 'per day' }),
  minutesPerDay: setting(z.number().positive(), 'Total minutes of calls within 24 hours.', { unit: 'min' }),
  maxDurationS: setting(
    z.number().positive().max(86_400),
    'Longest call, even if the agent allows more. A running call reserves this much of `minutesPerDay`.',
    { unit: 's' },
  ),
  ringS: setting(z.number().min(5).max(180), 'How long to let a call ring.', { unit: 's' }),
});

const { concurrent, perMinute, hoursStart, hoursEnd, days, maxAttempts, ...retries } = scheduleFields;
const again = 'Waits before the first, second, … retry after';
/** The default schedule of campaigns. */
export const campaignsSchema = z
  .strictObject({
    concurrent: setting(concurrent, 'Concurrent calls of one campaign, within `calls.concurrent`.', { unit: 'calls' }),
    perMinute: setting(perMinute, 'Calls that one campaign starts per minute, evenly spread.', {
      unit: 'per minute',
    }),
    hoursStart: setting(
      hoursStart,
      "Start of the calling hours, in the called person's time zone, see [campaigns](campaigns.md#calling-hours).",
    ),
    hoursEnd: setting(hoursEnd, 'End of the calling hours, later than their start.'),
    days: setting(days, 'Days on which campaigns call.'),
    maxAttempts: setting(maxAttempts, 'Calls to one number, whatever their outcome.', { unit: 'calls' }),
    retryBusyS: setting(retries.retryBusyS, `${again} a busy line.`, { unit: 's' }),
    retryNoAnswerS: setting(retries.retryNoAnswerS, `${again} a call without an answer.`, { unit: 's' }),
    retryVoicemailS: setting(retries.retryVoicemailS, `${again} a mailbox answered and the agent hung up.`, {
      unit: 's',
    }),
    retryFailedS: setting(retries.retryFailedS, `${again} the network or the other side refused.`, { unit: 's' }),
    retryErrorS: setting(retries.retryErrorS, `${again} an error on our side.`, { unit: 's' }),
  })
  .refine(
    (given) =>
      (given.hoursStart ?? DEFAULT_CAMPAIGN_SCHEDULE.hoursStart) <
      (given.hoursEnd ?? DEFAULT_CAMPAIGN_SCHEDULE.hoursEnd),
    {
      path: ['hoursEnd'],
      error: 'Input should be later than hoursStart',
      params: { type: 'calling_hours' },
    },
  );

const iceUrlSchema = z
  .string()
  .regex(/^(?:stun|turns?):[^\s]{1,300}$/, 'Input should be an address such as stun:example.com:3478');

/** WebRTC: ICE servers, ports and addresses. */
export const webRtcSchema = z.strictObject({
  iceServers: setting(
    z
      .array(
        z.strictObject({
          urls: iceUrlSchema,
          username: z.string().max(500).exactOptional(),
          credential: z.string().max(500).exactOptional(),
        }),
      )
      .max(10),
    'STUN and TURN servers, for the daemon and its pages: `{urls, username?, credential?}`.',
  ),
  portRange: setting(
    z
      .tuple([z.int().min(1_024).max(65_535), z.int().min(1_024).max(65_535)])
      .refine(([from, to]) => from < to, { error: 'Input should be two ports, the lower one first' })
      .nullable(),
    'UDP port range, `[from, to]`. Unset = any port.',
  ),
  addresses: setting(
    z.array(z.ipv4().or(z.ipv6())).max(20),
    "Addresses to offer in addition to those of the machine's interfaces. Empty = 127.0.0.1 if `host` is loopback.",
  ),
  ipv6: setting(z.boolean(), 'Whether to offer IPv6 addresses.'),
});

/** Threads for media. */
export const mediaSchema = z.strictObject({
  threads: setting(
    z.int().min(0).max(64),
    'Worker threads for WebRTC and SIP calls, see [threads](operation.md#media-threads); 0 = the main thread.',
    { unit: 'threads' },
  ),
});

/** Runs of test suites in the daemon. */
export const evalsSchema = z.strictObject({
  runs: setting(z.int().min(1).max(16), 'Runs of test suites at the same time; others wait. Each is a process.', {
    unit: 'runs',
  }),
  concurrency: setting(z.int().min(1).max(64), 'Concurrent test calls of one run.', { unit: 'calls' }),
  memoryMb: setting(z.int().min(128), 'Largest heap of the process of a run; a run that needs more fails.', {
    unit: 'MB',
  }),
  maxRunS: setting(z.number().positive().max(86_400), 'Longest run; it fails after that.', { unit: 's' }),
  retentionDays: setting(
    z.number().positive().max(36_500),
    'How long runs are kept, with their results, recordings and traces.',
    { unit: 'days' },
  ),
});

export type EvalSettings = Required<z.infer<typeof evalsSchema>>;
export const DEFAULT_EVALS: EvalSettings = {
  runs: 1,
  concurrency: 1,
  memoryMb: 1_024,
  maxRunS: 3_600,
  retentionDays: 90,
};

export type MediaSettings = Required<z.infer<typeof mediaSchema>>;
export const DEFAULT_MEDIA: MediaSettings = { threads: 0 };

export type Limits = Required<z.infer<typeof limitsSchema>>;
export type CallGuards = Required<z.infer<typeof callsSchema>>;
export type WebRtcSettings = Required<z.infer<typeof webRtcSchema>>;

export const DEFAULT_LIMITS: Limits = {
  bodyBytes: 1_048_576,
  promptChars: 100_000,
  requestsPerMinute: 600,
  sessions: 100,
  connections: 2_000,
  socketsPerAddress: 100,
  knowledgeFileBytes: 20_971_520,
  knowledgeFiles: 1_000,
  toolReplyBytes: 65_536,
  traceBytes: 8_388_608,
  waitingWriteBytes: 268_435_456,
  waitingFileBytes: 10_737_418_240,
};

export const DEFAULT_CALL_GUARDS: CallGuards = {
  enabled: true,
  allowedPrefixes: ['+1'],
  concurrent: 10,
  perMinute: 30,
  perDestinationPerMinute: 2,
  perDestinationPerDay: 10,
  minutesPerDay: 1_200,
  maxDurationS: 3_600,
  ringS: 45,
};

export const DEFAULT_WEBRTC: WebRtcSettings = { iceServers: [], portRange: null, addresses: [], ipv6: true };
