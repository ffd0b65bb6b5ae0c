import { afterEach, beforeEach, expect, it } from 'vitest';
import type { AgentExtensions } from '../../../src/agent/extensions/extensions.js';
import { House, PRIVATE_KEY } from '../house.js';

const FLOW: AgentExtensions = {
  flow: {
    steps: [
      {
        id: 'hello',
        title: 'Welcome',
        say: { entry: 'Do you need anything?' },
        transitions: [{ to: 'bye', when: [{ choice: 'They need nothing.', phrases: ['nothing'] }] }],
      },
      { id: 'bye', say: { entry: 'Goodbye.' }, end: { action: 'hang_up' } },
    ],
  },
};

let house: House;
beforeEach(async () => {
  house = await House.open();
});
afterEach(async () => {
  await house.close();
  expect(house.faults).toEqual([]);
});

async function ask(method: string, path: string, body?: unknown): Promise<{ status: number; body: unknown }> {
  const headers: Record<string, string> = { authorization: PRIVATE_KEY };
  if (body !== undefined) headers['content-type'] = 'application/json';
  const sent = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
  return house.ask(path, sent);
}

it('calls count the steps that they pass, and where they end', async () => {
  const agent = await ask('POST', '/agents', {
    name: 'Steps',
    config: { prompt: 'Be brief.', language: 'en-US' },
    extensions: FLOW,
  });
  expect(agent.status).toBe(200);
  const { id } = agent.body as { id: string };
  const chat = async (messages: object[], end: boolean): Promise<void> => {
    const sent = { agent: { agent_id: id }, messages, end_of_session: end };
    const headers = { authorization: PRIVATE_KEY, 'content-type': 'application/json' };
    const answer = await house.request('/chat/completions', { method: 'POST', headers, body: JSON.stringify(sent) });
    expect(await answer.text()).toContain('data: ');
  };
  await chat([], true);
  await chat([{ role: 'user', content: 'I need nothing' }], true);
  const figures = async (): Promise<{ calls: number; steps: object[] }> =>
    (await ask('GET', `/agents/${id}/steps`)).body as { calls: number; steps: object[] };
  await expect.poll(async () => (await figures()).calls, { timeout: 20_000 }).toBe(2);
  expect((await figures()).steps).toMatchObject([
    { step: 'hello', title: 'Welcome', entered: 2, ended: 1, is_end: false, left: [{ to: 'bye', count: 1 }] },
    { step: 'bye', title: null, entered: 1, ended: 1, is_end: true, left: [] },
  ]);
  const logs = (await ask('GET', '/call-logs')).body as { histories: { steps?: object[] }[] };
  expect(logs.histories.map(({ steps }) => steps?.length)).toEqual([2, 1]);
  const wrong = await ask('GET', `/agents/${id}/steps?from=2026-02-01&to=2026-01-01`);
  expect(wrong).toMatchObject({ status: 422, body: { detail: [{ loc: ['query', 'from'] }] } });
  expect((await ask('GET', '/agents/nobody/steps')).status).toBe(404);
});

it('refuses a flow with faults at their place', async () => {
  const [hello] = FLOW.flow?.steps ?? [];
  const sent = { name: 'Steps', config: { prompt: '' }, extensions: { flow: { steps: [hello] } } };
  expect(await ask('POST', '/agents', sent)).toMatchObject({
    status: 422,
    body: {
      detail: [
        { loc: ['body', 'extensions', 'flow', 'steps', 0, 'transitions', 0, 'to'], msg: 'There is no step bye' },
      ],
    },
  });
});
