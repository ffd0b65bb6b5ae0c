import { PRIVATE_KEY } from '../house.js';

/** Things that are there, by the names under which requests speak of them; made anew where they are gone. */
export async function seedsOf(address: string): Promise<Record<string, readonly unknown[]>> {
  const ask = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(address + path, {
      method,
      headers: { authorization: PRIVATE_KEY, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return response.ok ? response.json() : null;
  };
  const phones = (await ask('GET', '/phones')) as { id: string }[];
  if (phones.length === 0) await ask('POST', '/phones/purchase', {});
  const numbers = ((await ask('GET', '/phones')) as { id: string }[]).map(({ id }) => id).slice(0, 3);
  const campaign = (await ask('POST', '/campaigns', { name: 'contract' })) as { id: string } | null;
  const agent = (await ask('POST', '/agents', { name: 'contract', config: {} })) as { id: string } | null;
  const suite = (await ask('POST', '/evals/suites', {
    suite: {
      name: 'contract',
      cases: [{ name: 'a', caller: { script: [{ hang_up: true }] }, expect: [{ said: 'b' }] }],
    },
    agent_id: 'baker',
  })) as { id: string } | null;
  const run = suite && ((await ask('POST', '/evals/runs', { suite_id: suite.id })) as { id: string } | null);
  const agents = ['baker', ...(agent === null ? [] : [agent.id])];
  // Nobody answers there, and soon.
  const quick = ['+12025550107', '+12025550109'];
  return {
    agent_id: agents,
    id: agents,
    phone: [...numbers, ...quick],
    from_phone: numbers,
    to_phone: quick,
    campaign_id: campaign === null ? [] : [campaign.id],
    suite_id: suite === null ? [] : [suite.id],
    run_id: run === null ? [] : [run.id],
    case_name: ['a'],
    user: ['somebody'],
    model: ['scripted'],
    provider: ['flite', 'embedded'],
    voice_id: ['slt', 'awb'],
    language: ['en-US'],
    timezone: ['Europe/Berlin'],
  };
}
