import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { Engine } from '../../src/engine/engine.js';
import { DirectCall, DirectCalls } from '../../src/lines/direct-call.js';
import { SwitchedLine, type IncomingCall } from '../../src/lines/line.js';
import type { AgentCall, CallReport } from '../../src/telephony/calls/agent-call.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { MemoryTransport } from '../../src/transports/memory.js';

const AGENT = {
  agent: { prompt: 'You are a waiter.', first_message: 'Good evening.' },
  vad: energyVad(),
  stt: promptedStt({ lines: [] }),
  llm: functionLlm(() => 'Yes.'),
  tts: toneTts(),
};

let clock: VirtualClock;
let engine: Engine;
let inbox: DirectCalls;
let line: SwitchedLine;
let errors: string[];

beforeEach(() => {
  clock = new VirtualClock();
  engine = new Engine({ clock });
  inbox = new DirectCalls();
  errors = [];
  const onError = ({ message }: Error): void => void errors.push(message);
  line = new SwitchedLine({ engine, carrier: inbox, closing: () => Promise.resolve(), onError });
});
afterEach(async () => {
  await line.close();
  await engine.close();
});

/** Somebody calls. */
function callIn(connect: () => Promise<unknown> = () => Promise.resolve()): DirectCall {
  const call = new DirectCall({
    clock,
    carrier: 'test',
    codec: 'L16',
    direction: 'inbound',
    caller: { from: '+12025550177', to: '+12025550199', headers: { 'x-desk': '4' } },
    transport: new MemoryTransport({ sampleRateHz: 16_000 }),
    connect,
    onError: (error) => errors.push(String(error)),
  });
  inbox.offer(call);
  return call;
}

async function until<T>(work: Promise<T>): Promise<T> {
  let isDone = false;
  void work.then(
    () => (isDone = true),
    () => (isDone = true),
  );
  await clock.runUntil(() => isDone, clock.nowMs() + 60_000);
  return work;
}

describe('a call that comes in', () => {
  it('is answered by an agent, whose session can be steered, and which says how it ended', async () => {
    const seen: IncomingCall[] = [];
    let taken: Promise<AgentCall> | null = null;
    line.receive((call) => {
      seen.push(call);
      taken = call.answer(AGENT);
      return taken;
    });
    const call = callIn();
    expect(seen[0]).toMatchObject({ from: '+12025550177', to: '+12025550199', headers: { 'x-desk': '4' } });
    const agentCall = await until(taken as unknown as Promise<AgentCall>);
    expect([...line.calls]).toEqual([agentCall]);
    const session = await until(agentCall.answered);
    expect(call.state).toBe('answered');
    await expect(until(session?.say('One moment.') ?? Promise.reject(new Error('none')))).resolves.toEqual({
      text: 'One moment.',
      heard: 'One moment.',
      complete: true,
    });
    await session?.end();
    const report = await until(agentCall.finished);
    expect(report).toMatchObject({ status: 'api-ended', carrier: { carrier: 'test', end: { by: 'agent' } } });
    expect(report.session?.messages.map(({ content }) => content)).toEqual(['Good evening.', 'One moment.']);
    expect([line.calls.size, errors]).toEqual([0, []]);
  });

  it.each([
    ['is refused with a reason', (call: IncomingCall) => call.reject('full'), '503 Service Unavailable'],
    ['is declined by a handler that does nothing', () => undefined, '603 Decline'],
    ['is refused where nobody decides', () => new Promise(() => undefined), '480 Temporarily Unavailable'],
  ])('%s', async (_name, handler, reason) => {
    line.receive(handler);
    await expect(until(callIn().decided)).rejects.toMatchObject({ code: 'CALL_REFUSED', details: { reason } });
    expect(errors).toEqual([]);
  });

  it('is refused without a handler', async () => {
    const message = 'The call was refused: 480 Temporarily Unavailable';
    await expect(callIn().decided).rejects.toMatchObject({ message });
  });

  it('fails where its handler does, or its agent cannot have sessions, and the embedder hears why', async () => {
    line.receive(() => Promise.reject(new Error('the diary is locked')));
    await expect(until(callIn().decided)).rejects.toMatchObject({ code: 'CALL_REFUSED' });
    line.receive((call) => call.answer({ agent: { ...AGENT.agent, status: 'disabled' } }));
    await expect(until(callIn().decided)).rejects.toMatchObject({ code: 'CALL_REFUSED' });
    expect(errors).toEqual(['the diary is locked', expect.stringContaining('disabled')]);
  });

  it('is decided once', async () => {
    const twice = vi.fn<(reason: unknown) => void>();
    line.receive(async (call) => {
      call.reject();
      call.reject('full');
      await call.answer(AGENT).catch(twice);
    });
    const call = callIn();
    await until(call.decided).catch(() => undefined);
    expect(call.end?.reason).toBe('603 Decline');
    await vi.waitFor(() => expect(twice.mock.calls[0]).toMatchObject([{ code: 'ARGUMENT_INVALID' }]));
  });

  it('tells its handler when the caller gives up, and has no session then', async () => {
    const { promise, resolve } = later<AgentCall>();
    line.receive(async (call) => {
      await new Promise<void>((left) => call.signal.addEventListener('abort', () => left()));
      resolve(await call.answer(AGENT));
    });
    callIn().finish({ cause: 'hangup', by: 'remote', reason: 'the far end hung up' });
    const call = await until(promise);
    expect(await until(call.answered)).toBeNull();
    expect(await until(call.finished)).toMatchObject({ status: 'canceled', session: null });
  });

  it('ends with its signal, or when the line that it needs does not come up', async () => {
    const abort = new AbortController();
    const reports: Promise<CallReport>[] = [];
    line.receive(async (call) => {
      const { answered, finished } = await call.answer({ ...AGENT, signal: abort.signal });
      reports.push(finished);
      if ((await answered) !== null) abort.abort();
    });
    await until(callIn().decided);
    expect(await until(Promise.all(reports))).toMatchObject([{ status: 'api-ended' }]);
    await until(callIn(() => Promise.reject(new Error('no way through'))).decided).catch(() => undefined);
    // The signal is aborted still: a call that is given to an agent then is refused.
    expect(errors).toEqual(['This operation was aborted']);
  });
});

it('a line that closes refuses those who wait, and may be closed twice', async () => {
  line.receive(() => new Promise(() => undefined));
  const call = callIn();
  const refused = expect(call.decided).rejects.toMatchObject({ code: 'CALL_REFUSED' });
  await until(line.close());
  await until(line.close());
  await refused;
  expect(() => line.receive(() => undefined)).toThrow(expect.objectContaining({ code: 'SESSION_CLOSED' }));
});

it('names what is wrong with its arguments', async () => {
  expect(() => new SwitchedLine({ carrier: inbox, closing: () => Promise.resolve() } as never)).toThrow('new Engine()');
  expect(() => line.receive({} as never)).toThrow('a function is expected');
  const request = { ...AGENT, from: '+12025550199', to: '+12025550177' };
  await expect(until(line.place(request))).rejects.toThrow('calls only come in here');
});

function later<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((done) => (resolve = done));
  return { promise, resolve };
}
