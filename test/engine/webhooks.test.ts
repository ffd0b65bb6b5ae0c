import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { type AgentConfig, agentConfigSchema } from '../../src/agent/agent.js';
import { wholeAgentConfig } from '../../src/agent/whole-agent.js';
import { Engine } from '../../src/engine/engine.js';
import type { EngineOptions, SessionRequest } from '../../src/engine/options.js';
import type { CallHistoryItem } from '../../src/session/record/call-history.js';
import type { LogEntry } from '../../src/session/record/event-log.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { MemoryTransport } from '../../src/transports/memory.js';
import { httpServer, type LocalServer } from '../net/local-server.js';

const SECRET = `whsec_${Buffer.from('a key of twenty-four byte').toString('base64')}`;

let server: LocalServer;
let engines: Engine[];
let seen: { method: string | undefined; url: URL; headers: Record<string, string>; body: string }[];
let brief: { status: number; body: string };
beforeEach(async () => {
  engines = [];
  seen = [];
  brief = { status: 200, body: '{"metadata":{"Name":"Ann","tier":"gold"},"extra_prompt":"Ann likes {Name}."}' };
  server = await httpServer((request, response, body) => {
    const url = new URL(request.url ?? '', server.origin);
    seen.push({ method: request.method, url, headers: request.headers as Record<string, string>, body });
    if (url.pathname === '/brief') response.writeHead(brief.status).end(brief.body);
    else response.end('{"reference":"R1"}');
  });
});
afterEach(async () => {
  await Promise.all(engines.map((engine) => engine.close()));
  await server.close();
});

interface Played {
  report: SessionReport;
  log: LogEntry[];
  prompt: string;
  /** What the webhook was sent. */
  item: CallHistoryItem | null;
}

/** A session in which the user types "book", and hangs up. */
async function play(
  agent: AgentConfig,
  request: Partial<SessionRequest> = {},
  options: EngineOptions = {},
): Promise<Played> {
  const clock = new VirtualClock();
  const engine = new Engine({ clock, allowUrls: [server.origin], webhookSecret: SECRET, ...options });
  engines.push(engine);
  const line = new MemoryTransport();
  const log: LogEntry[] = [];
  const llm = functionLlm(({ messages }) =>
    messages.at(-1)?.content === 'book' ? { calls: [{ name: 'book', arguments: '{"day":"Monday"}' }] } : 'Done.',
  );
  const session = await engine.createSession({
    agent: { first_message: 'Hello {Name}.', ...agent },
    transport: line,
    vad: energyVad(),
    stt: promptedStt({ lines: [] }),
    tts: toneTts(),
    llm,
    log: (entry) => log.push(entry),
    ...request,
  });
  let ended: SessionReport | undefined;
  void session.run().then((report) => (ended = report));
  await clock.advanceBy(2000);
  session.sendText('book');
  await clock.advanceBy(4000);
  line.hangUp();
  await clock.runUntil(() => ended !== undefined, 600_000);
  const report = ended;
  if (report === undefined) throw new Error('the session did not end');
  await engine.close();
  const start = log[0];
  const sent = seen.find(({ url }) => url.pathname === '/ended');
  return {
    report,
    log,
    prompt: start?.kind === 'start' ? start.config.systemPrompt : '',
    item: sent === undefined ? null : (JSON.parse(sent.body) as CallHistoryItem),
  };
}

describe('extra_prompt_webhook', () => {
  const hook = (): string => `${server.origin}/brief`;

  it("adds to the prompt and to the metadata, over the session's own", async () => {
    const { prompt, report } = await play(
      {
        prompt: 'Be kind to {Name}.',
        extra_prompt_webhook: { url: `${hook()}?n={Name}`, headers: { 'X-Key': '{Name}' } },
      },
      { metadata: { Name: 'nobody' }, agentId: 'a-1', id: 's-1', includeMetadataInPrompt: true },
    );
    expect(prompt).toMatch(/^Be kind to Ann\.\n\nAnn likes \{Name\}\.\n\n/);
    expect(prompt).toContain('{"Name":"Ann","tier":"gold"}');
    expect(report.messages[0]?.content).toBe('Hello Ann.');
    expect(seen).toMatchObject([{ method: 'GET', headers: { 'x-key': 'nobody' } }]);
    expect(Object.fromEntries(seen[0]?.url.searchParams ?? [])).toEqual({
      n: 'nobody',
      Name: 'nobody',
      session_id: 's-1',
      agent_id: 'a-1',
    });
  });

  it('that fails is a fault that the call goes on without', async () => {
    brief = { status: 500, body: '' };
    const { prompt, report, log } = await play({ prompt: 'Be kind.', extra_prompt_webhook: hook() });
    expect(report.faults).toMatchObject({ 'extraPromptWebhook.failed': 1 });
    expect(prompt).toMatch(/^Be kind\.\n\nIt is now/);
    expect(log.slice(0, 2).map(({ kind }) => kind)).toEqual(['start', 'note']);
  });

  it('is not asked for an agent that cannot have a session', async () => {
    await expect(play({ extra_prompt_webhook: hook(), status: 'disabled' })).rejects.toMatchObject({
      code: 'AGENT_DISABLED',
    });
    expect(seen).toEqual([]);
  });
});

describe('session_data_webhook', () => {
  const agent = (): AgentConfig => ({
    session_data_webhook: { url: `${server.origin}/ended`, headers: { authorization: 'Bearer {Name}' } },
    tools: [
      { name: 'book', description: 'Books.', params: [{ name: 'day' }], webhook: `${server.origin}/book` },
      { name: 'note', description: 'Notes.', run_after_call: true },
    ],
  });

  it('is sent the call when it has ended, signed', async () => {
    const metadata = { Name: 'Ann' };
    const startUnixMs = 1_700_000_000_250;
    const { item, report } = await play(agent(), { metadata, id: 's-1', agentId: 'a-1', startUnixMs });
    const sent = seen.find(({ url }) => url.pathname === '/ended');
    expect(new Webhook(SECRET).verify(sent?.body ?? '', sent?.headers ?? {})).toEqual(item);
    expect(sent).toMatchObject({ method: 'POST', headers: { authorization: 'Bearer Ann' } });
    expect(item).toMatchObject({
      session_id: 's-1',
      agent_id: 'a-1',
      call_id: null,
      campaign_id: null,
      ts: 1_700_000_000.25,
      call_status: 'user-ended',
      error_message: null,
      metadata,
      voip: null,
      recording: null,
      duration: report.durationMs / 1000,
      chars_used: report.ttsChars,
      carrier_call_log: null,
      function_calls: [
        { name: 'book', params: { day: 'Monday' }, result: '{"reference":"R1"}', run_after_call: false },
        { name: 'note', run_after_call: true },
      ],
      call_metrics: { utterance_latency: { avg: expect.any(Number) as number, p99: expect.any(Number) as number } },
    });
    expect(JSON.parse(item?.chat ?? '')).toEqual([
      { role: 'assistant', content: 'Hello Ann.' },
      { role: 'user', content: 'book' },
      {
        role: 'assistant',
        content: expect.any(String) as string,
        tool_calls: [{ id: 'call-1', type: 'function', function: { name: 'book', arguments: '{"day":"Monday"}' } }],
      },
      { role: 'tool', content: '{"reference":"R1"}', tool_call_id: 'call-1' },
      { role: 'assistant', content: 'Done.' },
    ]);
    expect(item?.cost_breakdown.map(({ type, credit }) => [type, credit])).toEqual([
      ['stt', 0],
      ['llm', 0],
      ['tts', 0],
    ]);
  });

  it('does not hold the secrets of the configuration', async () => {
    const { item } = await play(agent(), { metadata: { Name: 'Ann' } });
    const { tools } = agent();
    expect(item?.agent_config).toEqual(
      wholeAgentConfig({
        first_message: 'Hello {Name}.',
        ...(tools && { tools }),
        session_data_webhook: { url: `${server.origin}/ended`, headers: { authorization: '***' } },
      }),
    );
    expect(Object.keys(item?.agent_config ?? {})).toEqual(Object.keys(agentConfigSchema.shape));
  });

  it('has nothing of what was said where data collection is opted out of, but what the caller of the API gave', async () => {
    const optedOut = { ...agent(), privacy_settings: { opt_out_data_collection: true } };
    const { item } = await play(optedOut, { metadata: { Name: 'Ann' }, id: 's-1' });
    expect(item).toMatchObject({ session_id: 's-1', chat: '[]', recording: null, metadata: { Name: 'Ann' } });
    expect(item?.function_calls).toEqual([
      { name: 'book', params: {}, result: '', run_after_call: false },
      { name: 'note', params: {}, result: '', run_after_call: true },
    ]);
    expect(JSON.stringify(item)).not.toMatch(/Monday|R1|Done/);
  });

  it('of a phone call says how the call ended, whatever the session knows of it', async () => {
    const outcome = { status: 'no-answer', error: null, carrier: { id: 'c-9' } };
    const phones = { from: '+12025550100', to: '+12025550199' };
    const { item } = await play(agent(), { phones, direction: 'outbound', outcome: () => Promise.resolve(outcome) });
    expect(item).toMatchObject({
      call_status: 'no-answer',
      carrier_call_log: { id: 'c-9' },
      voip: { ...phones, direction: 'outbound', transfer: null },
    });
  });

  it('hears nothing of a session that never ran', async () => {
    const engine = new Engine({ clock: new VirtualClock(), allowUrls: [server.origin] });
    const session = await engine.createSession({
      agent: agent(),
      transport: new MemoryTransport(),
      vad: energyVad(),
      stt: promptedStt({ lines: [] }),
      tts: toneTts(),
      llm: functionLlm(() => 'Well.'),
    });
    await session.close();
    await engine.close();
    expect(seen).toEqual([]);
  });
});
