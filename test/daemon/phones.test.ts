import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../../scripts/daemon-process.mjs';
import { DEFAULT_SETTINGS } from '../../src/settings/settings.js';
import { House, PRIVATE_KEY, PUBLIC_KEY } from './house.js';

let house: House;

beforeEach(async () => {
  house = await House.open();
});

afterEach(async () => {
  await house.close();
  expect(house.faults).toEqual([]);
});

/** A request with the private key; a body is sent as JSON. */
function ask(method: string, path: string, body?: unknown) {
  const headers = { authorization: PRIVATE_KEY, ...(body !== undefined && { 'content-type': 'application/json' }) };
  return house.ask(path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
}

async function bought(where: Record<string, unknown> = { country: 'US', area_code: '415' }): Promise<string> {
  const { status, body } = await ask('POST', '/phones/purchase', where);
  expect(status).toBe(200);
  return (body as { id: string }).id;
}

describe('phone numbers', () => {
  it('are bought, each once, and listed', async () => {
    const { status, body } = await ask('POST', '/phones/purchase', {
      country: 'US',
      area_code: '415',
      street: '1 Main St',
      city: 'San Francisco',
      state_region: 'CA',
      postal_code: '94105',
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      id: '+14155550100',
      create_at: expect.any(Number) as number,
      status: 'active',
      agent_id: null,
      agent_version: null,
      agent_config_override: null,
      tags: [],
    });
    expect(await bought()).toBe('+14155550101');
    expect((await ask('GET', '/phones/+14155550100')).body).toEqual(body);
    expect((await ask('GET', '/phones/%2B14155550100')).body).toEqual(body);
    expect((await ask('GET', '/phones')).body).toHaveLength(2);
    expect(await bought({ country: 'GB' })).toMatch(/^\+44/);
    expect(await bought({})).toMatch(/^\+1/);
  });

  it('that are in use already can be imported again, and stay as they are', async () => {
    const number = await bought();
    await ask('POST', `/phones/${number}/set_agent`, { agent_id: 'baker' });
    const before = (await ask('GET', `/phones/${number}`)).body;
    const { status, body } = await ask('POST', '/phones/import', { phone: number });
    const { warnings, ...after } = body as { warnings: string[] };
    expect([status, after]).toEqual([200, before]);
    expect(warnings).toEqual([expect.stringContaining(`No trunk and no carrier account of this daemon has ${number}`)]);
  });

  it('that no trunk has are imported with a warning, those of a trunk without', async () => {
    await house.close();
    const listen = [`udp:127.0.0.1:${String(await freePort('udp'))}`];
    const sip = { ...DEFAULT_SETTINGS.sip, servers: ['sip:127.0.0.1:9'], listen, numbers: ['+12025550199'] };
    house = await House.open({ sip });
    const warnings = async (phone: string): Promise<unknown> =>
      ((await ask('POST', '/phones/import', { phone })).body as { warnings: unknown }).warnings;
    expect(await warnings('+12025550199')).toEqual([]);
    expect(await warnings('+12025550198')).toEqual([expect.stringContaining('add it to sip.numbers') as string]);
  });

  it('are still there after a restart, and can be given back', async () => {
    const number = await bought();
    await house.daemon.close();
    house = await House.open({ dataDir: house.dataDir });
    expect((await ask('GET', `/phones/${number}`)).status).toBe(200);
    expect(await ask('DELETE', `/phones/${number}`)).toEqual({ status: 200, body: { success: true } });
    expect((await ask('GET', `/phones/${number}`)).status).toBe(404);
    expect(await bought()).toBe(number);
  });

  it('have tags and can be switched off', async () => {
    const number = await bought();
    expect((await ask('PUT', `/phones/${number}`, { tags: ['desk'], status: 'inactive' })).body).toMatchObject({
      id: number,
      tags: ['desk'],
      status: 'inactive',
    });
    expect((await ask('PUT', `/phones/${number}`, { status: 'active' })).body).toMatchObject({ tags: ['desk'] });
  });

  it('are given an agent, with a configuration of its own', async () => {
    const number = await bought();
    const set = (agentId: string | null) => ask('POST', `/phones/${number}/set_agent`, { agent_id: agentId });
    expect((await set('baker')).body).toMatchObject({ agent_id: 'baker' });
    expect((await set('nobody')).status).toBe(404);
    const override = (config: unknown) =>
      ask('POST', `/phones/${number}/agent-config-override`, { agent_config_override: config });
    expect((await override({ first_message: 'Hi.' })).body).toMatchObject({
      agent_config_override: { first_message: 'Hi.' },
    });
    expect((await override({ first_massage: 'Hi.' })).status).toBe(422);
    expect((await override({ vad_threshold: 9 })).status).toBe(422);
    expect((await override(null)).body).toMatchObject({ agent_config_override: null });
    expect((await set(null)).body).toMatchObject({ agent_id: null });
  });

  it.each([
    ['POST', '/phones/purchase', { country: 'US', area_code: '011' }, 409, 'No number is for sale in US, area 011'],
    ['POST', '/phones/purchase', { country: 'ZZ' }, 409, 'No number is for sale in ZZ'],
    ['GET', '/phones/+15550000000', undefined, 404, 'There is no phone'],
    ['DELETE', '/phones/nonsense', undefined, 404, 'There is no phone'],
    ['POST', '/phones/+15550000000/set_agent', { agent_id: 'baker' }, 404, 'There is no phone'],
  ])('%s %s of what is not there is refused', async (method, path, body, status, detail) => {
    const answer = await ask(method, path, body);
    expect([answer.status, (answer.body as { detail: string }).detail]).toEqual([
      status,
      expect.stringContaining(detail),
    ]);
  });

  it.each([
    [{ country: 5 }, ['body', 'country']],
    [{ land: 'US' }, ['body', 'land']],
    [[], ['body']],
  ])('refuses to buy with %j', async (body, loc) => {
    const answer = await ask('POST', '/phones/purchase', body);
    expect([answer.status, (answer.body as { detail: { loc: unknown }[] }).detail[0]?.loc]).toEqual([422, loc]);
  });

  it('need the private key', async () => {
    for (const authorization of [undefined, 'nonsense', PUBLIC_KEY]) {
      const headers = authorization === undefined ? undefined : { authorization };
      const { status } = await house.ask('/phones', headers && { headers });
      expect(status).toBe(authorization === PUBLIC_KEY ? 403 : 401);
    }
  });
});

describe('a call that comes in', () => {
  const SILENT_CALLER = '+12025550153';

  it("is answered by the number's agent, as the number has it", { timeout: 60_000 }, async () => {
    const number = await bought();
    await ask('POST', `/phones/${number}/set_agent`, { agent_id: 'baker' });
    await ask('POST', `/phones/${number}/agent-config-override`, {
      agent_config_override: {
        first_message: 'Hi, I am {Who}.',
        session_timeout: { max_duration: 4, message: 'Bye.' },
      },
    });
    expect((await ask('POST', `/phones/${number}/simulate_call`, { caller: SILENT_CALLER })).status).toBe(200);
    const report = await house.ended;
    expect(report.status).toBe('timeout');
    expect(report.messages.map(({ content }) => content).join(' ')).toBe('Hi, I am {Who}. Bye.');
  });

  it('from nobody on the network, or to no number of ours, is none', async () => {
    const number = await bought();
    expect((await ask('POST', `/phones/${number}/simulate_call`, { caller: '+1' })).status).toBe(404);
    expect((await ask('POST', '/phones/+15550000000/simulate_call', { caller: SILENT_CALLER })).status).toBe(404);
  });
});
