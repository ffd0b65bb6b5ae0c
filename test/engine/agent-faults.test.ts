import { afterEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import type { AgentConfig } from '../../src/agent/agent.js';
import { faultPlace } from '../../src/engine/agent-faults.js';
import { Engine } from '../../src/engine/engine.js';
import type { AgentRequest, EngineOptions } from '../../src/engine/options.js';
import { InvalidConfigError } from '../../src/schema/issues.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';

const engines: Engine[] = [];
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()));
});

/** The places of an agent's faults, and the texts of those without a place. */
async function faultsOf(
  agent: AgentConfig,
  request: Omit<AgentRequest, 'agent'> = {},
  options: EngineOptions = {},
): Promise<string[]> {
  const engine = new Engine({ clock: new VirtualClock(), ...options });
  engines.push(engine);
  const { faults, warnings } = await engine.reviewAgent({ agent, vad: energyVad(), ...request });
  if (faults.length > 0) expect(warnings).toEqual([]);
  return faults.flatMap((fault) => {
    if (fault instanceof InvalidConfigError) return fault.issues.map(({ loc }) => loc.join('.'));
    return [faultPlace(fault).join('.') || fault.message];
  });
}

const tool = (name: string, params: object[] = []): object => ({ name, description: 'x', params });

describe('the review of an agent', () => {
  it('finds nothing wrong with one that could have sessions', async () => {
    expect(await faultsOf({ first_message: 'Hello.' })).toEqual([]);
  });

  it('finds the faults of all its parts, in the order in which a session would find them', async () => {
    const agent: AgentConfig = {
      llm: { model: 'gpt-4o' },
      voice: { provider: 'flite', voice_id: 'kal', settings: { rate: 9, pitsch: 1, volume: 9 } },
      speech_to_text: { model: 'large', multilingual: true },
      call_settings: { enable_recording: true },
      knowledge_base: { files: ['x'] },
      app_functions: [{ name: 'nobody' }, { name: 'get_available_meeting_slots' }],
    };
    expect(await faultsOf(agent)).toEqual([
      'llm.model',
      'call_settings.enable_recording',
      'voice.settings.rate',
      'voice.settings.pitsch',
      'voice.settings.volume',
      'speech_to_text.multilingual',
      'speech_to_text.model',
      'app_functions.0.name',
      'app_functions.1.credentials',
      'knowledge_base.files',
    ]);
  });

  it('finds what stands behind a script with faults', async () => {
    const [script, ...others] = await faultsOf({ knowledge_base: { files: ['x'] } }, { script: { rules: 7 } });
    expect(script).toMatch(/rules/);
    expect(others).toEqual(['knowledge_base.files']);
  });

  it('goes on where the schema refuses members, and checks the rest', async () => {
    const config = { voise: 1, prompt: 7, language: 'klingon', knowledge_base: { files: ['x'] }, llm: { model: 'm' } };
    expect(await faultsOf(config as unknown as AgentConfig)).toEqual([
      'prompt',
      'language',
      'voise',
      'llm.model',
      'knowledge_base.files',
    ]);
  });

  it('has nothing to go on with where the agent is no object', async () => {
    expect(await faultsOf('x' as unknown as AgentConfig)).toHaveLength(1);
  });

  it('finds every fault of every tool and of every parameter', async () => {
    const tools = [
      tool('a b'),
      tool('book', [{ name: '' }, { name: 'day', type: '7' }, { name: 'x', max: 1 }]),
      tool('book', [{ name: 'y' }, { name: 'y' }, { required: 7 }]),
      { name: 'book', webhook: 5 },
    ];
    expect((await faultsOf({ tools } as AgentConfig)).toSorted()).toEqual([
      'tools.0.name',
      'tools.1.params.0.name',
      'tools.1.params.1.type',
      'tools.1.params.2.max',
      'tools.2.name',
      'tools.2.params.1.name',
      'tools.2.params.2.name',
      'tools.2.params.2.required',
      'tools.3.description',
      'tools.3.name',
      'tools.3.webhook',
    ]);
  });

  it('finds every name that two tools share, or that is reserved', async () => {
    const agent = {
      tools: [tool('book'), tool('end_call')],
      service_functions: [{ ...tool('book'), data: { param: { name: 'x' } }, type: 'webform' }],
    };
    expect(await faultsOf(agent as AgentConfig)).toEqual([
      expect.stringContaining('two tools are called end_call'),
      expect.stringContaining('two tools are called book'),
    ]);
  });

  it('says nothing of a default that the agent did not choose, beside a fault of its own', async () => {
    const defaults = { voiceProvider: 'nobody' };
    expect(await faultsOf({}, {}, { defaults })).toEqual(['voice.provider']);
    expect(await faultsOf({ llm: { model: 'gpt-4o' } }, {}, { defaults })).toEqual(['llm.model']);
  });

  it('in writing, leaves speech aside', async () => {
    const engine = new Engine();
    engines.push(engine);
    const agent: AgentConfig = { language: 'ka', voice: { provider: 'flite', voice_id: 'x' } };
    expect((await engine.reviewAgent({ agent }, 'writing')).faults).toEqual([]);
  });
});
