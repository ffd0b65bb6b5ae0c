import { afterEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import type { AgentConfig } from '../../../src/agent/agent.js';
import { leftSession } from '../../../src/daemon/call-log/unfinished-session.js';
import { Engine } from '../../../src/engine/engine.js';
import type { LogEntry } from '../../../src/session/record/event-log.js';
import { reportOf, type SessionReport } from '../../../src/session/record/session-report.js';
import { energyVad } from '../../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../../src/testing/doubles/prompted-stt.js';
import { readLog } from '../../../src/replay/read-log.js';
import { toneTts } from '../../../src/testing/doubles/tone-tts.js';
import { MemoryTransport } from '../../../src/transports/memory.js';

const engines: Engine[] = [];
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.close()));
});

const BOOK = { name: 'book', description: 'Books.', params: [] };

/** A session in which the user types twice, and hangs up in the middle of an answer; with its event log. */
async function held(agent: AgentConfig = {}): Promise<{ report: SessionReport; log: LogEntry[] }> {
  const clock = new VirtualClock();
  const engine = new Engine({ clock });
  engines.push(engine);
  const line = new MemoryTransport();
  const log: LogEntry[] = [];
  const llm = functionLlm(({ messages }) =>
    messages.at(-1)?.content === 'book'
      ? { calls: [{ name: 'book', arguments: '{}' }] }
      : 'That is done, and well done.',
  );
  const session = await engine.createSession({
    id: 's1',
    agent: { prompt: 'Sell.', first_message: 'Hello.', tools: [BOOK], ...agent },
    transport: line,
    llm,
    vad: energyVad(),
    stt: promptedStt({ lines: [] }),
    tts: toneTts(),
    log: (entry) => log.push(entry),
  });
  let ended: SessionReport | undefined;
  void session.run().then((report) => (ended = report));
  await clock.advanceBy(2000);
  session.sendText('book');
  await clock.advanceBy(4000);
  session.sendText('and again');
  await clock.advanceBy(700);
  line.hangUp();
  await clock.runUntil(() => ended !== undefined, 600_000);
  if (ended === undefined) throw new Error('the session did not end');
  return { report: ended, log };
}

function rebuilt(log: readonly LogEntry[], optOut = false): SessionReport {
  const trace = readLog(log.map((entry) => JSON.stringify(entry)).join('\n'));
  const remains = { sessionId: 's1', trace, chat: null, recording: null, optOut, mayHaveRun: false };
  return reportOf(leftSession(remains).parts);
}

/** What the shell alone knows of a session. */
const UNKNOWN = { playout: null, line: null };

describe('a session that is rebuilt from its event log', () => {
  it('is what the session itself reports', async () => {
    const { report, log } = await held();
    expect(report.messages.length).toBeGreaterThan(5);
    expect(report.functionCalls).toHaveLength(1);
    expect(report.usage.tts[0]?.chars).toBeGreaterThan(20);
    expect({ ...rebuilt(log), ...UNKNOWN }).toEqual({ ...report, ...UNKNOWN });
  });

  it('is one that broke off where the log does', async () => {
    const { report, log } = await held();
    const answered = log.findIndex((entry) => entry.kind === 'event' && entry.event.type === 'tool.result');
    const { status, faults, messages, functionCalls, durationMs } = rebuilt(log.slice(0, answered));
    expect({ status, faults, durationMs }).toEqual({
      status: 'error',
      faults: { 'daemon.stopped': 1 },
      durationMs: log[answered - 1]?.t,
    });
    expect(messages.slice(0, 2)).toEqual(report.messages.slice(0, 2));
    expect(functionCalls).toMatchObject([{ name: 'book', ok: false }]);
    expect(functionCalls[0]?.result).toContain('stopped before there was an answer');
  });

  it('counts the last words as far as they were heard', async () => {
    const { report, log } = await held();
    const hungUp = log.findIndex((entry) => entry.kind === 'event' && entry.event.type === 'line.closed');
    const cut = log.slice(0, hungUp + 1).map((entry, index): LogEntry => {
      return index === hungUp && entry.kind === 'event' ? { ...entry, event: { type: 'time' } } : entry;
    });
    expect(rebuilt(cut).messages).toEqual(report.messages);
  });

  it('holds nothing that was said where the user has opted out', async () => {
    const { report, log } = await held({ privacy_settings: { opt_out_data_collection: true } });
    const found = rebuilt(log, true);
    expect(found).toMatchObject({ status: 'user-ended', messages: [], durationMs: report.durationMs });
    expect(found.functionCalls).toMatchObject([{ name: 'book', arguments: '{}', result: '' }]);
    expect(found.usage).toEqual(report.usage);
    expect(JSON.stringify(found)).not.toMatch(/again|done|Sell/);
  });

  it('lasts as long as its recording', () => {
    const recording = { path: '/x.wav', durationMs: 7000 };
    const none = { sessionId: 's1', trace: null, chat: null, optOut: false, mayHaveRun: false };
    const left = leftSession({ ...none, recording });
    expect(reportOf(left.parts)).toMatchObject({ durationMs: 7000, recording: '/x.wav', status: 'error' });
    expect([left.ran, leftSession({ ...none, recording: null }).ran]).toEqual([true, false]);
  });
});
