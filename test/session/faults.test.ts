import { describe, expect, it } from 'vitest';
import { delay } from '../../src/base/clock.js';
import { Ticker } from '../../src/base/ticker.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { DEFAULT_CONVERSATION } from '../../src/agent/flow/conversation-config.js';
import type { LlmProvider } from '../../src/providers/llm/llm.js';
import type { SttProvider } from '../../src/providers/stt/stt.js';
import type { TtsProvider } from '../../src/providers/tts/tts.js';
import type { VadProvider } from '../../src/providers/vad/vad.js';
import { Session } from '../../src/session/session.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { type Toolbox, wrongArguments } from '../../src/tools/tool.js';
import { MemoryTransport } from '../../src/transports/memory.js';
import type { Transport } from '../../src/transports/transport.js';
import { play, type Played, recording, saidBy } from './support.js';

const ASKS = recording(6000, [2000, 3000]);
const LINES = ['can you help me please'];
const nothing = (): Promise<void> => Promise.resolve();

function voice(synthesize: TtsProvider['synthesize']): TtsProvider {
  return { name: 'voice', virtualTime: true, warmUp: nothing, close: nothing, voices: () => [], synthesize };
}

function model(complete: LlmProvider['complete']): LlmProvider {
  return { name: 'model', virtualTime: true, warmUp: nothing, close: nothing, complete };
}

function ears(open: SttProvider['open']): SttProvider {
  return { name: 'ears', virtualTime: true, warmUp: nothing, close: nothing, open };
}

/** Ends at once. */
async function* of<T>(...items: T[]): AsyncGenerator<T, void, undefined> {
  await nothing();
  yield* items;
}

/** Never comes, and does not react to signals either. */
const stuck = new Promise<never>(() => undefined);

function expectClean({ report, pending }: Played, status = 'user-ended'): void {
  expect(report.status).toBe(status);
  expect(pending).toBe(0);
}

describe('a model', () => {
  it('that fails is apologised for, and the call goes on', async () => {
    let asked = 0;
    const llm = functionLlm(() => (++asked === 1 ? { fault: 'overloaded' } : 'Here I am again.'));
    const played = await play(recording(14_000, [2000, 3000], [10_000, 11_000]), {
      llm,
      lines: [...LINES, 'hello again'],
    });
    expectClean(played);
    expect(played.report.faults).toEqual({ 'llm.failed': 1 });
    expect(saidBy(played)).toHaveLength(3);
    expect(saidBy(played).at(-1)).toBe('Here I am again.');
  });

  it.each([
    [
      'throws before it begins',
      model(() => {
        throw new Error('no');
      }),
    ],
    [
      'throws in mid-sentence',
      model(async function* () {
        yield { type: 'text', text: 'I was about' };
        await nothing();
        throw new Error('no');
      }),
    ],
    ['says nothing at all', model(() => of())],
    [
      'never answers and ignores its signal',
      model(async function* () {
        yield await stuck;
      }),
    ],
    [
      'begins and then stands still',
      model(async function* () {
        yield { type: 'text', text: 'Well now. ' };
        yield await stuck;
      }),
    ],
  ])('that %s leaves no silence', async (_name, llm) => {
    const played = await play(recording(30_000, [2000, 3000]), { llm, lines: LINES });
    expectClean(played);
    expect(saidBy(played).length).toBeGreaterThanOrEqual(2);
  });

  it('that fails again and again ends the call with a word', async () => {
    const speech = Array.from({ length: 4 }, (_, index): [number, number] => [
      2000 + index * 8000,
      3000 + index * 8000,
    ]);
    const played = await play(recording(40_000, ...speech), {
      llm: functionLlm(() => ({ fault: 'out of credit' })),
      lines: ['one thing', 'another thing', 'a third thing', 'a fourth thing'],
    });
    expectClean(played, 'error');
    // Answers that were begun early and failed were tried again when the turn was certain.
    expect(played.report.faults['llm.failed']).toBeGreaterThanOrEqual(3);
  });
});

describe('a voice', () => {
  it.each([
    [
      'throws',
      voice(() => {
        throw new Error('no');
      }),
    ],
    [
      'fails in mid-word',
      voice(async function* () {
        yield { samples: new Int16Array(8000), sampleRateHz: 16_000 };
        await nothing();
        throw new Error('no');
      }),
    ],
    ['gives no audio', voice(() => of())],
    [
      'gives zero samples',
      voice(async function* () {
        yield { samples: new Int16Array(0), sampleRateHz: 16_000 };
        await nothing();
      }),
    ],
    [
      'gives audio of no rate',
      voice(async function* () {
        yield { samples: new Int16Array(100), sampleRateHz: 0 };
        await nothing();
      }),
    ],
    [
      'stalls and ignores its signal',
      voice(async function* () {
        yield await stuck;
      }),
    ],
  ])('that always %s ends the call, since nobody hears anything', async (_name, tts) => {
    const played = await play(recording(60_000, [2000, 3000], [20_000, 21_000], [40_000, 41_000]), {
      tts,
      lines: ['one thing', 'another thing', 'a third thing'],
    });
    expectClean(played, 'error');
  });

  it('that stalls once is given up for what comes next', async () => {
    let spoken = 0;
    const tone = toneTts();
    const tts = voice(async function* (request) {
      if (++spoken === 2) await stuck;
      yield* tone.synthesize(request);
    });
    const played = await play(recording(20_000, [2000, 3000]), { tts, lines: LINES });
    expectClean(played);
    // The greeting, the answer that nobody heard, and an apology for it.
    expect(saidBy(played)).toHaveLength(2);
  });

  it('speaks at any rate and in any pieces', async () => {
    const tts = voice(async function* ({ clock, signal }) {
      for (const length of [1, 333, 44_100, 7]) {
        yield { samples: new Int16Array(length).fill(900), sampleRateHz: 44_100 };
        await delay(clock, 5, signal);
      }
    });
    const played = await play(ASKS, { tts, lines: LINES });
    expectClean(played);
    expect(played.report.faults).toEqual({});
    expect(played.report.playout.speechMs).toBeCloseTo((2 * 44_441) / 44.1, -1);
  });
});

describe('a recogniser', () => {
  it('that never opens is apologised for, and the call ends', async () => {
    const played = await play(recording(60_000), { stt: ears(() => Promise.reject(new Error('no network'))) });
    expectClean(played, 'error');
    expect(played.report.faults).toEqual({ 'stt.failed': 3, 'ears.failed': 1 });
    expect(saidBy(played).at(-1)).toMatch(/sorry/i);
  });

  it('that dies in mid-call is replaced, and what is said meanwhile is heard', async () => {
    const inner = promptedStt({ lines: LINES });
    let opened = 0;
    const stt = ears(async (options, events) => {
      const stream = await inner.open(options, events);
      if (++opened === 1) options.clock.schedule(2500, () => events.onError(new Error('gone')));
      return stream;
    });
    const played = await play(ASKS, { stt });
    expectClean(played);
    expect(played.report.faults).toEqual({ 'stt.failed': 1 });
    expect(played.report.messages.at(-2)).toEqual({ role: 'user', content: LINES[0] });
  });

  it('that is slow with its words is waited for', async () => {
    const played = await play(recording(10_000, [2000, 3000]), { stt: promptedStt({ lines: LINES, finalMs: 1000 }) });
    expectClean(played);
    expect(played.report.turns[0]).toMatchObject({ heard: LINES[0] });
  });

  it('that does not close does not keep the session', async () => {
    const clock = new ManualClock();
    const stt = ears(() =>
      Promise.resolve({
        push: ignore,
        speechStarted: ignore,
        speechStopped: ignore,
        endTurn: ignore,
        close: () => stuck,
      }),
    );
    const { session } = live({ clock, stt });
    const finished = session.run();
    await clock.advanceBy(1000);
    void session.close();
    await clock.advanceBy(10_000);
    const report = await finished;
    expect(report.faults).toEqual({ 'stt.close': 1 });
    expect(clock.pending).toBe(0);
  });
});

describe('a voice activity detector', () => {
  it('that throws ends the call with a word', async () => {
    const vad: VadProvider = {
      name: 'broken',
      warmUp: nothing,
      createDetector: () => ({
        windowSamples: 320,
        process: () => {
          throw new Error('no model');
        },
        reset: ignore,
        close: ignore,
      }),
    };
    const played = await play(recording(30_000), { vad });
    expectClean(played, 'error');
    expect(saidBy(played).at(-1)).toMatch(/sorry/i);
  });
});

describe('a tool', () => {
  const asking = functionLlm(({ messages }) =>
    messages.at(-1)?.role === 'tool'
      ? `It said: ${messages.at(-1)?.content ?? ''}`
      : { calls: [{ name: 'look', arguments: '{}' }] },
  );
  const box = (run: Toolbox['run']): Toolbox => ({
    specs: [{ name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } }],
    run,
  });

  it('called with wrong arguments is a fault of its own name, also for listeners', async () => {
    const faults: string[] = [];
    const played = await play(ASKS, {
      llm: asking,
      lines: LINES,
      toolbox: box(() => Promise.resolve(wrongArguments('count is missing.', 'look'))),
      before: (session) => {
        session.noteFault('llm.missing', 'before the start');
        session.on('fault', ({ name }) => faults.push(name));
      },
    });
    expect(played.report.faults).toEqual({ 'llm.missing': 1, 'tool.arguments': 1 });
    expect(faults).toEqual(['llm.missing', 'tool.arguments']);
  });

  it('that throws is a result for the model', async () => {
    const played = await play(ASKS, {
      llm: asking,
      lines: LINES,
      toolbox: box(() => {
        throw new Error('it broke');
      }),
    });
    expectClean(played);
    expect(saidBy(played).at(-1)).toBe('It said: The tool failed: it broke');
    expect(played.report.functionCalls).toEqual([
      { name: 'look', arguments: '{}', ok: false, result: 'The tool failed: it broke', tookMs: 0, runAfterCall: false },
    ]);
    expect(played.report.faults).toEqual({ 'tool.failed': 1 });
  });

  it('that is not there is a result too', async () => {
    const played = await play(ASKS, { llm: asking, lines: LINES });
    expectClean(played);
    expect(played.report.functionCalls[0]).toMatchObject({ ok: false, result: 'There is no tool called "look".' });
  });

  it('that runs when the user hangs up is broken off, and the record says so', async () => {
    const { session, clock, line } = live({ llm: asking, toolbox: box(() => stuck) });
    const finished = session.run();
    await clock.advanceBy(1000);
    session.sendText('look, please');
    await clock.advanceBy(2000);
    line.hangUp();
    expect((await finished).functionCalls).toEqual([
      expect.objectContaining({ name: 'look', ok: false, result: 'The call was over before there was an answer.' }),
    ]);
  });
});

describe('a line', () => {
  it('that breaks in mid-word ends the call at once, with nothing left running', async () => {
    const { session, clock, line } = live();
    const finished = session.run();
    await clock.advanceBy(200);
    line.hangUp(new Error('connection reset'));
    line.hangUp();
    const report = await finished;
    expect(report).toMatchObject({ status: 'error', faults: { 'transport.failed': 1 } });
    expect(report.messages).toEqual([]); // hardly a word of the greeting was out
    expect(clock.pending).toBe(0);
  });

  it.each(['start', 'play', 'send'] as const)('that throws at %s ends the call', async (method) => {
    const { session, clock } = live({}, (line) => {
      line[method] = () => {
        throw new Error('broken');
      };
    });
    const finished = session.run();
    await clock.advanceBy(500);
    if (method === 'send') void session.close();
    expect(['error', 'api-ended']).toContain((await finished).status);
    expect(clock.pending).toBe(0);
  });

  it('that does not close does not keep the session', async () => {
    const clock = new ManualClock();
    const { session } = live({ clock }, (line) => {
      line.close = () => stuck;
    });
    const finished = session.run();
    await clock.advanceBy(500);
    void session.close();
    await clock.advanceBy(5000);
    expect((await finished).faults).toEqual({ 'transport.close': 1 });
    expect(clock.pending).toBe(0);
  });

  it('may have been gone before the session began', async () => {
    const { session, clock, line } = live();
    line.hangUp();
    expect((await session.run()).status).toBe('user-ended');
    expect(clock.pending).toBe(0);
  });

  it('may bring no audio, or as little as it likes', async () => {
    const { session, clock, line } = live();
    const finished = session.run();
    line.pushAudio(new Int16Array(0));
    for (let count = 0; count < 50; count++) line.pushAudio(new Int16Array(count % 3));
    await clock.advanceBy(1000);
    line.hangUp();
    expect((await finished).faults).toEqual({});
  });
});

describe('those who watch', () => {
  it('may throw without harm, and are counted', async () => {
    const played = await play(ASKS, {
      lines: LINES,
      observe: () => {
        throw new Error('listener');
      },
      log: () => {
        throw new Error('disk full');
      },
    });
    expectClean(played);
    expect(saidBy(played).at(-1)).toBe('That is fine.');
    expect(played.report.faults['log.failed']).toBe(1);
    expect(played.report.faults['observer.failed']).toBeGreaterThan(1);
  });
});

describe('the end', () => {
  it('comes once, however often and early it is asked for', async () => {
    const { session, line, clock } = live();
    const first = await session.close();
    expect(first).toMatchObject({ status: 'api-ended', messages: [], durationMs: 0 });
    expect(await session.run()).toBe(first);
    expect(await session.close()).toBe(first);
    line.pushAudio(new Int16Array(320));
    void session.say('too late');
    expect(clock.pending).toBe(0);
  });

  it('may be asked for in the middle of a call', async () => {
    const { session, clock } = live();
    const finished = session.run();
    await clock.advanceBy(700);
    const [one, two] = await Promise.all([session.close(), session.close()]);
    expect(one).toBe(two);
    expect(await finished).toMatchObject({ status: 'api-ended' });
    expect(clock.pending).toBe(0);
  });
});

/** Time that a test moves, but that counts as real: closing has its deadlines. */
class ManualClock extends VirtualClock {
  override readonly virtual = false as unknown as true;
}

const ignore = (): void => undefined;

/** A session on a line in memory whose time the test moves. */
function live(
  options: Partial<ConstructorParameters<typeof Session>[0]> & { clock?: VirtualClock } = {},
  change: (line: Transport) => void = ignore,
): { session: Session; clock: VirtualClock; line: MemoryTransport } {
  const clock = options.clock ?? new VirtualClock();
  const line = new MemoryTransport();
  change(line);
  const session = new Session({
    id: 'live',
    transport: line,
    vad: energyVad(),
    stt: promptedStt({ lines: [] }),
    llm: functionLlm(() => 'That is fine.'),
    model: 'test',
    tts: toneTts(),
    ticker: new Ticker(clock),
    conversation: {
      ...DEFAULT_CONVERSATION,
      opening: { ...DEFAULT_CONVERSATION.opening, firstMessage: 'Hello there.' },
    },
    ...options,
    clock,
  });
  return { session, clock, line };
}
