import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import { Engine } from '../../../src/engine/engine.js';
import type { SessionHandle } from '../../../src/engine/remote-line.js';
import { LocalMediaHost } from '../../../src/threads/media-host.js';
import { MediaThreadPool } from '../../../src/threads/main/media-thread-pool.js';
import { plainOptions } from '../../../src/threads/wire/plain-options.js';
import type { CallHistoryItem } from '../../../src/session/record/call-history.js';
import type { DoNotCallEntry } from '../../../src/session/after-call/do-not-call.js';
import type { SessionEvent } from '../../../src/session/session-options.js';
import { openDatabase } from '../../../src/store/database.js';
import { DoNotCallStore } from '../../../src/store/do-not-call.js';
import { SqliteDatabase } from '../../../src/store/sqlite/sqlite-database.js';
import { SessionStore } from '../../../src/store/sessions.js';
import { packageFile } from '../../../src/package-files.js';
import { loadPlugins } from '../../../src/plugins/load-plugins.js';
import { defineTool } from '../../../src/tools/define-tool.js';
import { MemoryTransport } from '../../../src/transports/memory.js';
import { WeriftCaller } from '../../../src/transports/webrtc/werift-caller.js';

const LOOPBACK = { addresses: ['127.0.0.1'], ipv6: false };
const PATIENCE = { timeout: 30_000, interval: 20 };
const AGENT = {
  prompt: 'You sell bread.',
  first_message: 'Hello.',
  llm: { model: 'scripted' },
  privacy_settings: { opt_out_data_collection: false, do_not_call_detection: true },
};
const SCRIPT = { rules: [{ when: 'bread', say: 'We have bread.' }] };

const plugins = await loadPlugins([fileURLToPath(packageFile('examples/plugin/bakery.mjs'))]);

// Two threads load their engines.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 120_000 });

describe('media threads', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-threads-'));
  const database = openDatabase(folder);
  const clock = new RealClock();
  const faults: string[] = [];
  const kept: CallHistoryItem[] = [];
  const doNotCall = new DoNotCallStore(new SqliteDatabase(database));
  const sessionMemory = new SessionStore(new SqliteDatabase(database));
  const engine = new Engine({
    plugins,
    clock,
    doNotCall,
    sessionMemory,
    recordings: join(folder, 'recordings'),
    history: { keep: async (item) => kept[kept.push(item) - 1] ?? item },
  });
  const threads = new MediaThreadPool({
    count: 2,
    local: new LocalMediaHost(engine),
    clock,
    stores: engine.options,
    onFault: ({ message }) => void faults.push(message),
    voices: () => [],
    settings: { options: plainOptions(engine.options) ?? {}, traces: null },
  });
  const callers: WeriftCaller[] = [];

  beforeAll(() => threads.warmUp());

  afterAll(async () => {
    await Promise.all(callers.map((caller) => caller.close()));
    await engine.close();
    await threads.close();
    database.close();
    rmSync(folder, { recursive: true });
  });

  /** A call whose agent has greeted. */
  async function called(
    more: Partial<Parameters<Engine['createSession']>[0]> = {},
  ): Promise<{ session: SessionHandle; events: SessionEvent[] }> {
    const caller = new WeriftCaller(LOOPBACK);
    callers.push(caller);
    const line = await threads.openWebRtc(LOOPBACK);
    const events: SessionEvent[] = [];
    await caller.accept(await line.answer(await caller.offer()));
    const session = await engine.createSession({
      transport: line,
      agent: AGENT,
      script: SCRIPT,
      agentId: 'baker',
      observe: (event) => void events.push(event),
      ...more,
    });
    await line.connected;
    void session.run();
    await expect.poll(() => events.some(({ type }) => type === 'agent'), PATIENCE).toBe(true);
    return { session, events };
  }

  const said = (events: readonly SessionEvent[]): string[] =>
    events.flatMap((event) => (event.type === 'agent' ? [event.text] : []));

  it('call functions of plug-ins and of the session, whose code runs here', async () => {
    const agent = { ...AGENT, llm: { model: 'bakery-clerk' } };
    const clerk = await called({ agent, script: undefined, extensions: { functions: ['look_up_order'] } });
    clerk.session.sendText('Where is my order?');
    await expect.poll(() => said(clerk.events).join(), PATIENCE).toContain('I looked it up: {"state":"baking"');
    await clerk.session.end();

    const seen: unknown[] = [];
    const count = defineTool({
      name: 'count',
      description: '',
      execute: async function* (_, { history, variables, session, signal }) {
        seen.push(history.at(0)?.content, variables['Name'], signal.aborted, session === null);
        yield 'I am counting.';
        await Promise.resolve();
        throw new TypeError('no fingers');
      },
    });
    const wait = defineTool({
      name: 'wait',
      description: '',
      timeoutMs: 600_000,
      execute: (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            seen.push('aborted');
            reject(signal.reason as Error);
          });
        }),
    });
    const call = (tool: string): object => ({
      when: tool,
      call: { tool, ok: { say: 'Done.' }, failed: { say: 'No.' } },
    });
    const script = { rules: [call('count'), call('wait')] };
    const { session, events } = await called({ script, tools: [count, wait], metadata: { Name: 'Ann' } });
    session.sendText('count');
    await expect.poll(() => said(events).join(), PATIENCE).toMatch(/I am counting\..*No\./);
    session.sendText('wait');
    await expect.poll(() => events.filter(({ type }) => type === 'toolStarted').length, PATIENCE).toBe(2);
    const report = await session.end();
    await expect.poll(() => seen, PATIENCE).toEqual(['Hello.', 'Ann', false, false, 'aborted']);
    expect(report.functionCalls[0]).toMatchObject({ name: 'count', ok: false, result: 'count failed: no fingers.' });
    expect(report.faultCauses?.['tool.failed']).toMatch(/^TypeError: no fingers\n.*media-thread-pool/);
    expect(events).toContainEqual(expect.objectContaining({ type: 'toolProgress', text: 'I am counting.' }));
  });

  it('have sessions as the main thread has them, the freest thread first; what they leave is found', async () => {
    kept.length = 0;
    const phones = { from: '+12025550199', to: '+12025550101' };
    const [first, second] = [await called({ phones, direction: 'outbound' }), await called()];
    expect(threads.loads).toEqual([1, 1]);
    first.session.sendText('Have you any bread?');
    await expect.poll(() => said(first.events), PATIENCE).toContain('We have bread.');
    first.session.sendText('Do not call me again.');
    const entries = (): Promise<readonly DoNotCallEntry[]> => doNotCall.list();
    await expect.poll(entries, PATIENCE).toMatchObject([{ number: phones.to, sessionId: first.session.id }]);
    const report = await first.session.finished;
    expect(report).toMatchObject({ status: 'agent-ended', doNotCall: true, faults: {} });
    expect(first.events.at(-1)).toEqual({ type: 'ended', report });
    await expect.poll(() => kept.map(({ session_id: id }) => id), PATIENCE).toEqual([first.session.id]);
    expect(threads.loads).toEqual([0, 1]);
    // Whoever comes back is known, in whichever thread.
    const again = await called({ continuation: { session_id: first.session.id } });
    await Promise.all([again.session.close(), second.session.close()]);
    expect(engine.sessions.size).toBe(0);
  });

  it('are steered and tapped from the main thread', async () => {
    const { session, events } = await called();
    const abort = new AbortController();
    const played = (async (): Promise<number> => {
      let loudest = 0;
      for await (const { side, samples } of session.tap('agent', { signal: abort.signal })) {
        if (side === 'agent') loudest = Math.max(loudest, ...samples);
      }
      return loudest;
    })();
    const heard: boolean[] = [];
    session.on('speaking', ({ who, isSpeaking }) => who === 'agent' && heard.push(isSpeaking));
    await expect(session.say('Buy one, get one free.')).resolves.toMatchObject({ complete: true });
    abort.abort();
    await expect(played).resolves.toBeGreaterThan(500);
    expect(heard).toEqual([true, false]);
    const withdrawn = new AbortController();
    await session.hold({ music: false });
    await expect(session.say('Hello?')).rejects.toMatchObject({ code: 'COMMAND_REFUSED', details: { why: 'held' } });
    await session.unhold();
    await session.updateAgent({ prompt: 'You sell cake.' });
    const said = session.say('one two three four five six seven eight nine ten.', { signal: withdrawn.signal });
    withdrawn.abort(new Error('not any more'));
    await expect(said).rejects.toThrow('not any more');
    await expect(session.updateAgent({ prompt: 5 as never })).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    const report = await session.end({ message: 'We close now.' });
    expect(report.messages.at(-1)).toEqual({ role: 'assistant', content: 'We close now.' });
    expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(['held', 'agentUpdated', 'ended']));
    await expect(session.interrupt()).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
  });

  it('get functions in mid-call, whose code stays in the main thread', async () => {
    const { session, events } = await called();
    const asked: unknown[] = [];
    const lookUp = defineTool({
      name: 'look_up_order',
      description: 'Says how far an order is.',
      parameters: { type: 'object', properties: { number: { type: 'string' } }, required: ['number'] },
      execute: (order) => {
        asked.push(order);
        return 'It is ready.';
      },
    });
    await session.updateAgent({ tools: [lookUp], llm: { model: 'bakery-clerk' } });
    session.sendText('How far is my order?');
    await expect.poll(() => said(events), PATIENCE).toContain('I looked it up: It is ready.');
    expect(asked).toEqual([{ number: 'A1' }]);
    await session.close();
  });

  it('refuse what the main thread would refuse, in its words', async () => {
    const line = await threads.openWebRtc(LOOPBACK);
    await expect(line.answer('hello')).rejects.toMatchObject({ code: 'OFFER_INVALID' });
    const asked = { transport: line, agent: { ...AGENT, prompt: 5 } as never };
    await expect(engine.createSession(asked)).rejects.toMatchObject({ issues: [{ loc: ['prompt'] }] });
    await line.close();
    expect(threads.loads).toEqual([0, 0]);
  });

  it('that end take only their own sessions with them, and are started again', async () => {
    const agent = { ...AGENT, call_settings: { enable_recording: true } };
    const [lost, other] = [await called({ agent }), await called()];
    const [first] = threads.threads;
    kept.length = 0;
    const recording = join(folder, 'recordings', `${lost.session.id}.wav`);
    await expect.poll(() => existsSync(recording), PATIENCE).toBe(true);
    let closed = 0;
    const line = new MemoryTransport({ sampleRateHz: 16_000, onFrame: () => undefined });
    const close = line.close.bind(line);
    line.close = () => (closed++, close());
    const ada = await lost.session.join(line, { name: 'Ada', mode: 'take_over' });
    await first?.terminate();
    // Who had taken over is told that the call has ended, and keeps no line.
    expect(await ada.left).toBeNull();
    expect(closed).toBe(1);
    await expect(ada.setMode('listen')).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
    const report = await lost.session.finished;
    expect(report).toMatchObject({ status: 'error', faults: { 'thread.lost': 1 }, recording });
    expect(report.participants).toMatchObject([{ name: 'Ada', modes: [{ mode: 'take_over' }], left: null }]);
    expect(report.messages).toEqual([{ role: 'assistant', content: 'Hello.' }]);
    await expect.poll(() => kept[0], PATIENCE).toMatchObject({ session_id: lost.session.id, call_status: 'error' });
    expect(kept[0]?.error_message).toContain('The thread of the conversation ended');
    expect(faults.at(-1)).toContain('media thread 1 has ended');
    other.session.sendText('Have you any bread?');
    await expect.poll(() => said(other.events), PATIENCE).toContain('We have bread.');
    await expect.poll(() => threads.loads, PATIENCE).toEqual([0, 1]);
    const third = await called();
    expect(threads.loads).toEqual([1, 1]);
    await Promise.all([third.session.close(), other.session.close()]);
    expect(threads.deaths).toBe(1);
  });
});
