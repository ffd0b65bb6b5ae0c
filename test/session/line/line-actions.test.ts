import { describe, expect, it } from 'vitest';
import { DtmfDetector, dtmfTones } from '../../../src/audio/tones/dtmf.js';
import { msToSamples } from '../../../src/audio/frame.js';
import { ToneGenerator } from '../../../src/audio/tones/tones.js';
import { delay } from '../../../src/base/clock.js';
import { Ticker } from '../../../src/base/ticker.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { type ConversationConfig, DEFAULT_CONVERSATION } from '../../../src/agent/flow/conversation-config.js';
import type { LlmRequest } from '../../../src/providers/llm/llm.js';
import type { LogEntry } from '../../../src/session/record/event-log.js';
import { Session } from '../../../src/session/session.js';
import type { SessionReport } from '../../../src/session/record/session-report.js';
import { energyVad } from '../../../src/testing/doubles/energy-vad.js';
import { type Answer, functionLlm } from '../../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../../src/testing/doubles/prompted-stt.js';
import { toneTts } from '../../../src/testing/doubles/tone-tts.js';
import { MemoryTransport, type MemoryTransportOptions } from '../../../src/transports/memory.js';
import type { TransportMessage } from '../../../src/transports/transport.js';

const RATE = 16_000;
const FRAME = 320;
const SALES = '+15550100';

interface Line {
  clock: VirtualClock;
  transport: MemoryTransport;
  session: Session;
  requests: LlmRequest[];
  messages: TransportMessage[];
  log: LogEntry[];
  /** What the user heard, from the start. */
  heard: number[];
  /** Has the user's audio sound from a time on. */
  sound: (atMs: number, samples: Int16Array) => void;
  /** Plays on until the session is over, or for this long. */
  play: (forMs?: number) => Promise<SessionReport | undefined>;
}

/** A session on a memory line that can do what the options say. */
function open(
  conversation: Partial<ConversationConfig>,
  answer: (request: LlmRequest) => Answer,
  options: (clock: VirtualClock) => MemoryTransportOptions = () => ({}),
  lines: readonly string[] = [],
  echoGain = 0,
): Line {
  const clock = new VirtualClock();
  const ticker = new Ticker(clock);
  const heard: number[] = [];
  const messages: TransportMessage[] = [];
  const transport = new MemoryTransport({
    onFrame: (frame) => heard.push(...(frame ?? new Int16Array(FRAME))),
    onMessage: (message) => messages.push(message),
    ...options(clock),
  });
  const requests: LlmRequest[] = [];
  const log: LogEntry[] = [];
  const session = new Session({
    id: 's1',
    transport,
    vad: energyVad(),
    stt: promptedStt({ lines }),
    llm: functionLlm((request) => {
      requests.push(request);
      return answer(request);
    }),
    model: 'test',
    tts: toneTts(),
    clock,
    ticker,
    log: (entry) => log.push(entry),
    conversation: {
      ...DEFAULT_CONVERSATION,
      opening: { firstMessage: null, userStarts: true, userStartTimeoutMs: 600_000 },
      ...conversation,
    },
  });
  const input = new Int16Array(RATE * 120);
  let at = 0;
  const stop = ticker.subscribe(() => {
    const echo = heard.slice(-FRAME);
    transport.pushAudio(input.slice(at, at + FRAME).map((sample, i) => sample + echoGain * (echo[i] ?? 0)));
    at += FRAME;
  });
  let report: SessionReport | undefined;
  void session.run().then((done) => {
    report = done;
    stop();
  });
  const sound = (atMs: number, samples: Int16Array): void => input.set(samples, msToSamples(atMs, RATE));
  const play = async (forMs = 100_000): Promise<SessionReport | undefined> => {
    await clock.runUntil(() => report !== undefined, clock.nowMs() + forMs);
    return report;
  };
  return { clock, transport, session, requests, messages, log, heard, sound, play };
}

const toolResults = ({ requests }: Line): string[] =>
  requests.at(-1)?.messages.flatMap((message) => (message.role === 'tool' ? [message.content] : [])) ?? [];

const call = (name: string, args: object): Answer => ({ calls: [{ name, arguments: JSON.stringify(args) }] });

function keysIn(samples: readonly number[]): { digit: string; startMs: number }[] {
  return new DtmfDetector(RATE)
    .push(Int16Array.from(samples))
    .map(({ digit, startSample }) => ({ digit, startMs: (startSample * 1000) / RATE }));
}

describe('a transfer', () => {
  const transfer = {
    targets: [{ phone: SALES, description: null }],
    instruction: null,
    messages: ['Please hold the line.'],
  };
  const asked = ({ messages }: LlmRequest): Answer =>
    messages.some(({ role }) => role === 'tool') ? 'Nobody is there.' : call('transfer_call', {});

  it.each([
    ['has the user hear ringing until somebody answers, on a line that is silent else', true],
    ['leaves the line alone that sounds of itself', undefined],
  ])('%s', async (_name, ringsOnTransfer) => {
    const line = open({ transfer }, asked, (clock) => ({
      transfer: async (_target, signal) => {
        await delay(clock, 10_000, signal);
        return { ok: true };
      },
    }));
    Object.assign(line.transport, { ringsOnTransfer });
    line.transport.pushText('A person, please.');
    await line.play();
    // 2 s of ringing, then 4 s of silence: 440 and 480 Hz together, in the last 10 s.
    const rung = line.heard.slice(-10 * RATE).filter((sample) => Math.abs(sample) > 500).length / RATE;
    expect(rung > 1).toBe(ringsOnTransfer === true);
  });

  it('that the line makes ends the agent part and is in the report', async () => {
    const line = open({ transfer }, asked, (clock) => ({
      transfer: async (_target, signal) => {
        await delay(clock, 3000, signal);
        return { ok: true };
      },
    }));
    line.transport.pushText('A person, please.');
    const report = await line.play();
    expect(report?.status).toBe('agent-ended');
    expect(report?.transfers).toEqual([
      { target: SALES, ok: true, reason: null, detail: null, attended: false, tookMs: 3000 },
    ]);
    expect(report?.messages).toContainEqual(expect.objectContaining({ content: 'Please hold the line.' }));
    expect(line.messages).toContainEqual(expect.objectContaining({ type: 'action', name: 'transfer' }));
    expect(line.clock.pending).toBe(0);
  });

  it.each([
    ['busy', /busy/],
    ['no-answer', /nobody answered/],
    ['unsupported', /cannot transfer/],
  ] as const)('that fails (%s) returns to the user, who hears so', async (reason, words) => {
    const line = open({ transfer }, asked, () => ({ transfer: () => Promise.resolve({ ok: false, reason }) }));
    line.transport.pushText('A person, please.');
    await line.play(10_000);
    expect(toolResults(line)).toEqual([expect.stringMatching(words)]);
    line.transport.hangUp();
    const report = await line.play();
    expect(report?.transfers).toMatchObject([{ ok: false, reason }]);
    expect(report?.messages.at(-1)?.content).toBe('Nobody is there.');
  });

  it('is not supported by a line without it', async () => {
    const line = open({ transfer }, asked);
    line.transport.pushText('A person, please.');
    await line.play(10_000);
    expect(toolResults(line)).toEqual([expect.stringMatching(/cannot transfer/)]);
    await line.session.close();
  });

  it('that throws has failed, and is a fault', async () => {
    const line = open({ transfer }, asked, () => ({ transfer: () => Promise.reject(new Error('no route')) }));
    line.transport.pushText('A person, please.');
    await line.play(10_000);
    expect(toolResults(line)).toEqual([expect.stringMatching(/it failed/)]);
    const report = await line.session.close();
    expect(report.faults).toEqual({ 'transfer.failed': 1 });
  });

  it('that is not answered is aborted in time, and so is one that the call leaves behind', async () => {
    const aborted: number[] = [];
    const line = open({ transfer }, asked, (clock) => ({
      transfer: (_target, signal) => {
        signal.addEventListener('abort', () => aborted.push(clock.nowMs()));
        return delay(clock, Number.MAX_SAFE_INTEGER, signal).then(() => ({ ok: true }));
      },
    }));
    line.transport.pushText('A person, please.');
    await line.play(70_000);
    expect(aborted).toHaveLength(1);
    expect(toolResults(line)).toEqual([expect.stringMatching(/nobody answered/)]);
    const second = open({ transfer }, asked, (clock) => ({
      transfer: (_target, signal) => delay(clock, 50_000, signal).then(() => ({ ok: true })),
    }));
    second.transport.pushText('A person, please.');
    await second.play(8000);
    second.transport.hangUp();
    expect((await second.play())?.status).toBe('user-ended');
    expect(second.clock.pending).toBe(0);
    await line.session.close();
  });

  it('that the user has not waited for is in the report, however long others take to say so', async () => {
    const line = open({ transfer }, asked, () => ({ transfer: () => new Promise(() => undefined) }));
    line.transport.pushText('A person, please.');
    await line.play(8000);
    line.transport.hangUp();
    expect((await line.play())?.transfers).toMatchObject([{ ok: false, reason: 'no-answer' }]);
  });
});

describe('keys', () => {
  const keypad = { enabled: true, instruction: null };
  const pressing =
    (digits: string) =>
    ({ messages }: LlmRequest): Answer =>
      messages.some(({ role }) => role === 'tool') ? '' : call('press_digits', { digits });

  it('are played as tones of 100 ms with gaps of 100 ms, and w waits', async () => {
    const line = open({ keypad }, pressing('12w#'));
    line.transport.pushText('Press one, two, hash.');
    await line.play(8000);
    const keys = keysIn(line.heard);
    expect(keys.map(({ digit }) => digit).join('')).toBe('12#');
    const [one, two, hash] = keys.map(({ startMs }) => startMs);
    expect((two ?? 0) - (one ?? 0)).toBeCloseTo(200, -1.2);
    expect((hash ?? 0) - (two ?? 0)).toBeCloseTo(700, -1.2);
    expect(toolResults(line)).toEqual(['Pressed 1 2 w #.']);
    await line.session.close();
  });

  it('that come back as an echo are ignored: no digits, no speech', async () => {
    const line = open({ keypad }, pressing('159'), undefined, [], 0.5);
    line.transport.pushText('Press one, five, nine.');
    await line.play(8000);
    const seen = line.log.flatMap((entry) => (entry.kind === 'event' ? [entry.event.type] : []));
    expect(seen).not.toContain('digits');
    expect(seen).not.toContain('speech.started');
    line.sound(9000, dtmfTones('4', RATE));
    await line.play(2000);
    expect(line.log.some((entry) => entry.kind === 'event' && entry.event.type === 'digits')).toBe(true);
    await line.session.close();
  });

  it('are sent by the line itself where it can, one row after another', async () => {
    const sent: [string, number][] = [];
    const line = open(
      { keypad },
      ({ messages }) =>
        messages.some(({ role }) => role === 'tool')
          ? ''
          : {
              calls: ['12', '3'].map((digits) => ({ name: 'press_digits', arguments: JSON.stringify({ digits }) })),
            },
      (clock) => ({
        sendDigits: (digits, signal) => {
          sent.push([digits, clock.nowMs()]);
          return delay(clock, 400, signal);
        },
      }),
    );
    line.transport.pushText('Press.');
    await line.play(8000);
    expect(sent.map(([digits]) => digits)).toEqual(['12', '3']);
    expect((sent[1]?.[1] ?? 0) - (sent[0]?.[1] ?? 0)).toBe(400);
    expect(keysIn(line.heard)).toEqual([]);
    expect(toolResults(line)).toEqual(['Pressed 1 2.', 'Pressed 3.']);
    await line.session.close();
  });

  it('that the line cannot send are reported', async () => {
    const line = open({ keypad }, pressing('1'), () => ({ sendDigits: () => Promise.reject(new Error('no route')) }));
    line.transport.pushText('Press.');
    await line.play(8000);
    expect(toolResults(line)).toEqual([expect.stringMatching(/could not be pressed/)]);
    expect((await line.session.close()).faults).toEqual({ 'digits.failed': 1 });
  });

  it('that the line never finishes are given up; the call may end in the middle of them', async () => {
    const never = (clock: VirtualClock): MemoryTransportOptions => ({
      sendDigits: () => delay(clock, Number.MAX_SAFE_INTEGER, new AbortController().signal),
    });
    const line = open({ keypad }, pressing('1'), never);
    line.transport.pushText('Press.');
    await line.play(20_000);
    expect(toolResults(line)).toEqual([expect.stringMatching(/took too long/)]);
    await line.session.close();
    const other = open({ keypad }, pressing('1'.repeat(30)));
    other.transport.pushText('Press.');
    await other.play(2000);
    expect((await other.session.close()).status).toBe('api-ended');
  });
});

describe('a beep', () => {
  const voicemail = {
    action: 'message' as const,
    message: 'Call me.',
    continueOnVoiceActivity: false,
    detectionPhrases: [],
  };
  /** Speech to this VAD, and no beep: it has two tones. */
  const voice = Int16Array.from({ length: RATE }, (_, at) => 3000 * (Math.sin(at / 5) + Math.sin(at / 7.3)));
  const beep = (hz: number): Int16Array => {
    const out = new Int16Array(RATE * 0.4);
    new ToneGenerator(RATE, { frequenciesHz: [hz], levelDbfs: -12 }).read(out);
    return out;
  };

  it('of a mailbox is heard after speech, and the message is left right behind it', async () => {
    const line = open({ direction: 'outbound', voicemail }, () => 'Yes?', undefined, ['please leave a message']);
    line.sound(1000, voice);
    line.sound(3000, beep(1000));
    const report = await line.play(20_000);
    expect(report?.status).toBe('voicemail-message');
    const start = line.heard.findIndex((sample, at) => at > RATE * 3 && sample !== 0);
    expect((start * 1000) / RATE).toBeGreaterThan(3400);
    expect((start * 1000) / RATE).toBeLessThan(3700);
  });

  it('before any speech, or on an inbound call, is a sound like any other', async () => {
    for (const direction of ['inbound', 'outbound'] as const) {
      const line = open({ direction, voicemail }, () => 'Yes?');
      line.sound(direction === 'inbound' ? 3000 : 500, beep(1000));
      await line.play(10_000);
      expect(line.log.some((entry) => entry.kind === 'event' && entry.event.type === 'beep')).toBe(false);
      await line.session.close();
    }
  });
});
