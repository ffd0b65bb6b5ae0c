import { afterEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import type { ModelRoutes } from '../../src/settings/models.js';
import { Engine } from '../../src/engine/engine.js';
import { modelWarnings, scriptWarnings, warningText } from '../../src/engine/warnings.js';
import type { AgentConfig } from '../../src/agent/agent.js';
import { scriptToolUses } from '../../src/providers/llm/scripted/index.js';
import { endReason } from '../../src/session/record/end-reason.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { MemoryTransport } from '../../src/transports/memory.js';

function warningsOf(...about: Parameters<typeof modelWarnings>): string[] {
  return modelWarnings(...about).map(({ msg }) => msg);
}

const engines: Engine[] = [];

afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()));
});

const FAR: ModelRoutes = new Map([
  ['far', { provider: 'openai', baseUrl: 'http://127.0.0.1:9/v1', apiKey: null, model: 'far' }],
]);
const SCRIPT = { rules: [{ when: 'cake', say: 'We have cake.' }] };

describe('the warnings of an agent', () => {
  it('name the keys, Ollama and the script where it has neither a model nor a script', () => {
    const [warning = '', ...others] = warningsOf({ config: { prompt: 'You sell cake.' } }, {});
    expect(others).toEqual([]);
    expect(warning).toContain('no language model and no script');
    for (const way of ['OPENAI_API_KEY', 'ANTHROPIC_API_KEY', 'Ollama', 'a script']) expect(warning).toContain(way);
    expect(warningsOf({ config: { llm: { model: 'scripted' } } }, { models: FAR })).toEqual([
      expect.stringContaining('PARLEY_LLM_MODEL to one of: far'),
    ]);
  });

  it('name the key of a model that cannot be reached', () => {
    const warn = (model: 'gpt-4o' | 'llama-3-70b'): string[] => warningsOf({ config: { llm: { model } } }, {});
    expect(warn('gpt-4o')).toEqual(['The language model "gpt-4o" cannot be used here: set OPENAI_API_KEY.']);
    expect(warn('llama-3-70b')[0]).toContain('ollama pull llama-3-70b');
  });

  it('are none with a script, with a model, and with a socket of its own', () => {
    expect(warningsOf({ config: {}, script: SCRIPT }, {})).toEqual([]);
    expect(warningsOf({ config: {} }, { models: FAR, defaults: { llmModel: 'far' } })).toEqual([]);
    expect(warningsOf({ config: { custom_llm_websocket: 'wss://example.com/llm' } }, {})).toEqual([]);
  });
});

describe('a script that needs an action which is off', () => {
  const script = {
    rules: [
      { when: 'cake', say: 'We have cake.' },
      { when: 'bye', say: 'Goodbye!', end: true },
    ],
    states: { done: { otherwise: { call: { tool: 'transfer_call', ok: { say: 'ok' }, failed: { end: true } } } } },
    forms: {
      order: { slots: [], done: { call: { tool: 'place_order', ok: { end: true }, failed: { say: 'Sorry.' } } } },
    },
  };
  const textsOf = (agent: { config: AgentConfig; script?: unknown }): string[] =>
    scriptWarnings(agent.config, scriptToolUses(agent.script)).map(warningText);

  it('has a warning for each place', () => {
    const { forms: _, ...without } = script;
    expect(textsOf({ config: {}, script: without })).toEqual([
      'script.rules[1].end needs flow.agent_terminate_call.enabled: without it the agent does not hang up.',
      'script.states.done.otherwise.call.tool needs flow.call_transfer.phone: without it the call of the tool fails.',
      expect.stringContaining('script.states.done.otherwise.call.failed.end needs flow.agent_terminate_call.enabled'),
    ]);
  });

  it('has none where the agent has them, where it has faults, and without a script', () => {
    const flow = { agent_terminate_call: { enabled: true }, call_transfer: { phones: [{ phone: '+12025550101' }] } };
    const { forms: _, ...without } = script;
    expect(textsOf({ config: { flow }, script: without })).toEqual([]);
    expect(textsOf({ config: {}, script })).toEqual([]);
    expect(textsOf({ config: {} })).toEqual([]);
  });

  it('is a fault of its sessions', async () => {
    const clock = new VirtualClock();
    const engine = new Engine({ clock });
    engines.push(engine);
    const [, ending] = script.rules;
    const session = await engine.createSession({
      agent: { session_timeout: { max_duration: 5 } },
      script: { rules: [ending] },
      transport: new MemoryTransport(),
      vad: energyVad(),
      stt: promptedStt({ lines: [] }),
      tts: toneTts(),
    });
    let over = false;
    const running = session.run().finally(() => (over = true));
    await clock.runUntil(() => over, 60_000);
    expect((await running).faultReasons).toEqual({
      'script.action_off':
        'script.rules[0].end needs flow.agent_terminate_call.enabled: without it the agent does not hang up.',
    });
  });
});

describe('an agent without a language model and a script', () => {
  it('says so, and its report says what to do', async () => {
    const clock = new VirtualClock();
    const engine = new Engine({ clock });
    engines.push(engine);
    const said: string[] = [];
    const session = await engine.createSession({
      agent: { prompt: 'You sell cake.', session_timeout: { max_duration: 20 } },
      transport: new MemoryTransport(),
      vad: energyVad(),
      stt: promptedStt({ lines: [] }),
      tts: toneTts(),
      observe: (event) => {
        if (event.type === 'agent') said.push(event.text);
        if (event.type === 'agent' && said.length === 1) session.sendText('do you have cake');
      },
    });
    let over = false;
    const running = session.run().finally(() => (over = true));
    await clock.runUntil(() => over, 60_000);
    const report = await running;
    expect(said[0]).toMatch(/no language model and no script/);
    expect(said[1]).toMatch(/no language model/);
    expect(said.join(' ')).not.toMatch(/technical problem/);
    expect(report.faults).toEqual({ 'llm.missing': 1 });
    expect(endReason(report, null)).toContain('OPENAI_API_KEY');
  });

  it('says so in writing', async () => {
    const engine = new Engine();
    engines.push(engine);
    let text = '';
    const { signal } = new AbortController();
    const messages = [{ role: 'user', content: 'do you have cake' }] as const;
    for await (const piece of engine.chat({ agent: { prompt: 'You sell cake.' }, messages, signal })) {
      if (piece.type === 'text') text += piece.text;
    }
    expect(text).toMatch(/no language model/);
  });
});
