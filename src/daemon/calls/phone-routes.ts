import * as z from 'zod';
import { agentConfigSchema } from '../../agent/agent.js';
import { overriddenAgent } from '../../agent/override-agent.js';
import { redactAgentConfig, restoreSecrets } from '../../agent/redact.js';
import type { Engine } from '../../engine/engine.js';
import { ParleyError } from '../../base/errors.js';
import { unixSeconds } from '../../base/real-clock.js';
import type { PhoneStore, StoredPhone } from '../../store/phones.js';
import type { AgentRegistry } from '../agents/agents.js';
import type { Api } from '../http/api.js';
import { success } from '../http/endpoint.js';
import { checkAgent } from '../agents/check-agent.js';
import type { Telephone } from './telephone.js';
import type { Carrier, NumberQuery } from '../../telephony/carriers/carrier.js';

/** So many of the numbers that fit are tried, where others buy them in the meantime. */
const OFFERS = 5;

/**
 * Buys the first number that fits and is still there.
 * @throws ParleyError NUMBER_NONE_FOR_SALE where nothing fits, NUMBER_UNAVAILABLE where all that fitted have gone
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
  .meta({ id: 'PhonePurchase', description: 'Where the number is to be of, and who buys it.' });
const importSchema = z.strictObject({ phone: z.string().max(100).describe('E.164') }).meta({ id: 'PhoneImport' });
const agentSchema = z.strictObject({ agent_id: z.string().nullable().describe('Null: nobody answers.') });
const overrideSchema = z.strictObject({ agent_config_override: agentConfigSchema.nullable() });
const changeSchema = z.strictObject({
  status: z.enum(['active', 'inactive']).exactOptional(),
  tags: z.array(text).max(100).exactOptional(),
});
const callSchema = z.strictObject({ caller: z.string().describe('Who calls, as `parley numbers` lists them.') });
const phoneSchema = z
  .strictObject({
    id: z.string().describe('The number, E.164'),
    create_at: z.int().describe('Unix seconds'),
    status: z.enum(['active', 'inactive']),
    agent_id: z.string().nullable(),
    agent_config_override: agentConfigSchema
      .nullable()
      .describe('As it was given, without members that are not set: [] would take the place of what the agent has.'),
    tags: z.array(z.string()),
  })
  .meta({ id: 'Phone', description: 'A number of ours, and who answers it.' });
const EXAMPLE: z.output<typeof phoneSchema> = {
  id: '+12025550100',
  create_at: 1_795_448_091,
  status: 'active',
  agent_id: 'the-crooked-fork',
  agent_config_override: null,
  tags: ['front desk'],
};
const NEW_EXAMPLE = { ...EXAMPLE, agent_id: null, tags: [] };
const params = { phone: z.string().min(1).max(100) };

/** A carrier's answer takes no longer; one that has to order a number takes half a minute. */
const CARRIER_MS = 50_000;

const tag = 'phones';

/** The daemon's phone numbers: bought from the carrier, each with the agent that answers it. */
export function phoneRoutes(api: Api, options: PhoneRoutesOptions): void {
  acquisitionRoutes(api, options);
  numberRoutes(api, options);
  agentRoutes(api, options);
  simulationRoute(api, options);
}

/** Numbers that are bought from the carrier, or taken into use. */
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
      const where = { country: country ?? 'US', ...(area_code != null && { areaCode: area_code }) };
      const number = await buyNumber(carrier, where, carrierDeadline());
      const address = Object.entries(rest).filter((entry): entry is [string, string] => entry[1] != null);
      const phone: StoredPhone = {
        ...newPhone(number, network.networkOf(number), unixSeconds(nowUnixMs())),
        address: address.length === 0 ? null : Object.fromEntries(address),
      };
      phones.add(phone);
      return replyOf(phone);
    },
  });

  api.add({
    id: 'importPhone',
    method: 'POST',
    path: '/phones/import',
    tag,
    summary: 'Take a number into use that the operator has',
    description:
      'One of the numbers that the setting `sip.numbers` lists, or that the account with Twilio, Telnyx or Plivo has. ' +
      'One that is in use already stays as it is, and its calls come here again where `publicUrl` has changed.',
    body: importSchema,
    answer: phoneSchema,
    errors: ['NUMBER_UNAVAILABLE', 'CARRIER_CLOSED'],
    examples: () => ({ body: { phone: '+442079460000' }, answer: { ...NEW_EXAMPLE, id: '+442079460000' } }),
    handle: async ({ body: { phone: number } }) => {
      const network = await openTelephone();
      const known = phones.get(number);
      if (known !== null) {
        await network.carrier.directNumber?.(number, carrierDeadline());
        return replyOf(known);
      }
      await network.carrier.buyNumber(number, carrierDeadline());
      const phone = newPhone(number, network.networkOf(number), unixSeconds(nowUnixMs()));
      phones.add(phone);
      return replyOf(phone);
    },
  });
}

/** Numbers that are in use: read, changed and given back. */
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
    handle: ({ params: { phone }, body }) => replyOf(changed(phones, phone, body)),
  });

  api.add({
    id: 'releasePhone',
    method: 'DELETE',
    path: '/phones/{phone}',
    tag,
    summary: 'Give a number back to the carrier',
    params,
    answer: success,
    errors: ['NOT_FOUND', 'CARRIER_CLOSED'],
    handle: async ({ params: { phone } }) => {
      const { number } = find(phones, phone);
      const { carrier } = await openTelephone();
      await carrier.releaseNumber(number, carrierDeadline());
      phones.remove(number);
      return { success: true };
    },
  });
}

/** Who answers a number, and what is different for calls on it. */
function agentRoutes(api: Api, { engine, agents, phones }: PhoneRoutesOptions): void {
  api.add({
    id: 'setPhoneAgent',
    method: 'POST',
    path: '/phones/{phone}/set_agent',
    tag,
    summary: 'Who answers a number',
    params,
    body: agentSchema,
    answer: phoneSchema,
    errors: ['NOT_FOUND'],
    examples: () => ({ body: { agent_id: 'the-crooked-fork' }, answer: EXAMPLE }),
    handle: ({ params: { phone }, body: { agent_id: agentId } }) => {
      find(phones, phone);
      if (agentId !== null) agents.get(agentId);
      return replyOf(changed(phones, phone, { agentId }));
    },
  });

  api.add({
    id: 'setPhoneAgentConfigOverride',
    method: 'POST',
    path: '/phones/{phone}/agent-config-override',
    tag,
    params,
    summary: "What is different for an agent's calls on a number",
    description: "Its fields take the place of the agent's, one by one. A secret of `***` stays as it is stored.",
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
      return replyOf(changed(phones, phone, { agentConfigOverride: override }));
    },
  });
}

/** The simulated network's own: there is nobody else who could call. */
function simulationRoute(api: Api, { phones, openTelephone }: PhoneRoutesOptions): void {
  api.add({
    id: 'simulateCall',
    method: 'POST',
    path: '/phones/{phone}/simulate_call',
    tag,
    params,
    body: callSchema,
    summary: 'Have somebody of the simulated network call a number',
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

/** A number that nobody answers yet. */
function newPhone(number: string, carrier: string, createdAt: number): StoredPhone {
  return {
    number,
    carrier,
    createdAt,
    status: 'active',
    agentId: null,
    agentConfigOverride: null,
    tags: [],
    address: null,
  };
}

function find(phones: PhoneStore, number: string): StoredPhone {
  const phone = phones.get(number);
  if (phone === null) throw new ParleyError('NOT_FOUND', { what: 'phone', id: number });
  return phone;
}

function changed(phones: PhoneStore, number: string, change: Parameters<PhoneStore['change']>[1]): StoredPhone {
  const phone = phones.change(number, change);
  if (phone === null) throw new ParleyError('NOT_FOUND', { what: 'phone', id: number });
  return phone;
}

/** The JSON of the interface. */
function replyOf(phone: StoredPhone): z.output<typeof phoneSchema> {
  const { number, createdAt, status, agentId, agentConfigOverride, tags } = phone;
  return {
    id: number,
    create_at: createdAt,
    status,
    agent_id: agentId,
    agent_config_override: agentConfigOverride && redactAgentConfig(agentConfigOverride),
    tags: [...tags],
  };
}
