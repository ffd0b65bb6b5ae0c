import { describe, expect, it } from 'vitest';
import { msToSamples } from '../../src/audio/frame.js';
import { Ticker } from '../../src/clock/ticker.js';
import { VirtualClock } from '../../src/clock/virtual.js';
import { DEFAULT_CONVERSATION, type ConversationConfig } from '../../src/conversation/config.js';
import type { LogEntry } from '../../src/session/event-log.js';
import { Session } from '../../src/session/session.js';
import type { SessionOptions } from '../../src/session/session-options.js';
import type { SessionReport } from '../../src/session/session-report.js';
import { energyVad } from '../../src/testing/energy-vad.js';
import { functionLlm } from '../../src/testing/function-llm.js';
import { promptedStt } from '../../src/testing/prompted-stt.js';
import { toneTts } from '../../src/testing/tone-tts.js';
import { FileTransport } from '../../src/transports/file.js';

/** A recording: tone where the user speaks. */
function recording(lengthMs: number, ...speech: [number, number][]): Int16Array {
  const samples = new Int16Array(msToSamples(lengthMs, 16_000));
  for (const [fromMs, toMs] of speech) {
    for (let at = msToSamples(fromMs, 16_000); at < msToSamples(toMs, 16_000); at++) {
      samples[at] = Math.round(6000 * Math.sin(at / 5));
    }
  }
  return samples;
}

interface Played {
  report: SessionReport;
  log: LogEntry[];
  audio: Int16Array;
  pending: number;
}

async function play(
  samples: Int16Array,
  lines: string[],
  options: { conversation?: Partial<ConversationConfig> } & Partial<SessionOptions> = {},
): Promise<Played> {
  const clock = new VirtualClock();
  const ticker = new Ticker(clock);
  const transport = new FileTransport({ samples, sampleRateHz: 16_000, ticker, hangUpAfterMs: 4000 });
  const log: LogEntry[] = [];
  const { conversation, ...rest } = options;
  const session = new Session({
    id: 's1',
    transport,
    vad: energyVad(),
    stt: promptedStt({ lines }),
    llm: functionLlm(() => 'That is fine.'),
    model: 'test',
    tts: toneTts(),
    clock,
    ticker,
    log: (entry) => log.push(entry),
    ...rest,
    conversation: {
      ...DEFAULT_CONVERSATION,
      opening: { ...DEFAULT_CONVERSATION.opening, firstMessage: 'Hello there.' },
      ...conversation,
    },
  });
  let report: SessionReport | undefined;
  void session.run().then((done) => (report = done));
  await clock.runUntil(() => report !== undefined, 600_000);
  if (report === undefined) throw new Error('the session did not end');
  return { report, log, audio: transport.recording(), pending: clock.pending };
}

function energyBetween(samples: Int16Array, fromMs: number, toMs: number): number {
  return samples
    .subarray(msToSamples(fromMs, 16_000), msToSamples(toMs, 16_000))
    .reduce((sum, sample) => sum + Math.abs(sample), 0);
}

describe('a session over a recording', () => {
  it('greets, hears, answers and ends when the user hangs up', async () => {
    const { report, pending } = await play(recording(5000, [2000, 3000]), ['can you help me please']);
    expect(report.status).toBe('user-ended');
    expect(report.messages).toEqual([
      { role: 'assistant', content: 'Hello there.' },
      { role: 'user', content: 'can you help me please' },
      { role: 'assistant', content: 'That is fine.' },
    ]);
    expect(report.faults).toEqual({});
    expect(pending).toBe(0);
  });

  it('measures the response from the end of speech to the first audio at the line', async () => {
    const { report, audio } = await play(recording(6000, [2000, 3000]), ['can you help me please']);
    const [turn] = report.turns;
    expect(turn?.speechEndMs).toBeCloseTo(3000, -2);
    expect(turn?.responseMs).toBeGreaterThan(0);
    const startMs = turn?.audioStartMs ?? 0;
    expect(energyBetween(audio, 2900, startMs - 1)).toBe(0);
    expect(energyBetween(audio, startMs, startMs + 40)).toBeGreaterThan(0);
  });

  it('falls silent within a frame when it is interrupted and keeps only what was heard', async () => {
    const long = 'one two three four five six seven eight nine ten eleven twelve.';
    const { report, audio, log } = await play(
      recording(9000, [1500, 2000], [4000, 5000]),
      ['please tell me a story', 'stop that right now please'],
      { llm: functionLlm(({ messages }) => (messages.length > 3 ? 'Very well.' : long)) },
    );
    const hold = log.find((entry) => entry.kind === 'effect' && entry.effect.type === 'playout.hold');
    expect(hold?.t).toBeGreaterThan(4000);
    expect(hold?.t).toBeLessThan(4150);
    expect(energyBetween(audio, (hold?.t ?? 0) + 40, 5000)).toBe(0);
    const said = report.messages[2];
    expect(long.startsWith(said?.content ?? '-')).toBe(true);
    expect(said?.content.length).toBeLessThan(long.length);
    expect(report.messages.at(-1)).toEqual({ role: 'assistant', content: 'Very well.' });
  });

  it('decides alike to the bit in two runs', async () => {
    const run = (): Promise<Played> => play(recording(5000, [2000, 3000]), ['can you help me please']);
    const [first, second] = [await run(), await run()];
    expect(second.log).toEqual(first.log);
    expect(second.audio).toEqual(first.audio);
  });
});
