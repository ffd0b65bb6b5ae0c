import { createHash } from 'node:crypto';
import * as z from 'zod';
import { agentConfigSchema } from '../../agent/agent.js';
import { agentExtensionsSchema } from '../../agent/extensions/extensions.js';
import { movingSchema, REQUEST_NAMES } from '../../agent/extensions/old-place.js';
import { continuationSchema } from '../../agent/continuation.js';
import { versionPinSchema } from '../agents/requested-agent.js';
import type { CallOwners } from '../nodes/call-owners.js';
import type { CallGuards } from '../../settings/setting-groups.js';
import type { DialStore } from '../../store/dials.js';
import type { Api } from '../http/api.js';
import { success } from '../http/endpoint.js';
import { type CallIds, PACE_LIMITS } from './dial.js';
import type { Dialer } from './dialer.js';
import type { RegisteredCalls, CallRegistration } from './registered-calls.js';
import type { LazyTelephone } from './lazy-telephone.js';
import type { Engine } from '../../engine/engine.js';
import { ParleyError } from '../../base/errors.js';
import type { CallStore } from '../../store/calls.js';

export interface CallRoutesOptions extends Omit<EndingOptions, 'dialer' | 'registered'> {
  dialer: Dialer;
  registered: RegisteredCalls;
  dials: Pick<DialStore, 'usage' | 'stopped'>;
  guards: CallGuards;
}

const metadata = z
  .record(z.string(), z.unknown())
  .nullish()
  .describe('Variables for the prompt. They also appear in the record of the call.');
const agentId = z.string().min(1).max(200).nullish();
const agentConfig = agentConfigSchema
  .nullish()
  .describe("Overrides fields of the agent's configuration. Without an agent it is the whole configuration.");
const shared = {
  agent_version: versionPinSchema.nullish(),
  agent_config: agentConfig,
  agent_extensions: agentExtensionsSchema
    .nullish()
    .describe("Overrides the agent's extensions, or gives those of a temporary agent."),
  metadata,
  include_metadata_in_prompt: z.boolean().nullish().describe('Default false.'),
  session_continuation: continuationSchema.nullish(),
};
const NO_AGENT = {
  path: ['agent_id'],
  error: 'Field required: agent_id, agent_config or both',
  params: { type: 'missing' },
};

function namesAgent({ agent_id: id, agent_config: config }: { agent_id?: unknown; agent_config?: unknown }): boolean {
  return id != null || config != null;
}

const startSchema = movingSchema(
  z
    .strictObject({
      from_phone: z.string().max(100).describe("One of the daemon's numbers, E.164."),
      to_phone: z.string().max(100).describe('The number to call, E.164.'),
      agent_id: agentId.describe('Default: the agent of `from_phone`.'),
      ...shared,
    })
    .meta({ id: 'StartOutboundCall' }),
  REQUEST_NAMES,
);
const registerShape = {
  agent_id: agentId.describe('Not required if `agent_config` is the whole agent.'),
  ...shared,
};
const registerSchema = movingSchema(
  z
    .strictObject({
      ...registerShape,
      from_phone: z
        .string()
        .max(100)
        .nullish()
        .describe("The caller's number: `{FromPhone}`, and `voip.from` in the log."),
      to_phone: z.string().max(100).nullish().describe('The called number: `{ToPhone}`, and `voip.to` in the log.'),
    })
    .refine(namesAgent, NO_AGENT)
    .meta({ id: 'RegisterCall' }),
  REQUEST_NAMES,
);
const registerSipSchema = movingSchema(
  z.strictObject(registerShape).refine(namesAgent, NO_AGENT).meta({ id: 'RegisterSipCall' }),
  REQUEST_NAMES,
);
const idsSchema = z.strictObject({ call_id: z.string(), session_id: z.string() }).meta({ id: 'CallIds' });
const terminateSchema = z
  .strictObject({ message: z.string().max(2_000).nullish().describe('What the agent says before it hangs up.') })
  .optional();
const stopSchema = z
  .strictObject({ end_running: z.boolean().default(false).describe('Whether to end the calls in progress, too.') })
  .default({ end_running: false });
const guardsSchema = z
  .strictObject({
    stopped: z.boolean().describe('True after `POST /calls/stop`, or if the setting `calls.enabled` is false.'),
    stopped_at: z.int().nullable().describe('Unix seconds; null = no request has stopped them.'),
    concurrent: z.strictObject({ used: z.int(), limit: z.int() }),
    per_minute: z.strictObject({ used: z.int(), limit: z.int() }),
    minutes_per_day: z.strictObject({ used: z.number(), limit: z.number() }),
    allowed_prefixes: z.array(z.string()),
  })
  .meta({ id: 'CallGuards', description: "The operator's limits for outbound calls, with their current usage." });

/** Printable ASCII, as header values are. */
const idempotencyKey = z
  .string()
  .regex(/^[\x20-\x7e]{1,255}$/, 'Input should be 1 to 255 printable characters')
  .optional()
  .describe('Requests with the same key within 24 hours get the same answer and place one call.');

const EXAMPLE: z.output<typeof idsSchema> = {
  call_id: 'a2b0e0fc-ae46-44a6-a213-d55ac4341882',
  session_id: '007750c3-70b3-468b-8ed2-58d80e641cf6',
};

const tag = 'calls';

/** Places, registers, ends and stops calls. */
export function callRoutes(api: Api, options: CallRoutesOptions): void {
  dialRoute(api, options);
  registrationRoutes(api, options);
  terminateRoute(api, options);
  guardRoutes(api, options);
}

/** Outbound calls. */
function dialRoute(api: Api, { dialer }: CallRoutesOptions): void {
  api.add({
    id: 'startOutboundCall',
    method: 'POST',
    scope: 'calls',
    path: '/start_outbound_call',
    tag,
    summary: 'Let an agent call a number',
    description: 'Answers when the daemon has accepted the call. The call log and the events show its progress.',
    headers: { 'idempotency-key': idempotencyKey },
    body: startSchema,
    answer: idsSchema,
    errors: [
      ...(['NUMBER_NOT_OWNED', 'NOT_FOUND', 'NUMBER_INACTIVE', 'AGENT_DISABLED', 'DO_NOT_CALL'] as const),
      ...(['CALL_FORBIDDEN', 'CALL_NOT_ALLOWED', 'CALLS_STOPPED', 'IDEMPOTENCY_KEY_REUSED'] as const),
      ...PACE_LIMITS,
      'DAEMON_DRAINING',
      'NODE_DISOWNED',
    ],
    examples: () => ({
      body: {
        from_phone: '+12025550100',
        to_phone: '+12025550101',
        agent_id: 'the-crooked-fork',
        metadata: { name: 'Ann' },
      },
      answer: EXAMPLE,
    }),
    handle: async ({ body, headers, key }) => {
      const idempotency = headers['idempotency-key'];
      const taken = await dialer.dial({
        from: body.from_phone,
        to: body.to_phone,
        agentId: body.agent_id ?? null,
        agentVersion: body.agent_version ?? null,
        agentConfig: body.agent_config ?? null,
        agentExtensions: body.agent_extensions ?? null,
        metadata: body.metadata ?? {},
        includeMetadataInPrompt: body.include_metadata_in_prompt ?? false,
        continuation: body.session_continuation,
        idempotency:
          idempotency === undefined
            ? null
            : { client: key?.id ?? '', key: idempotency, fingerprint: fingerprint(body) },
      });
      return replyOf(taken);
    },
  });
}

/** Registers calls for clients that connect later. */
function registrationRoutes(api: Api, { registered, telephone }: CallRoutesOptions): void {
  api.add({
    id: 'registerCall',
    method: 'POST',
    scope: 'calls',
    path: '/register_call',
    tag,
    summary: 'Register a call for a client that connects to /talk',
    description: 'The client sends the `call_id` in its first message within five minutes. It is valid once.',
    body: registerSchema,
    answer: idsSchema,
    errors: ['NOT_FOUND', 'AGENT_DISABLED', 'REGISTRATIONS_FULL'],
    examples: () => ({
      body: { agent_id: 'the-crooked-fork', metadata: { name: 'Ann' }, from_phone: '+12025550101' },
      answer: EXAMPLE,
    }),
    handle: async ({ body }) => {
      const { from_phone: from, to_phone: to, ...rest } = body;
      const phones = from == null && to == null ? null : { from: from ?? '', to: to ?? '' };
      return replyOf(await registered.register({ ...registrationOf(rest), phones }));
    },
  });

  api.add({
    id: 'registerSipCall',
    method: 'POST',
    scope: 'calls',
    path: '/register_sip_call',
    tag,
    summary: 'Register a call that a PBX forwards over SIP',
    description: 'The PBX calls `sip_uri` once, within five minutes. Needs a SIP trunk: the setting `sip`.',
    body: registerSipSchema,
    answer: z.strictObject({ call_id: z.string(), sip_uri: z.string() }).meta({ id: 'SipCall' }),
    errors: ['NOT_FOUND', 'AGENT_DISABLED', 'REGISTRATIONS_FULL', 'SIP_NO_TRUNK'],
    examples: () => ({
      body: { agent_id: 'the-crooked-fork', metadata: { name: 'Ann' } },
      refusal: 'SIP_NO_TRUNK',
      answer: { call_id: EXAMPLE.call_id, sip_uri: `sip:${EXAMPLE.call_id}@calls.example.com:5060` },
    }),
    handle: async ({ body }) => {
      const phone = await telephone.open();
      const { callId, address } = await registered.register(registrationOf(body), (id) => phone.addressOf(id));
      return { call_id: callId, sip_uri: address };
    },
  });
}

/** Ends sessions. */
function terminateRoute(api: Api, options: CallRoutesOptions): void {
  api.add({
    id: 'terminateSession',
    method: 'POST',
    scope: 'calls',
    path: '/sessions/{session_id}/terminate',
    tag,
    summary: 'End a call or session',
    description:
      'The status becomes `api-ended`, or `canceled` if the call was not answered. With a `message`, the agent speaks it ' +
      'first, and the status becomes `agent-ended`.',
    body: terminateSchema,
    params: { session_id: z.string().min(1).max(200) },
    answer: success,
    errors: ['NOT_FOUND', 'SESSION_CLOSED', 'NODE_UNREACHABLE'],
    examples: () => ({ body: { message: 'We have to hang up now. Goodbye.' } }),
    owner: ({ params }) => options.owners.ofRunning(params.session_id),
    handle: async ({ params, body }) => {
      const message = body?.message?.trim() ?? '';
      await endSession(params.session_id, options, message === '' ? null : message);
      return { success: true };
    },
  });
}

/** The kill switch and the limits of outbound calls. */
function guardRoutes(api: Api, { dialer, dials, guards }: CallRoutesOptions): void {
  api.add({
    id: 'stopCalls',
    method: 'POST',
    scope: 'calls',
    path: '/calls/stop',
    tag,
    summary: 'Kill switch: stop placing calls',
    description: 'Stays in effect until `POST /calls/resume`, even after a restart. Does not affect inbound calls.',
    body: stopSchema,
    answer: z.strictObject({ success: z.boolean(), ended: z.int().describe('The number of calls that it ends.') }),
    examples: () => ({ body: { end_running: true }, answer: { success: true, ended: 1 } }),
    handle: async ({ body, key }) => ({
      success: true,
      ended: await dialer.stop(key?.id ?? null, { endRunning: body.end_running }),
    }),
  });

  api.add({
    id: 'resumeCalls',
    method: 'POST',
    scope: 'calls',
    path: '/calls/resume',
    tag,
    summary: 'Resume placing calls',
    answer: success,
    handle: async () => {
      await dialer.resume();
      return { success: true };
    },
  });

  api.add({
    id: 'getCallGuards',
    method: 'GET',
    path: '/calls/guards',
    tag,
    summary: 'Limits of outbound calls, with their current usage',
    answer: guardsSchema,
    examples: () => ({
      answer: {
        stopped: false,
        stopped_at: null,
        concurrent: { used: 1, limit: 10 },
        per_minute: { used: 4, limit: 30 },
        minutes_per_day: { used: 38.5, limit: 1_200 },
        allowed_prefixes: ['+1'],
      },
    }),
    handle: async () => {
      const stopped = await dials.stopped();
      const used = await dials.usage();
      return {
        stopped: stopped !== null || !guards.enabled,
        stopped_at: stopped?.at ?? null,
        concurrent: { used: used.concurrent, limit: guards.concurrent },
        per_minute: { used: used.lastMinute, limit: guards.perMinute },
        minutes_per_day: { used: used.minutesLastDay, limit: guards.minutesPerDay },
        allowed_prefixes: [...guards.allowedPrefixes],
      };
    },
  });
}

function registrationOf(body: z.output<typeof registerSipSchema>): CallRegistration {
  return {
    agentId: body.agent_id ?? null,
    metadata: body.metadata ?? {},
    agentVersion: body.agent_version ?? null,
    agentConfig: body.agent_config ?? null,
    agentExtensions: body.agent_extensions ?? null,
    includeMetadataInPrompt: body.include_metadata_in_prompt ?? false,
    continuation: body.session_continuation ?? null,
    phones: null,
  };
}

function replyOf({ callId, sessionId }: CallIds): z.output<typeof idsSchema> {
  return { call_id: callId, session_id: sessionId };
}

/** Equal for bodies with the same content in any order of members. */
function fingerprint(body: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(sorted(body)))
    .digest('hex');
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, inner]) => [name, sorted(inner)]),
  );
}

export interface EndingOptions {
  engine: Engine;
  dialer: Pick<Dialer, 'end'>;
  registered: Pick<RegisteredCalls, 'end'>;
  calls: Pick<CallStore, 'get'>;
  telephone: LazyTelephone;
  owners: Pick<CallOwners, 'ofRunning'>;
}

/**
 * Ends a session of any kind in any state. Its status soon becomes `api-ended`, or `canceled` if it had not started.
 * @param message the agent speaks it first if there is a conversation; the status then becomes `agent-ended`
 * @throws ParleyError NOT_FOUND, SESSION_CLOSED
 */
export async function endSession(
  sessionId: string,
  options: EndingOptions,
  message: string | null = null,
): Promise<void> {
  const { engine, dialer, registered, calls } = options;
  if (message !== null && (await calls.get(sessionId))?.status === 'in-progress') {
    const talking = [...engine.sessions].find(({ id }) => id === sessionId);
    if (talking !== undefined) {
      void talking.say(message);
      talking.finish();
      return;
    }
  }
  if (dialer.end(sessionId) || (await registered.end(sessionId))) return;
  const call = (await options.telephone.opened)?.find(sessionId);
  if (call != null) {
    void call.hangUp();
    return;
  }
  for (const session of engine.sessions) {
    if (session.id !== sessionId) continue;
    void session.close();
    return;
  }
  const stored = await calls.get(sessionId);
  if (stored === null) throw new ParleyError('NOT_FOUND', { what: 'session', id: sessionId });
  if (stored.endedUs !== null) throw new ParleyError('SESSION_CLOSED');
}
