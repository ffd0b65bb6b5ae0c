import { afterEach, describe, expect, it } from 'vitest';
import { loadAgentFile } from '../../src/agent/agent-file.js';
import { assertPasses, evalMatchers, evaluate } from '../../src/eval/evaluate.js';
import type { EvalCase } from '../../src/eval/suite/suite-schema.js';
import { CustomLlmServer } from '../vendors/custom-llm.js';
import { OpenAiSpeechDouble } from '../vendors/tts/openai.js';
import { KEY } from '../vendors/tts/speech-double.js';

declare module 'vitest' {
  interface Matchers<T> {
    toPassEval: () => T;
  }
}

expect.extend(evalMatchers);

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0)) await cleanUp();
});

const HOURS: EvalCase = {
  name: 'hours',
  caller: { script: [{ say: 'When are you open?' }] },
  expect: [{ said: 'eleven' }],
};

describe('evaluate', () => {
  it('passes a case, or fails with the transcript in the error', async () => {
    const agent = { ...(await loadAgentFile('examples/restaurant/agent.json')), name: 'fork' };
    const good = await evaluate(agent, HOURS);
    assertPasses(good);
    expect(good).toPassEval();
    const bad = await evaluate(agent, { ...HOURS, expect: [{ said: 'midnight' }] }, { runs: 2, concurrency: 2 });
    expect([bad.passes, bad.runs.length]).toEqual([0, 2]);
    expect(() => assertPasses(bad)).toThrow(/caller {2}When are you open\?[^]*the agent never says "midnight"/);
    expect(() => expect(bad).toPassEval()).toThrow('the agent never says "midnight"');
    expect(bad).not.toPassEval();
  });

  it('refuses a case that is not valid, and is broken off by its signal', async () => {
    const agent = { ...(await loadAgentFile('examples/restaurant/agent.json')), name: 'fork' };
    await expect(evaluate(agent, { ...HOURS, expect: [] })).rejects.toThrow('cases[0].expect');
    const reason = new Error('enough');
    await expect(evaluate(agent, HOURS, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });

  const SILENT = { name: 'silent', config: { first_message: 'One moment.', llm: { model: 'scripted' } } };

  it('ends the call of a persona to whom the agent says nothing more', async () => {
    const persona = { goal: 'order bread' };
    const [run] = (await evaluate(SILENT, { name: 'bread', caller: { persona }, expect: [{ ends: { by: 'caller' } }] }))
      .runs;
    expect(run?.expectations.map(({ outcome }) => outcome)).toEqual(['pass']);
    expect(run?.metrics.durationMs).toBeLessThan(60_000);
  });

  it('says what went on in a call that had to be ended', async () => {
    const silent = { name: 'silence', caller: { persona: { goal: 'say nothing', silent: true } }, expect: [] };
    const result = await evaluate(SILENT, { ...silent, max_duration_s: 60, expect: [{ said: 'moment' }] });
    expect(() => assertPasses(result)).toThrow(/ended after 60.0 s: nobody said anything after \d/);
  });

  it('holds calls with an agent on its own server in real time', async () => {
    const server = await CustomLlmServer.open({
      onStart: (say) => say.response('Hello from my server.', { end_of_stream: true }),
      onRequest: (say, { transcript }) =>
        say.response(`You said ${transcript.at(-1)?.content ?? ''}.`, { end_of_stream: true }),
    });
    cleanUps.push(() => server.close());
    const agent = { name: 'own', config: { custom_llm_websocket: server.url } };
    const one: EvalCase = {
      name: 'echo',
      caller: { script: [{ say: 'one' }, { hang_up: true }, { listen: true }] },
      expect: [{ said: 'Hello from my server' }, { ends: { by: 'caller' } }],
    };
    assertPasses(await evaluate(agent, one, { engine: { allowUrls: [server.url] } }));
  });

  it('holds spoken calls with the voice of a vendor in real time', async () => {
    const double = await new OpenAiSpeechDouble().open();
    cleanUps.push(() => double.close());
    const fork = await loadAgentFile('examples/restaurant/agent.json');
    const agent = { ...fork, config: { ...fork.config, voice: { provider: 'openai', voice_id: 'alloy' } } };
    const one: EvalCase = {
      name: 'greeting',
      caller: { script: [{ wait_for: 'Olive' }, { hang_up: true }] },
      expect: [{ said: 'The Crooked Fork' }, { ends: { by: 'caller' } }, { faults: { max: 0 } }],
    };
    const vendors = { openai: { apiKey: KEY, baseUrl: double.url } };
    assertPasses(await evaluate(agent, one, { mode: 'voice', engine: { vendors, allowUrls: [double.url] } }));
    expect(double.spoken.join(' ')).toContain('The Crooked Fork');
    expect(double.violations).toEqual([]);
  });

  it('says why a call cannot be held', async () => {
    const agent = { name: 'broken', config: { llm: { model: 'no-such-model' } } };
    const result = await evaluate(agent, HOURS);
    expect(result.passed).toBe(false);
    expect(result.runs[0]?.error).toContain('llm.model');
    expect(() => assertPasses(result)).toThrow('llm.model');
  });
});
