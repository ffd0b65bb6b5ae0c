import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { agentConfigSchema } from '../../config/agent.js';
import { parseWith } from '../../config/issues.js';
import type { Engine } from '../../engine/engine.js';
import { ParleyError } from '../../errors.js';
import type { PhoneStore, StoredPhone } from '../../store/phones.js';
import type { Access } from '../access.js';
import type { AgentRegistry } from '../agents.js';
import type { Telephone } from '../telephone.js';

export interface PhoneRoutesOptions {
  access: Access;
  engine: Engine;
  agents: AgentRegistry;
  phones: PhoneStore;
  telephone: () => Promise<Telephone>;
  nowSeconds: () => number;
}

const text = z.string().max(200);
const purchaseSchema = z.strictObject({
  country: text.nullish(),
  area_code: text.nullish(),
  street: text.nullish(),
  city: text.nullish(),
  state_region: text.nullish(),
  postal_code: text.nullish(),
});
const agentSchema = z.strictObject({ agent_id: z.string().nullable() });
const overrideSchema = z.strictObject({ agent_config_override: agentConfigSchema.nullable() });
const changeSchema = z.strictObject({
  status: z.enum(['active', 'inactive']).exactOptional(),
  tags: z.array(text).max(100).exactOptional(),
});
const callSchema = z.strictObject({ caller: z.string() });

/** A carrier's answer takes no longer. */
const CARRIER_MS = 15_000;

/** The daemon's phone numbers: bought from the carrier, each with the agent that answers it. */
export function phoneRoutes(app: FastifyInstance, options: PhoneRoutesOptions): void {
  const { access, engine, agents, phones, telephone, nowSeconds } = options;
  const guarded = {
    onRequest: (request: FastifyRequest, _reply: unknown, done: () => void) => {
      access.privateKey(request.headers.authorization);
      done();
    },
  };

  app.post('/phones/purchase', {
    ...guarded,
    handler: async (request) => {
      const { country, area_code, ...rest } = parseWith(purchaseSchema, request.body, ['body']);
      const { carrier } = await telephone();
      const where = { country: country ?? 'US', ...(area_code != null && { areaCode: area_code }) };
      const signal = AbortSignal.timeout(CARRIER_MS);
      const [offer] = await carrier.searchNumbers({ ...where, limit: 1 }, signal);
      if (offer === undefined) {
        const place = area_code == null ? where.country : `${where.country}, area ${area_code}`;
        throw new ParleyError('NUMBER_NONE_FOR_SALE', { where: place });
      }
      await carrier.buyNumber(offer.number, signal);
      const address = Object.entries(rest).filter((entry): entry is [string, string] => entry[1] != null);
      const phone: StoredPhone = {
        number: offer.number,
        carrier: carrier.name,
        status: 'active',
        agentId: null,
        agentConfigOverride: null,
        tags: [],
        address: address.length === 0 ? null : Object.fromEntries(address),
        createdAt: nowSeconds(),
      };
      phones.add(phone);
      return reply(phone);
    },
  });

  app.get('/phones', { ...guarded, handler: () => phones.list().map(reply) });

  app.get('/phones/:phone', { ...guarded, handler: (request) => reply(find(phones, request)) });

  app.put('/phones/:phone', {
    ...guarded,
    handler: (request) => {
      const change = parseWith(changeSchema, request.body, ['body']);
      return reply(changed(phones, request, change));
    },
  });

  app.delete('/phones/:phone', {
    ...guarded,
    handler: async (request) => {
      const { number } = find(phones, request);
      const { carrier } = await telephone();
      await carrier.releaseNumber(number, AbortSignal.timeout(CARRIER_MS));
      phones.remove(number);
      return { success: true };
    },
  });

  app.post('/phones/:phone/set_agent', {
    ...guarded,
    handler: (request) => {
      const { agent_id: agentId } = parseWith(agentSchema, request.body, ['body']);
      find(phones, request);
      if (agentId !== null) agents.get(agentId);
      return reply(changed(phones, request, { agentId }));
    },
  });

  app.post('/phones/:phone/agent-config-override', {
    ...guarded,
    handler: async (request) => {
      const { agent_config_override: override } = parseWith(overrideSchema, request.body, ['body']);
      const { agentId } = find(phones, request);
      if (override !== null) {
        const agent = agentId === null ? null : agents.get(agentId);
        await engine.checkAgent({ agent: { ...agent?.config, ...override }, script: agent?.script });
      }
      return reply(changed(phones, request, { agentConfigOverride: override }));
    },
  });

  // The simulated network's own: there is nobody else who could call.
  app.post('/phones/:phone/simulate_call', {
    ...guarded,
    handler: async (request) => {
      const { caller } = parseWith(callSchema, request.body, ['body']);
      const { number } = find(phones, request);
      const call = (await telephone()).callIn(caller, number);
      return { call_id: call.id };
    },
  });
}

function find(phones: PhoneStore, { params }: FastifyRequest): StoredPhone {
  const { phone: number } = params as { phone: string };
  const phone = phones.get(number);
  if (phone === null) throw new ParleyError('NOT_FOUND', { what: 'phone', id: number });
  return phone;
}

function changed(
  phones: PhoneStore,
  request: FastifyRequest,
  change: Parameters<PhoneStore['change']>[1],
): StoredPhone {
  const phone = phones.change(find(phones, request).number, change);
  if (phone === null) throw new ParleyError('NOT_FOUND', { what: 'phone', id: '' });
  return phone;
}

/** As the interface words it. */
function reply(phone: StoredPhone): Record<string, unknown> {
  const { number, createdAt, status, agentId, agentConfigOverride, tags } = phone;
  return {
    id: number,
    create_at: createdAt,
    status,
    agent_id: agentId,
    agent_config_override: agentConfigOverride,
    tags,
  };
}
