import { expect } from 'vitest';
import { msToSamples } from '../../src/audio/frame.js';
import { Ticker } from '../../src/base/ticker.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { type ConversationConfig, DEFAULT_CONVERSATION } from '../../src/agent/flow/conversation-config.js';
import { Conversation } from '../../src/conversation/conversation.js';
import type { ConversationEffect } from '../../src/conversation/events.js';
import type { LogEntry } from '../../src/session/record/event-log.js';
import { Session } from '../../src/session/session.js';
import type { SessionEvent, SessionOptions } from '../../src/session/session-options.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import { energyVad } from '../../src/testing/doubles/energy-vad.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../src/testing/doubles/tone-tts.js';
import { FileTransport } from '../../src/transports/file.js';
import type { Transport } from '../../src/transports/transport.js';

/** A recording of the user: a tone where they speak. */
export function recording(lengthMs: number, ...speech: [fromMs: number, toMs: number][]): Int16Array {
  const samples = new Int16Array(msToSamples(lengthMs, 16_000));
  for (const [fromMs, toMs] of speech) {
    for (let at = msToSamples(fromMs, 16_000); at < msToSamples(toMs, 16_000); at++) {
      samples[at] = Math.round(6000 * Math.sin(at / 5));
    }
  }
  return samples;
}

export interface Played {
  report: SessionReport;
  log: LogEntry[];
  events: SessionEvent[];
  audio: Int16Array;
  /** What the clock still has to do. */
  pending: number;
}

export interface PlayOptions extends Partial<Omit<SessionOptions, 'conversation'>> {
  conversation?: Partial<ConversationConfig>;
  /** What each stretch of speech says. */
  lines?: readonly string[];
  /** Puts something around the line. */
  wrap?: (transport: Transport, clock: VirtualClock) => Transport;
  /** Called when the session is about to run. */
  before?: (session: Session, clock: VirtualClock) => void;
}

/** Plays a recording through a session of doubles in virtual time. */
export async function play(samples: Int16Array, options: PlayOptions = {}): Promise<Played> {
  const { conversation, lines = [], before, wrap = (transport) => transport, ...rest } = options;
  const clock = new VirtualClock();
  const ticker = new Ticker(clock);
  const file = new FileTransport({ samples, sampleRateHz: 16_000, ticker, hangUpAfterMs: 4000 });
  const log: LogEntry[] = [];
  const events: SessionEvent[] = [];
  const session = new Session({
    id: 's1',
    transport: wrap(file, clock),
    vad: energyVad(),
    stt: promptedStt({ lines }),
    llm: functionLlm(() => 'That is fine.'),
    model: 'test',
    tts: toneTts(),
    clock,
    ticker,
    log: (entry) => log.push(entry),
    observe: (event) => events.push(event),
    ...rest,
    conversation: {
      ...DEFAULT_CONVERSATION,
      opening: { ...DEFAULT_CONVERSATION.opening, firstMessage: 'Hello there.' },
      ...conversation,
    },
  });
  before?.(session, clock);
  let report: SessionReport | undefined;
  void session.run().then((done) => (report = done));
  await clock.runUntil(() => report !== undefined, 600_000);
  if (report === undefined) throw new Error('the session did not end');
  return { report, log, events, audio: file.recording(), pending: clock.pending };
}

/** What the agent said, as far as it was heard. */
export function saidBy({ report }: Played): string[] {
  return report.messages.flatMap(({ role, content }) => (role === 'assistant' ? [content] : []));
}

/** The log's events give the log's effects again. */
export function expectReplay(log: readonly LogEntry[]): void {
  const [start] = log;
  if (start?.kind !== 'start') throw new Error('a log begins with its start');
  const conversation = new Conversation(start.config);
  const logged: ConversationEffect[] = [];
  const replayed: ConversationEffect[] = [];
  for (const entry of log) {
    if (entry.kind === 'event') replayed.push(...conversation.step(entry.event, entry.t, entry.position));
    if (entry.kind === 'effect') logged.push(entry.effect);
  }
  expect(JSON.stringify(replayed)).toBe(JSON.stringify(logged));
}
