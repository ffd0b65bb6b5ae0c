import { describe, expect, it } from 'vitest';
import { DEFAULT_CONVERSATION } from '../../src/agent/flow/conversation-config.js';
import { levelOf } from '../../src/audio/dsp/level.js';
import { HEARING_RATE_HZ, msToSamples } from '../../src/audio/frame.js';
import { Health } from '../../src/providers/failover/health.js';
import { FailoverLlm } from '../../src/providers/failover/llm.js';
import { FailoverTts } from '../../src/providers/failover/tts.js';
import type { LlmProvider } from '../../src/providers/llm/llm.js';
import type { SttProvider } from '../../src/providers/stt/stt.js';
import type { SessionEvent } from '../../src/session/session-options.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import type { Toolbox } from '../../src/tools/tool.js';
import { play, recording } from './support.js';

const ASKS = recording(6000, [2000, 3000]);
const LINES = ['can you help me please'];
const STUCK = new Promise<never>(() => undefined);

type Provider = Extract<SessionEvent, { type: 'provider' }>;

const providersOf = (events: readonly SessionEvent[]): Provider[] =>
  events.filter((event): event is Provider => event.type === 'provider');

/** Events in a few words. */
function story(events: readonly SessionEvent[]): string[] {
  return events.flatMap((event) => {
    if (event.type === 'speaking') return [`${event.who} ${event.isSpeaking ? 'starts' : 'stops'}`];
    if (event.type === 'toolStarted') return [`${event.call.name} starts`];
    if (event.type === 'tool') return [`${event.call.name} ${event.ok ? 'done' : 'failed'}`];
    if (event.type === 'fault') return [`fault ${event.name}`];
    return event.type === 'interrupted' || event.type === 'ended' ? [event.type] : [];
  });
}

describe('observe', () => {
  it('tells who begins and ceases to speak, and last the end', async () => {
    const { events } = await play(ASKS, { lines: LINES });
    expect(story(events)).toEqual([
      'agent starts',
      'agent stops',
      'user starts',
      'user stops',
      'agent starts',
      'agent stops',
      'ended',
    ]);
    expect(events.at(-1)?.type).toBe('ended');
  });

  it('tells how loud the user was, without the silence around it', async () => {
    const levels = async (gain: number): Promise<number[]> => {
      const { events } = await play(
        ASKS.map((sample) => Math.round(gain * sample)),
        { lines: LINES },
      );
      return events.flatMap((event) => (event.type === 'speaking' ? (event.levelDbfs ?? []) : []));
    };
    const [usual = NaN, ...more] = await levels(1);
    const speech = levelOf(ASKS.subarray(msToSamples(2000, HEARING_RATE_HZ), msToSamples(3000, HEARING_RATE_HZ)));
    expect(more).toEqual([]);
    expect(Math.abs(usual - speech.rmsDbfs)).toBeLessThan(1);
    const [quiet = NaN] = await levels(0.5);
    expect(usual - quiet).toBeCloseTo(6, 0);
  });

  it('tells of an interruption: the agent is silent before it is decided', async () => {
    const long = 'one two three four five six seven eight nine ten eleven twelve.';
    const { events } = await play(recording(9000, [1500, 2000], [4000, 5000]), {
      lines: ['please tell me a story', 'stop that right now please'],
      llm: functionLlm(({ messages }) => (messages.length > 3 ? 'Very well.' : long)),
    });
    expect(story(events)).toEqual([
      'agent starts',
      'agent stops',
      'user starts',
      'user stops',
      'agent starts',
      'user starts',
      'agent stops',
      'user stops',
      'interrupted',
      'agent starts',
      'agent stops',
      'ended',
    ]);
  });

  it('tells of a tool when it begins, and of each fault with its reason', async () => {
    const toolbox: Toolbox = {
      specs: [{ name: 'look', description: 'Looks.', parameters: { type: 'object', properties: {} } }],
      run: () => Promise.resolve({ ok: false, content: 'no light' }),
    };
    const call = { name: 'look', arguments: '{}' };
    const { events, report } = await play(ASKS, {
      lines: LINES,
      toolbox,
      llm: functionLlm(({ messages }) => (messages.at(-1)?.role === 'tool' ? 'It is dark.' : { calls: [call] })),
    });
    const reported = story(events);
    expect(reported.filter((what) => /look|fault/.test(what))).toEqual([
      'look starts',
      'fault tool.failed',
      'look failed',
    ]);
    expect(events).toContainEqual({ type: 'fault', name: 'tool.failed', reason: 'no light' });
    expect(report.faults).toEqual({ 'tool.failed': 1 });
  });

  it('goes on where the listener throws at everything', async () => {
    const { report } = await play(ASKS, {
      lines: LINES,
      observe: () => {
        throw new Error('no');
      },
    });
    expect(report.status).toBe('user-ended');
    expect(report.faults['observer.failed']).toBeGreaterThan(3);
  });
});

describe('observe, of providers', () => {
  it('tells what each took to its first result', async () => {
    const { events, report } = await play(ASKS, {
      lines: LINES,
      stt: promptedStt({ lines: LINES }),
      llm: functionLlm(() => 'That is fine.', { firstMs: 250 }),
      tts: toneTts({ firstMs: 150 }),
    });
    const reported = providersOf(events);
    expect(reported.filter(({ stage }) => stage === 'llm')).toEqual([
      { type: 'provider', stage: 'llm', provider: 'function', firstMs: 250 },
    ]);
    expect(reported.filter(({ stage }) => stage === 'tts').map((one) => 'firstMs' in one && one.firstMs)).toEqual([
      150, 150,
    ]);
    const [heard, ...more] = reported.filter(({ stage }) => stage === 'stt');
    expect(more).toEqual([]);
    expect(heard).toMatchObject({ provider: promptedStt({ lines: [] }).name });
    expect(report.faults).toEqual({});
  });

  it('tells which has failed', async () => {
    const deaf: SttProvider = {
      ...promptedStt({ lines: LINES }),
      name: 'deaf',
      open: () => Promise.reject(new Error('no')),
    };
    const { events } = await play(ASKS, { lines: LINES, stt: deaf });
    const failed = { type: 'provider', stage: 'stt', provider: 'deaf', failed: 'error' };
    expect(providersOf(events).filter(({ stage }) => stage === 'stt')).toEqual([failed, failed, failed, failed]);
    const other = await play(ASKS, { lines: LINES, llm: functionLlm(() => ({ fault: 'overloaded' })) });
    expect(providersOf(other.events).filter((one) => 'failed' in one)).toEqual([
      { type: 'provider', stage: 'llm', provider: 'function', failed: 'error' },
    ]);
  });

  it('tells of one that the conversation gave up waiting for', async () => {
    const stuck: LlmProvider = {
      ...functionLlm(() => ''),
      name: 'stuck',
      async *complete() {
        yield await STUCK;
      },
    };
    const { events, report } = await play(recording(30_000, [2000, 3000]), { lines: LINES, llm: stuck });
    expect(report.faults).toEqual({ 'llm.failed': 1 });
    expect(providersOf(events).filter(({ stage }) => stage === 'llm')).toEqual([
      { type: 'provider', stage: 'llm', provider: 'stuck', failed: 'late' },
    ]);
  });

  it('names fallbacks by their own names, and from when they were asked', async () => {
    const main = { ...functionLlm(() => 'Never.', { firstMs: 20_000 }), name: 'main' };
    const spare = { ...functionLlm(() => 'That is fine.', { firstMs: 300 }), name: 'spare' };
    const voice = { ...toneTts({ fails: () => true }), name: 'voice' };
    const other = { ...toneTts({ firstMs: 120 }), name: 'other' };
    const onSwitch = (): void => undefined;
    const { events, report } = await play(recording(16_000, [2000, 3000]), {
      lines: LINES,
      conversation: { speculation: { ...DEFAULT_CONVERSATION.speculation, enabled: false } },
      llm: new FailoverLlm({
        entries: [main, spare].map((provider) => ({ provider, health: new Health() })),
        onSwitch,
      }),
      tts: new FailoverTts({
        entries: [voice, other].map((provider) => ({ provider, health: new Health() })),
        onSwitch,
      }),
    });
    expect(report.messages.at(-1)?.content).toBe('Let me see. That is fine.');
    const reported = providersOf(events).filter(({ stage }) => stage !== 'stt');
    expect(reported.map((one) => [one.provider, 'firstMs' in one ? one.firstMs : one.failed])).toEqual([
      ['voice', 'error'],
      ['other', 120],
      ['other', 120],
      ['spare', 300],
      ['main', 'late'],
      ['other', 120],
    ]);
  });
});
