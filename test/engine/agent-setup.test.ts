import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import type { AgentConfig } from '../../src/agent/agent.js';
import { Engine } from '../../src/engine/engine.js';
import type { EngineOptions } from '../../src/engine/options.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { MemoryTransport } from '../../src/transports/memory.js';
import { CalCom } from '../vendors/cal-com.js';

const MCP_SERVER = fileURLToPath(new URL('../tools/mcp/example-server.mjs', import.meta.url));

const engines: Engine[] = [];
const vendors: CalCom[] = [];
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()));
  await Promise.all(vendors.splice(0).map((vendor) => vendor.close()));
});

function makeEngine(options: EngineOptions): Engine {
  const engine = new Engine({ clock: new VirtualClock(), ...options });
  engines.push(engine);
  return engine;
}

/** What the model is offered and, where it makes a call, given; the user types "go". */
async function converse(
  engine: Engine,
  agent: AgentConfig,
  call: { name: string; arguments: string },
  agentId = 'a-1',
): Promise<{ offered: string[]; reported: string[] }> {
  const reported: string[] = [];
  let offered: string[] = [];
  const llm = functionLlm(({ messages, tools }) => {
    offered = tools.map(({ name }) => name);
    const last = messages.at(-1);
    if (last?.role === 'tool') reported.push(last.content);
    return last?.content === 'go' ? { calls: [call] } : 'Fine.';
  });
  const line = new MemoryTransport();
  const session = await engine.createSession({
    agent: { first_message: 'Hello.', ...agent },
    agentId,
    transport: line,
    vad: energyVad(),
    stt: promptedStt({ lines: [] }),
    tts: toneTts(),
    llm,
  });
  const clock = engine.clock as VirtualClock;
  const report = session.run();
  await clock.advanceBy(2000);
  session.sendText('go');
  await clock.advanceBy(4000);
  line.hangUp();
  await report;
  return { offered, reported };
}

describe('app_functions', () => {
  const credentials = { api_key: 'cal_test_1', event_type_id: '77' };

  it("are offered to the model and call the service, in the agent's time zone", async () => {
    const cal = await CalCom.start('cal_test_1', 77);
    vendors.push(cal);
    cal.free.add('2026-11-23T08:00:00.000Z');
    const engine = makeEngine({ appBaseUrls: { 'cal.com': cal.origin } });
    const name = 'get_available_meeting_slots';
    const agent = { timezone: 'Asia/Tokyo', app_functions: [{ name, credentials }] };
    const { offered, reported } = await converse(engine, agent, { name, arguments: '{"start_date":"2026-11-23"}' });
    expect(offered).toEqual([name]);
    expect(reported).toEqual(['{"timezone":"Asia/Tokyo","slots":["2026-11-23T17:00"]}']);
  });

  it('that there are not, or that lack credentials, are refused before any call', async () => {
    const engine = makeEngine({});
    for (const [name, words] of [
      ['order_pizza', /there is no "order_pizza"/],
      ['book_meeting_slot', /needs the credentials contact_method/],
    ] as const) {
      const agent = { app_functions: [{ name, credentials }] };
      await expect(engine.checkAgent({ agent })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringMatching(words) as string,
      });
    }
  });
});

it("tools of the operator's MCP servers are called like any other, by the agents that may", async () => {
  const faults: string[] = [];
  const example = { command: process.execPath, args: [MCP_SERVER, 'stdio'], agents: ['a-1'] };
  const engine = makeEngine({
    mcpServers: { ex: example, gone: { command: '/no/such/program' } },
    onMcpFault: (server: string) => faults.push(server),
  });
  const call = { name: 'ex__add', arguments: '{"a":1,"b":2}' };
  const tools = [{ name: 'ex__fail', description: 'The agent’s own.' }];
  // A busy machine may not have the server up for the first session: that one goes on without.
  await expect
    .poll(async () => (await converse(engine, { tools }, call)).reported, { timeout: 15_000, interval: 100 })
    .toEqual(['3']);
  const { offered } = await converse(engine, { tools }, call);
  expect(offered.filter((name) => name === 'ex__fail')).toHaveLength(1);
  expect((await converse(engine, {}, call, 'a-2')).offered).toEqual([]);
  expect(faults).toContain('gone');
});
