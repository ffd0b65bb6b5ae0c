import * as z from 'zod';
import { DEFAULT_CAMPAIGN_SCHEDULE, scheduleFields } from './campaign-schedule.js';
import { setting } from '../schema/setting.js';

/** What may be asked of the daemon. */
export const limitsSchema = z.strictObject({
  bodyBytes: setting(z.int().min(1_024), 'Largest JSON body of a request.', { unit: 'bytes' }),
  promptChars: setting(z.int().min(1), 'Longest prompt.', { unit: 'characters' }),
  requestsPerMinute: setting(z.int().min(1), 'Requests of one key.', { unit: 'per minute' }),
  sessions: setting(z.int().min(1), 'Sessions at once.', { unit: 'sessions' }),
  connections: setting(z.int().min(1), 'Connections at once; further ones are closed.', { unit: 'connections' }),
  socketsPerAddress: setting(z.int().min(1), 'Talk sockets of one address at once; a proxy in front is one address.', {
    unit: 'sockets',
  }),
  knowledgeFileBytes: setting(z.int().min(1_024), 'Largest file of the knowledge base.', { unit: 'bytes' }),
  knowledgeFiles: setting(z.int().min(1), 'Files of the knowledge base.', { unit: 'files' }),
  toolReplyBytes: setting(z.int().min(1_024), "Largest reply of a tool's webhook.", { unit: 'bytes' }),
  traceBytes: setting(z.int().min(1_024), 'Largest trace of a session; what happens after that is left out.', {
    unit: 'bytes',
  }),
});

/** Guards of the calls that agents place. */
export const callsSchema = z.strictObject({
  enabled: setting(z.boolean(), 'Whether agents may place calls.'),
  allowedPrefixes: setting(
    z.array(
      z.string().regex(/^(?:\+[1-9]\d{0,14}|\*)$/, 'Input should be the beginning of a number, such as +44, or *'),
    ),
    'What numbers that are called may begin with, see [destinations](calls.md#destinations); * = anything.',
  ),
  concurrent: setting(z.int().min(1), 'Calls at once.', { unit: 'calls' }),
  perMinute: setting(z.int().min(1), 'Calls begun within a minute.', { unit: 'per minute' }),
  perDestinationPerMinute: setting(z.int().min(1), 'Of these to one number.', { unit: 'per minute' }),
  perDestinationPerDay: setting(z.int().min(1), 'To one number within 24 hours.', { unit: 'per day' }),
  minutesPerDay: setting(z.number().positive(), 'Minutes of all calls within 24 hours.', { unit: 'min' }),
  maxDurationS: setting(
    z.number().positive().max(86_400),
    'Longest call that is placed, whatever the agent says; as much is reserved of `minutesPerDay` while it runs.',
    { unit: 's' },
  ),
  ringS: setting(z.number().min(5).max(180), 'How long it rings before a call is given up.', { unit: 's' }),
});

const { concurrent, perMinute, hoursStart, hoursEnd, days, maxAttempts, ...retries } = scheduleFields;
const again = 'Waits before the first, second, … call that is made again because';
/** How campaigns call that set nothing else. */
export const campaignsSchema = z
  .strictObject({
    concurrent: setting(concurrent, 'Calls of one campaign at once, within `calls.concurrent`.', { unit: 'calls' }),
    perMinute: setting(perMinute, 'Calls of one campaign begun within a minute, spread evenly over it.', {
      unit: 'per minute',
    }),
    hoursStart: setting(
      hoursStart,
      'People are called from this time on, by their own clock, see [campaigns](campaigns.md#calling-hours).',
    ),
    hoursEnd: setting(hoursEnd, 'Until this time, which is later.'),
    days: setting(days, 'On these days.'),
    maxAttempts: setting(maxAttempts, 'Calls to one number, whatever they come to.', { unit: 'calls' }),
    retryBusyS: setting(retries.retryBusyS, `${again} the line was busy.`, { unit: 's' }),
    retryNoAnswerS: setting(retries.retryNoAnswerS, `${again} nobody answered.`, { unit: 's' }),
    retryVoicemailS: setting(retries.retryVoicemailS, `${again} a mailbox answered and the agent hung up.`, {
      unit: 's',
    }),
    retryFailedS: setting(retries.retryFailedS, `${again} the network or the other side refused.`, { unit: 's' }),
    retryErrorS: setting(retries.retryErrorS, `${again} the call broke off on our side.`, { unit: 's' }),
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

/** How browsers reach the daemon with their audio. */
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
    'UDP ports to use, `[from, to]`. Unset = any.',
  ),
  addresses: setting(
    z.array(z.ipv4().or(z.ipv6())).max(20),
    "Addresses to offer beside those of the machine's interfaces: 127.0.0.1 where it listens on loopback.",
  ),
  ipv6: setting(z.boolean(), 'Whether IPv6 is offered.'),
});

/** Where sessions run. */
export const mediaSchema = z.strictObject({
  threads: setting(
    z.int().min(0).max(64),
    'Worker threads for calls over WebRTC and SIP, see [threads](operation.md#media-threads); 0 = the main thread.',
    { unit: 'threads' },
  ),
});

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
