import * as z from 'zod';
import { queueSchema } from '../../agent/extensions/queue.js';
import { agentConfigSchema } from '../../agent/agent.js';
import { overriddenAgent } from '../../agent/override-agent.js';
import { redactAgentConfig, restoreSecrets } from '../../agent/redact.js';
import type { Engine } from '../../engine/engine.js';
import { ParleyError } from '../../base/errors.js';
import { unixSeconds } from '../../base/real-clock.js';
import type { PhoneChange, PhoneStore, StoredPhone } from '../../store/phones.js';
import type { AgentRegistry } from '../agents/agents.js';
import type { Api } from '../http/api.js';
import { success } from '../http/endpoint.js';
import { checkAgent } from '../agents/check-agent.js';
import { versionPinSchema } from '../agents/requested-agent.js';
import { faultOf } from '../../schema/issues.js';
import type { Telephone } from './telephone.js';
import type { Carrier, NumberQuery } from '../../telephony/carriers/carrier.js';

/** How many matching numbers it tries if others buy them in the meantime. */
const OFFERS = 5;

/**
 * Buys the first matching number that is still for sale.
 * @throws ParleyError NUMBER_NONE_FOR_SALE if none matches, NUMBER_UNAVAILABLE if all matching numbers are gone
 */
export async function buyNumber(
  carrier: Pick<Carrier, 'searchNumbers' | 'buyNumber'>,
  where: Omit<NumberQuery, 'limit'>,
  signal: AbortSignal,
): Promise<string> {
  const offers = await carrier.searchNumbers({ ...where, limit: OFFERS }, signal);
  let gone: ParleyError | null = null;
  for (const { number } of offers) {
    try {
      await carrier.buyNumber(number, signal);
      return number;
    } catch (error) {
      if (!(error instanceof ParleyError) || error.code !== 'NUMBER_UNAVAILABLE') throw error;
      gone = error;
    }
  }
  if (gone !== null) throw gone;
  const { country, areaCode } = where;
  throw new ParleyError('NUMBER_NONE_FOR_SALE', {
    where: areaCode === undefined ? country : `${country}, area ${areaCode}`,
  });
}

export interface PhoneRoutesOptions {
  engine: Engine;
  agents: AgentRegistry;
  phones: PhoneStore;
  openTelephone: () => Promise<Telephone>;
  nowUnixMs: () => number;
}

const text = z.string().max(200);
const purchaseSchema = z
  .strictObject({
    country: text.nullish().describe('ISO 3166 alpha-2. Default US.'),
    area_code: text.nullish(),
    street: text.nullish(),
    city: text.nullish(),
    state_region: text.nullish(),
    postal_code: text.nullish(),
  })
  .meta({ id: 'PhonePurchase', description: 'The area of the number, and the address of the buyer.' });
const importSchema = z.strictObject({ phone: z.string().max(100).describe('E.164') }).meta({ id: 'PhoneImport' });
const agentSchema = z.strictObject({
  agent_id: z.string().nullable().describe('Null = no agent answers.'),
  agent_version: versionPinSchema.nullish(),
});
const overrideSchema = z.strictObject({ agent_config_override: agentConfigSchema.nullable() });
const changeSchema = z.strictObject({
  status: z.enum(['active', 'inactive']).exactOptional(),
  tags: z.array(text).max(100).exactOptional(),
  queue: queueSchema.nullable().exactOptional().describe("In place of the agent's queue. Null = that of the agent."),
});
const callSchema = z.strictObject({ caller: z.string().describe('A caller in the list of `parley numbers`.') });
const phoneSchema = z
  .strictObject({
    id: z.string().describe('The number, E.164'),
    create_at: z.int().describe('Unix seconds'),
    status: z.enum(['active', 'inactive']),
    agent_id: z.string().nullable(),
    agent_version: versionPinSchema.nullable(),
    agent_config_override: agentConfigSchema
      .nullable()
      .describe("As the client sent it, without unset members: [] would override the agent's value."),
    tags: z.array(z.string()),
    queue: queueSchema.exactOptional().describe("In place of the agent's queue. Left out: that of the agent."),
  })
  .meta({ id: 'Phone', description: "One of the daemon's numbers, with the agent that answers it." });
const importedSchema = phoneSchema
  .extend({
    warnings: z
      .array(z.string())
      .describe('Why real calls do not reach the number, as text for people. Empty = they do.'),
  })
  .meta({ id: 'ImportedPhone', description: 'A number that is in use now, with warnings about it.' });
const EXAMPLE: z.output<typeof phoneSchema> = {
  id: '+12025550100',
  create_at: 1_795_448_091,
  status: 'active',
  agent_id: 'the-crooked-fork',
  agent_version: null,
  agent_config_override: null,
  tags: ['front desk'],
};
const NEW_EXAMPLE = { ...EXAMPLE, agent_id: null, tags: [] };
const params = { phone: z.string().min(1).max(100) };

/** Time limit for an answer of a carrier. Ordering a number takes half a minute with some. */
const CARRIER_MS = 50_000;

const tag = 'phones';

/** The daemon's phone numbers, each with the agent that answers it. */
export function phoneRoutes(api: Api, options: PhoneRoutesOptions): void {
  acquisitionRoutes(api, options);
  numberRoutes(api, options);
  agentRoutes(api, options);
  simulationRoute(api, options);
}

/** Buys and imports numbers. */
function acquisitionRoutes(api: Api, { phones, openTelephone, nowUnixMs }: PhoneRoutesOptions): void {
  api.add({
    id: 'purchasePhone',
    method: 'POST',
    path: '/phones/purchase',
    tag,
    summary: 'Buy a number from the carrier',
    body: purchaseSchema,
    answer: phoneSchema,
    errors: ['NUMBER_NONE_FOR_SALE', 'NUMBER_UNAVAILABLE', 'CARRIER_CLOSED'],
    examples: () => ({ body: { country: 'US', area_code: '202' }, answer: NEW_EXAMPLE }),
    handle: async ({ body: { country, area_code, ...rest } }) => {
      const network = await openTelephone();
      const { carrier } = network;
      const where: NumberQuery = { country: country ?? 'US' };
      if (area_code != null) where.areaCode = area_code;
      const number = await buyNumber(carrier, where, carrierDeadline());
      const address = Object.entries(rest).filter((entry): entry is [string, string] => entry[1] != null);
      const phone: StoredPhone = {
        ...newPhone(number, network.networkOf(number), unixSeconds(nowUnixMs())),
        address: address.length === 0 ? null : Object.fromEntries(address),
      };
      await phones.add(phone);
      return replyOf(phone);
    },
  });

  api.add({
    id: 'importPhone',
    method: 'POST',
    path: '/phones/import',
    tag,
    summary: 'Import a number that the operator already has',
    description:
      'A number of the setting `sip.numbers`, or of the account with Twilio, Telnyx or Plivo. A number that is imported ' +
      'already does not change, and its calls are directed here again after a change of `publicUrl`. A number that no ' +
      'trunk and no account has becomes one of the simulated network; `warnings` says so.',
    body: importSchema,
    answer: importedSchema,
    errors: ['NUMBER_UNAVAILABLE', 'CARRIER_CLOSED'],
    examples: () => ({
      body: { phone: '+442079460000' },
      answer: { ...NEW_EXAMPLE, id: '+442079460000', warnings: [] },
    }),
    handle: async ({ body: { phone: number } }) => {
      const network = await openTelephone();
      const known = phones.get(number);
      if (known !== null) {
        await network.carrier.directNumber?.(number, carrierDeadline());
        return importedReply(known, network);
      }
      await network.carrier.buyNumber(number, carrierDeadline());
      const phone = newPhone(number, network.networkOf(number), unixSeconds(nowUnixMs()));
      await phones.add(phone);
      return importedReply(phone, network);
    },
  });
}

/** Reads, changes and releases numbers. */
function numberRoutes(api: Api, { phones, openTelephone }: PhoneRoutesOptions): void {
  api.add({
    id: 'listPhones',
    method: 'GET',
    path: '/phones',
    tag,
    summary: 'All numbers',
    answer: z.array(phoneSchema),
    examples: () => ({ answer: [EXAMPLE] }),
    handle: () => phones.list().map(replyOf),
  });

  api.add({
    id: 'getPhone',
    method: 'GET',
    path: '/phones/{phone}',
    tag,
    summary: 'A number',
    params,
    answer: phoneSchema,
    errors: ['NOT_FOUND'],
    examples: () => ({ answer: EXAMPLE }),
    handle: ({ params: { phone } }) => replyOf(find(phones, phone)),
  });

  api.add({
    id: 'updatePhone',
    method: 'PUT',
    path: '/phones/{phone}',
    tag,
    summary: 'Change a number',
    params,
    body: changeSchema,
    answer: phoneSchema,
    errors: ['NOT_FOUND'],
    examples: () => ({ body: { status: 'active', tags: ['front desk'] }, answer: EXAMPLE }),
    handle: async ({ params: { phone }, body }) => replyOf(await changed(phones, phone, body)),
  });

  api.add({
    id: 'releasePhone',
    method: 'DELETE',
    path: '/phones/{phone}',
    tag,
    summary: 'Release a number to the carrier',
    params,
    answer: success,
    errors: ['NOT_FOUND', 'CARRIER_CLOSED'],
    handle: async ({ params: { phone } }) => {
      const { number } = find(phones, phone);
      const { carrier } = await openTelephone();
      await carrier.releaseNumber(number, carrierDeadline());
      await phones.remove(number);
      return { success: true };
    },
  });
}

/** The agent of a number, and its configuration override. */
function agentRoutes(api: Api, { engine, agents, phones }: PhoneRoutesOptions): void {
  api.add({
    id: 'setPhoneAgent',
    method: 'POST',
    path: '/phones/{phone}/set_agent',
    tag,
    summary: 'Set the agent that answers a number',
    params,
    body: agentSchema,
    answer: phoneSchema,
    errors: ['NOT_FOUND'],
    examples: () => ({ body: { agent_id: 'the-crooked-fork' }, answer: EXAMPLE }),
    handle: async ({ params: { phone }, body: { agent_id: agentId, agent_version: version } }) => {
      find(phones, phone);
      const agentVersion = version ?? null;
      if (agentId !== null) await agents.forConversation(agentId, { version: agentVersion, caller: null });
      else if (agentVersion !== null) throw faultOf(['body', 'agent_version'], 'Input should be null without an agent');
      return replyOf(await changed(phones, phone, { agentId, agentVersion }));
    },
  });

  api.add({
    id: 'setPhoneAgentConfigOverride',
    method: 'POST',
    path: '/phones/{phone}/agent-config-override',
    tag,
    params,
    summary: "Override the agent's configuration for calls on a number",
    description: "Overrides fields of the agent's configuration. A secret of `***` keeps its stored value.",
    body: overrideSchema,
    answer: phoneSchema,
    errors: ['NOT_FOUND'],
    examples: () => ({
      body: { agent_config_override: { first_message: 'Good evening, this is the reservations line.' } },
      answer: { ...EXAMPLE, agent_config_override: { first_message: 'Good evening, this is the reservations line.' } },
    }),
    handle: async ({ params: { phone }, body: { agent_config_override: given } }) => {
      const { agentId, agentConfigOverride: stored } = find(phones, phone);
      const place = ['body', 'agent_config_override'];
      const override = given && restoreSecrets(given, stored, place);
      if (override !== null) {
        const agent = agentId === null ? null : agents.get(agentId);
        const whole = {
          agent: overriddenAgent(agent?.config ?? {}, override),
          script: agent?.script,
          extensions: agent?.extensions,
        };
        await checkAgent(engine, whole, { config: place });
      }
      return replyOf(await changed(phones, phone, { agentConfigOverride: override }));
    },
  });
}

/** A call on the simulated network, which has no other callers. */
function simulationRoute(api: Api, { phones, openTelephone }: PhoneRoutesOptions): void {
  api.add({
    id: 'simulateCall',
    method: 'POST',
    scope: 'calls',
    path: '/phones/{phone}/simulate_call',
    tag,
    params,
    body: callSchema,
    summary: 'Place a call from a simulated caller to a number',
    answer: z.strictObject({ call_id: z.string() }),
    errors: ['NOT_FOUND'],
    examples: () => ({
      body: { caller: '+12025550151' },
      answer: { call_id: 'ec6eb53e-85e9-410a-8c2f-eaad534a7cf1' },
    }),
    handle: async ({ params: { phone }, body: { caller } }) => {
      const { number } = find(phones, phone);
      const call = (await openTelephone()).callIn(caller, number);
      return { call_id: call.id };
    },
  });
}

function carrierDeadline(): AbortSignal {
  const controller = new AbortController();
  const error = new ParleyError('CARRIER_SILENT', {
    carrier: 'the carrier',
    reason: `nothing for ${String(CARRIER_MS / 1000)} s`,
  });
  setTimeout(() => controller.abort(error), CARRIER_MS).unref();
  return controller.signal;
}

/** A number without an agent. */
function newPhone(number: string, carrier: string, createdAt: number): StoredPhone {
  return {
    number,
    carrier,
    createdAt,
    status: 'active',
    agentId: null,
    agentVersion: null,
    agentConfigOverride: null,
    queue: null,
    tags: [],
    address: null,
  };
}

/** The reply to an import: a mistyped number would otherwise look like one of a trunk. */
function importedReply(phone: StoredPhone, network: Telephone): z.output<typeof importedSchema> {
  const { number } = phone;
  const warnings = network.isSimulated(number)
    ? [
        `No trunk and no carrier account of this daemon has ${number}, so only callers of the simulated network can ` +
          'call it. For real calls add it to sip.numbers or to the account, restart, release it here and import it again.',
      ]
    : [];
  return { ...replyOf(phone), warnings };
}

function find(phones: PhoneStore, number: string): StoredPhone {
  const phone = phones.get(number);
  if (phone === null) throw new ParleyError('NOT_FOUND', { what: 'phone', id: number });
  return phone;
}

async function changed(phones: PhoneStore, number: string, change: PhoneChange): Promise<StoredPhone> {
  const phone = await phones.change(number, change);
  if (phone === null) throw new ParleyError('NOT_FOUND', { what: 'phone', id: number });
  return phone;
}

/** The JSON of the API. */
function replyOf(phone: StoredPhone): z.output<typeof phoneSchema> {
  const { number, createdAt, status, agentId, agentVersion, agentConfigOverride, queue, tags } = phone;
  const reply: z.output<typeof phoneSchema> = {
    id: number,
    create_at: createdAt,
    status,
    agent_id: agentId,
    agent_version: agentVersion,
    agent_config_override: agentConfigOverride && redactAgentConfig(agentConfigOverride),
    tags: [...tags],
  };
  if (queue !== null) reply.queue = queue;
  return reply;
}
