import { afterEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import type { AgentConfig } from '../../src/agent/agent.js';
import { Engine } from '../../src/engine/engine.js';
import type { EngineOptions, SessionRequest } from '../../src/engine/options.js';
import type { SttProvider } from '../../src/providers/stt/stt.js';
import type { TtsProvider } from '../../src/providers/tts/tts.js';
import type { VadProvider } from '../../src/providers/vad/vad.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { FileTransport } from '../../src/transports/file.js';
import { MemoryTransport } from '../../src/transports/memory.js';

const engines: Engine[] = [];
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()));
});

function makeEngine(options: EngineOptions = {}): Engine {
  const engine = new Engine({ clock: new VirtualClock(), ...options });
  engines.push(engine);
  return engine;
}

/** What the model was asked, request by request. */
interface Spoken {
  report: SessionReport;
  prompts: string[];
  asked: string[][];
  temperatures: number[];
}

/** A session in which the user types something; it ends 8 s later. */
async function spoken(
  engine: Engine,
  agent: AgentConfig,
  { text = 'Hello you', ...more }: Partial<SessionRequest> & { text?: string } = {},
): Promise<Spoken> {
  const line = new MemoryTransport();
  const [prompts, asked, temperatures]: [string[], string[][], number[]] = [[], [], []];
  const llm = functionLlm(({ messages, temperature }) => {
    prompts.push(messages[0]?.role === 'system' ? messages[0].content : '');
    asked.push(messages.flatMap(({ role, content }) => (role === 'system' ? [] : [content])));
    temperatures.push(temperature);
    return 'Very well.';
  });
  const session = await engine.createSession({
    agent: { first_message: 'Hello.', ...agent },
    transport: line,
    llm,
    vad: energyVad(),
    stt: promptedStt({ lines: [] }),
    tts: toneTts({ charMs: 10 }),
    ...more,
  });
  const clock = engine.clock as VirtualClock;
  clock.schedule(clock.nowMs() + 2000, () => session.sendText(text));
  clock.schedule(clock.nowMs() + 8000, () => line.hangUp());
  let report: SessionReport | undefined;
  void session.run().then((done) => (report = done));
  await clock.runUntil(() => report !== undefined, 600_000);
  if (report === undefined) throw new Error('the session did not end');
  return { report, prompts, asked, temperatures };
}

describe('do_not_call_detection', () => {
  const phones = { from: '+12025550199', to: '+1 (202) 555-0101' };
  const agent: AgentConfig = { privacy_settings: { opt_out_data_collection: false, do_not_call_detection: true } };

  it('puts the number of whom the agent calls, or who calls it, on the list', async () => {
    const engine = makeEngine();
    const { report } = await spoken(engine, agent, { text: 'Stop calling me.', phones, direction: 'outbound' });
    expect(report).toMatchObject({ doNotCall: true, status: 'agent-ended' });
    await spoken(engine, agent, { text: 'Take me off your list.', phones, direction: 'inbound', id: 'in' });
    expect(await engine.doNotCall.list()).toMatchObject([
      { number: '+12025550101', source: 'rule' },
      { number: '+12025550199', source: 'rule', sessionId: 'in' },
    ]);
    expect(await engine.doNotCall.has('+1-202-555-0101')).toBe(true);
  });

  it('does nothing where it is off', async () => {
    const engine = makeEngine();
    const { report } = await spoken(engine, {}, { text: 'Stop calling me.', phones, direction: 'outbound' });
    expect(report.doNotCall).toBe(false);
    expect(await engine.doNotCall.list()).toEqual([]);
  });
});

describe('opt_out_data_collection', () => {
  it('empties the report, and nothing is kept for a later session', async () => {
    const engine = makeEngine();
    const agent: AgentConfig = { privacy_settings: { opt_out_data_collection: true } };
    const { report } = await spoken(engine, agent, { id: 'first', text: 'I am Marigold' });
    expect(report.messages).toEqual([]);
    const next = spoken(engine, {}, { continuation: { session_id: 'first' } });
    await expect(next).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('session_continuation', () => {
  it('gives the model the messages of the request first, each result behind its call', async () => {
    const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } };
    const { asked } = await spoken(
      makeEngine(),
      {},
      {
        continuation: {
          messages: [
            { role: 'tool', content: 'orphan', tool_call_id: 'c0' },
            { role: 'user', content: 'I am Ann.' },
            { role: 'assistant', content: '', tool_calls: [call, { ...call, id: 'c2' }] },
            { role: 'tool', content: 'found her', tool_call_id: 'c1' },
          ],
        },
      },
    );
    expect(asked[0]).toEqual(['I am Ann.', '', 'found her', 'Hello.', 'Hello you']);
  });

  it('goes on from a session by its id, and from the user’s latest by an identifier', async () => {
    const engine = makeEngine();
    const who = (customer: string) => ({ metadata: { customer }, agentId: 'desk' });
    await spoken(engine, {}, { ...who('7'), id: 'one', text: 'My first words' });
    await spoken(engine, {}, { ...who('7'), id: 'two', text: 'My second words' });
    await spoken(engine, {}, { ...who('8'), id: 'three', text: 'Of somebody else' });
    const byId = await spoken(engine, {}, { ...who('7'), continuation: { session_id: 'one' } });
    expect(byId.asked[0]).toEqual(['Hello.', 'My first words', 'Very well.', 'Hello.', 'Hello you']);
    const latest = { continuation: { identifier_variable: 'customer' } };
    const known = await spoken(engine, {}, { ...who('8'), ...latest });
    expect(known.asked[0]).toContain('Of somebody else');
    expect((await spoken(engine, {}, { ...who('9'), ...latest })).asked[0]).toEqual(['Hello.', 'Hello you']);
    const otherAgent = { ...who('7'), agentId: 'other', continuation: { session_id: 'one' } };
    await expect(spoken(engine, {}, otherAgent)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  const ASKED = { role: 'user', content: 'I am Ann.' } as const;
  const resumed = (...messages: { role: 'user' | 'assistant'; content: string }[]) =>
    spoken(makeEngine(), {}, { continuation: { messages, resume: true } });

  it('that resumes the same call does not greet: the user goes on', async () => {
    const { asked } = await resumed(ASKED, { role: 'assistant', content: 'Good day, Ann.' });
    expect(asked[0]).toEqual(['I am Ann.', 'Good day, Ann.', 'Hello you']);
  });

  it('that resumes the same call answers a user who was waiting', async () => {
    const { asked, report } = await resumed(ASKED);
    expect(asked[0]).toEqual(['I am Ann.']);
    expect(report.messages[0]).toMatchObject({ role: 'assistant', content: 'Very well.' });
  });

  it('that resumes the same call says that the agent is there if it was cut off', async () => {
    const { report } = await resumed(ASKED, { role: 'assistant', content: 'Good day, Ann, how' });
    expect(report.messages[0]?.content).toMatch(/^I am still here/);
  });

  it('resumes nothing where nothing was said', async () => {
    await expect(resumed()).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('is checked', async () => {
    const continuation = { messages: [{ role: 'system', content: 'Obey.' }] } as never;
    await expect(spoken(makeEngine(), {}, { continuation })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });
});

describe('what an agent’s configuration says', () => {
  const startUnixMs = Date.UTC(2026, 0, 15, 23, 30);

  it('of its timezone is the local date and time in the prompt', async () => {
    const { prompts } = await spoken(makeEngine(), { timezone: 'Asia/Tokyo' }, { startUnixMs });
    expect(prompts[0]).toContain('Friday, 16 January 2026 at 08:30 (Asia/Tokyo)');
    await expect(spoken(makeEngine(), { timezone: 'Mars/Base' })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it('of include_metadata_in_prompt puts the metadata there, or not', async () => {
    const metadata = { customer: 'Marigold' };
    const without = await spoken(makeEngine(), {}, { metadata });
    expect(without.prompts[0]).not.toContain('Marigold');
    const included = await spoken(makeEngine(), {}, { metadata, includeMetadataInPrompt: true });
    expect(included.prompts[0]).toContain('Marigold');
  });

  it('of llm.temperature and history_settings reaches the model', async () => {
    const llm = { model: 'scripted', temperature: 0.7, history_settings: { history_message_limit: 1 } };
    const { temperatures, asked } = await spoken(makeEngine(), { llm });
    expect(temperatures).toEqual([0.7]);
    expect(asked).toEqual([['Hello you']]);
  });

  it('of vad_threshold decides what counts as speech', async () => {
    /** Half sure, all the time. */
    const vad: VadProvider = {
      ...energyVad(),
      createDetector: () => {
        let position = 0;
        return {
          windowSamples: 320,
          reset: () => undefined,
          close: () => undefined,
          process: (samples, onWindow) => {
            position += samples.length;
            onWindow(0.6, position);
          },
        };
      },
    };
    const begun = async (vad_threshold: number): Promise<number> => {
      const engine = makeEngine();
      const events: string[] = [];
      const transport = new FileTransport({
        samples: new Int16Array(32_000),
        sampleRateHz: 16_000,
        ticker: engine.ticker,
        hangUpAfterMs: 500,
      });
      const session = await engine.createSession({
        agent: { first_message: 'Hello.', vad_threshold },
        transport,
        vad,
        stt: promptedStt({ lines: [] }),
        tts: toneTts(),
        llm: functionLlm(() => 'Well.'),
        log: (entry) => entry.kind === 'event' && events.push(entry.event.type),
      });
      let over = false;
      void session.run().then(() => (over = true));
      await (engine.clock as VirtualClock).runUntil(() => over, 60_000);
      return events.filter((type) => type === 'speech.started').length;
    };
    expect(await begun(0.5)).toBe(1);
    expect(await begun(0.7)).toBe(0);
  });

  it('of voice reaches the one that speaks', async () => {
    const inner = toneTts({ charMs: 10 });
    const asked: unknown[] = [];
    const tts: TtsProvider = {
      ...inner,
      synthesize: (request) => {
        const { voiceId, model, settings, language } = request;
        asked.push({ voiceId, model, settings, language });
        return inner.synthesize(request);
      },
    };
    const voice = { voice_id: 'marlene', model: 'turbo', settings: { rate: 1.2 } };
    await spoken(makeEngine(), { voice, language: 'de' }, { tts });
    expect(asked[0]).toEqual({ voiceId: 'marlene', model: 'turbo', settings: { rate: 1.2 }, language: 'de' });
  });

  it('of status disabled refuses every session', async () => {
    await expect(spoken(makeEngine(), { status: 'disabled' })).rejects.toMatchObject({ code: 'AGENT_DISABLED' });
  });
});

describe('speech_to_text', () => {
  const stt = (abilities: SttProvider['abilities'], opened: unknown[] = []): SttProvider => {
    const inner = promptedStt({ lines: [] });
    return {
      ...inner,
      ...(abilities && { abilities }),
      open: ({ model, multilingual, language, ...rest }, events) => {
        opened.push({ model, multilingual, language });
        return inner.open({ language, ...rest }, events);
      },
    };
  };

  it.each<[AgentConfig, string]>([
    [{ speech_to_text: { multilingual: true } }, 'speech_to_text.multilingual'],
    [{ speech_to_text: { model: 'nova-9' } }, 'speech_to_text.model'],
  ])('%j is refused by name where the recogniser cannot', async (agent, field) => {
    const words = expect.stringMatching(new RegExp(`${field}.*"prompted"`)) as string;
    const work = spoken(makeEngine(), agent, { stt: stt(undefined) });
    await expect(work).rejects.toMatchObject({ code: 'CONFIG_INVALID', message: words });
  });

  it('model and multilingual reach a recogniser that can', async () => {
    const opened: unknown[] = [];
    const able = stt({ multilingual: true, models: true }, opened);
    await spoken(makeEngine(), { speech_to_text: { model: 'nova-9', multilingual: true } }, { stt: able });
    expect(opened).toEqual([{ model: 'nova-9', multilingual: true, language: 'en-US' }]);
  });

  it('gets the words of custom_vocabulary, with their weights', async () => {
    const inner = promptedStt({ lines: [] });
    const heard: [string, number][] = [];
    const listening: SttProvider = {
      ...inner,
      open: (options, events) => {
        heard.push(...options.hints.keywords);
        return inner.open(options, events);
      },
    };
    await spoken(makeEngine(), { custom_vocabulary: { keywords: { Kowalski: 5, for: -20 } } }, { stt: listening });
    expect(heard).toEqual([
      ['Kowalski', 5],
      ['for', -20],
    ]);
  });

  it('a language that the recogniser does not understand is refused before the call', async () => {
    const english = stt({ understands: (language) => language.startsWith('en') });
    const work = spoken(makeEngine(), { language: 'fr' }, { stt: english });
    const words = expect.stringContaining('does not support the language "fr". Supported: en;') as string;
    await expect(work).rejects.toMatchObject({ code: 'STT_LANGUAGE_UNSUPPORTED', message: words });
  });

  it('multi begins in a language that the recogniser understands, and follows what is typed', async () => {
    const opened: unknown[] = [];
    const two = stt({ understands: (language) => /^(en|fr)/.test(language) }, opened);
    const text = 'bonjour je voudrais réserver une table';
    const { report } = await spoken(makeEngine(), { language: 'multi' }, { stt: two, text });
    expect(opened).toMatchObject([{ language: 'en-US' }, { language: 'fr' }]);
    expect(report.faults).toEqual({});
  });
});

describe('switch_language', () => {
  it('is offered with the language that the agent begins in, and multi is none', async () => {
    let offered: unknown;
    const llm = functionLlm(({ tools }) => {
      offered = tools.find(({ name }) => name === 'switch_language')?.parameters;
      return 'Well.';
    });
    await spoken(
      makeEngine(),
      { language: 'en-GB', switch_language: { languages: ['fr', 'multi', 'en-GB'] } },
      { llm },
    );
    expect(offered).toMatchObject({ properties: { language: { enum: ['en-GB', 'fr'] } } });
  });

  it('to a language that no recogniser here understands is refused in words', async () => {
    const answers: string[] = [];
    const llm = functionLlm(({ messages }) => {
      const last = messages.at(-1);
      if (last?.role !== 'tool') return { calls: [{ name: 'switch_language', arguments: '{"language":"sw"}' }] };
      answers.push(last.content);
      return 'Sorry.';
    });
    const english: SttProvider = {
      ...promptedStt({ lines: [] }),
      abilities: { understands: (language) => language.startsWith('en') },
    };
    const agent: AgentConfig = { switch_language: { languages: ['sw'] } };
    const { report } = await spoken(makeEngine(), agent, { llm, stt: english });
    expect(answers).toEqual([expect.stringContaining('no speech recognition here understands "sw"')]);
    expect(report.status).toBe('user-ended');
  });
});
