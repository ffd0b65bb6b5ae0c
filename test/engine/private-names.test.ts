import type * as Dns from 'node:dns';
import type { LookupFunction } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RealClock } from '../../src/base/real-clock.js';
import { delay } from '../../src/base/clock.js';
import type { AgentConfig } from '../../src/agent/agent.js';
import { Engine } from '../../src/engine/engine.js';
import type { EngineOptions } from '../../src/engine/options.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { MemoryTransport } from '../../src/transports/memory.js';
import { event, httpServer, type LocalServer } from '../net/local-server.js';

/** Every public name leads to this machine, as names of an attacker's do. */
const asked: string[] = [];
vi.mock('node:dns', async (original) => {
  const lookup: LookupFunction = (hostname, _options, callback) => {
    asked.push(hostname);
    callback(null, [{ address: '127.0.0.1', family: 4 }]);
  };
  return { ...(await original<typeof Dns>()), lookup };
});

let server: LocalServer;
/** What reached the server that nobody may reach. */
let reached: string[];
const engines: Engine[] = [];
beforeEach(async () => {
  reached = [];
  asked.length = 0;
  server = await httpServer((request, response) => {
    reached.push(request.url ?? '');
    response.end('{"secret":"of the network inside"}');
  });
});
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()));
  await server.close();
});

const REFUSED = /not on the public internet/;
const address = (path: string, protocol = 'http') => `${protocol}://desk.example.com:${String(server.port)}/${path}`;

interface Played {
  report: SessionReport;
  /** Results of tools, as the model was given them. */
  results: string[];
  notes: string[];
  lost: string[];
}

/** A call in real time in which the user types a word, the model calls `tool`, and the user hangs up. */
async function play(agent: AgentConfig, tool = 'none', options: EngineOptions = {}): Promise<Played> {
  const lost: string[] = [];
  const engine = new Engine({ ...options, onWebhookLost: (_id, reason) => lost.push(reason) });
  engines.push(engine);
  const line = new MemoryTransport();
  const [results, notes]: [string[], string[]] = [[], []];
  const answered = event();
  const needsNote = agent.custom_llm_websocket !== undefined || agent.call_settings !== undefined;
  const llm = functionLlm(({ messages }) => {
    const last = messages.at(-1);
    if (last?.role === 'user' && tool !== 'none') return { calls: [{ name: tool, arguments: CALL }] };
    if (last?.role === 'tool') results.push(last.content);
    if (!needsNote) answered.fire();
    return 'Well.';
  });
  const session = await engine.createSession({
    agent: { first_message: 'Hi.', ...agent },
    transport: line,
    vad: energyVad(),
    stt: promptedStt({ lines: [] }),
    tts: toneTts({ charMs: 1, firstMs: 1 }),
    ...(agent.custom_llm_websocket === undefined && { llm }),
    log: (entry) => {
      if (entry.kind !== 'note') return;
      notes.push(JSON.stringify(entry));
      // Notes of usage come first.
      if (needsNote && REFUSED.test(notes.at(-1) ?? '')) answered.fire();
    },
  });
  const running = session.run();
  session.sendText('hello');
  const late = new AbortController();
  const deadline = delay(new RealClock(), 15_000, late.signal).catch(() => undefined);
  await Promise.race([answered.happened, deadline]);
  late.abort();
  line.hangUp();
  const report = await running;
  await engine.close();
  return { report, results, notes, lost };
}

const CALL = JSON.stringify({ start_date: '2026-01-15', end_date: '2026-01-16' });

describe('a public name that leads to a private address is not called', () => {
  afterEach(() => {
    expect(asked).not.toEqual([]);
    expect(reached).toEqual([]);
  });

  it('by tools[].webhook', async () => {
    const tools = [
      {
        name: 'book',
        description: 'Books.',
        params: [{ name: 'start_date' }, { name: 'end_date' }],
        webhook: address('book'),
      },
    ];
    const { results } = await play({ tools }, 'book');
    expect(results).toEqual([expect.stringMatching(REFUSED)]);
  });

  it('by tools[].webhook after the call', async () => {
    const tools = [{ name: 'note', description: 'Notes.', webhook: address('note'), run_after_call: true }];
    const { report } = await play({ tools });
    expect(report.functionCalls).toMatchObject([
      { name: 'note', ok: false, result: expect.stringMatching(REFUSED) as string },
    ]);
  });

  it('by extra_prompt_webhook', async () => {
    const { report, notes } = await play({ extra_prompt_webhook: address('brief') });
    expect(report.faults).toMatchObject({ 'extraPromptWebhook.failed': 1 });
    expect(notes.join()).toMatch(REFUSED);
  });

  it('by session_data_webhook, which is given up at once', async () => {
    const { lost } = await play({ session_data_webhook: address('ended') });
    expect(lost).toEqual([expect.stringMatching(REFUSED)]);
  });

  it('by custom_llm_websocket', async () => {
    const { notes } = await play({ custom_llm_websocket: address('llm', 'ws') });
    expect(notes.join()).toMatch(REFUSED);
  });

  it('by call_settings.background', async () => {
    const { report, notes } = await play({ call_settings: { background: { url: address('hum.wav') } } });
    expect(report.faults).toMatchObject({ 'background.failed': 1 });
    expect(notes.join()).toMatch(REFUSED);
  });

  it('by app functions', async () => {
    const credentials = { api_key: 'k', event_type_id: '1' };
    const app_functions = [{ name: 'get_available_meeting_slots', credentials }];
    const { results } = await play({ app_functions }, 'get_available_meeting_slots');
    expect(results).toEqual([expect.stringMatching(REFUSED)]);
    expect(asked).toEqual(['api.cal.com']);
  });
});
