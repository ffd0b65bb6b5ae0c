import { describe, expect, it } from 'vitest';
import { delay } from '../../../src/base/clock.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import type { SttEvents, SttOptions, SttProvider, SttStream, SttTranscript } from '../../../src/providers/stt/stt.js';
import { Recogniser } from '../../../src/session/hearing/recogniser.js';

/** A stream that writes down what it gets. */
class ToldStream implements SttStream {
  readonly reported: string[] = [];
  closed = 0;
  throws = false;

  constructor(readonly events: SttEvents) {}

  push(samples: Int16Array, startSample: number): void {
    if (this.throws) throw new Error('broken pipe');
    this.reported.push(`audio ${String(startSample)}+${String(samples.length)}`);
  }

  speechStarted(sample: number): void {
    this.reported.push(`start ${String(sample)}`);
  }

  speechStopped(sample: number): void {
    this.reported.push(`stop ${String(sample)}`);
  }

  endTurn(): void {
    this.reported.push('end');
  }

  expect(answer: string | null): void {
    this.reported.push(`expect ${answer ?? 'anything'}`);
  }

  close(): Promise<void> {
    this.closed++;
    return Promise.resolve();
  }

  says(segment: number, text: string): void {
    this.events.onTranscript({ segment, text, isFinal: true, understood: true, confidence: 1 });
  }
}

interface Bench {
  clock: VirtualClock;
  recogniser: Recogniser;
  streams: ToldStream[];
  heard: string[];
  log: string[];
  abort: AbortController;
}

type Open = (options: SttOptions, stream: ToldStream, attempt: number) => Promise<SttStream>;

function bench(open: Open = (_options, stream) => Promise.resolve(stream)): Bench {
  const clock = new VirtualClock();
  const streams: ToldStream[] = [];
  const heard: string[] = [];
  const log: string[] = [];
  const abort = new AbortController();
  const stt: SttProvider = {
    name: 'bench',
    virtualTime: true,
    warmUp: () => Promise.resolve(),
    close: () => Promise.resolve(),
    open: (options, events) => {
      const stream = new ToldStream(events);
      streams.push(stream);
      return open(options, stream, streams.length);
    },
  };
  const recogniser = new Recogniser(
    {
      clock,
      emit: (event) => event.type === 'ears.failed' && log.push(`failed: ${event.reason}`),
      fault: (_name, reason) => log.push(`retry: ${reason}`),
    },
    {
      stt,
      language: 'en-US',
      hints: { phrases: [], texts: [], keywords: new Map() },
      signal: abort.signal,
      onTranscript: ({ segment, text }: SttTranscript) => heard.push(`${String(segment)} ${text}`),
    },
  );
  return { clock, recogniser, streams, heard, log, abort };
}

const AUDIO = new Int16Array(320);

describe('opening', () => {
  it('keeps what is said meanwhile and tells it in order', async () => {
    const { clock, recogniser, streams, log } = bench(async (options, stream) => {
      await delay(options.clock, 50);
      return stream;
    });
    recogniser.push(AUDIO, 0);
    recogniser.open();
    recogniser.speechStarted(100);
    recogniser.push(AUDIO, 320);
    recogniser.speechStopped(500);
    recogniser.endTurn();
    recogniser.expect('date');
    await clock.advanceBy(100);
    recogniser.push(AUDIO, 640);
    expect(streams[0]?.reported).toEqual([
      'audio 0+320',
      'start 100',
      'audio 320+320',
      'stop 500',
      'end',
      'expect date',
      'audio 640+320',
    ]);
    expect(log).toEqual([]);
    await recogniser.close();
  });

  it('keeps the last ten seconds at most, and a copy of them', async () => {
    let opened: (stream: SttStream) => void = () => undefined;
    const { clock, recogniser, streams } = bench(() => new Promise((resolve) => (opened = resolve)));
    recogniser.open();
    const audio = new Int16Array(16_000);
    for (let second = 0; second < 15; second++) recogniser.push(audio, second * 16_000);
    opened(streams[0] as ToldStream);
    await clock.advanceBy(0);
    expect(streams[0]?.reported).toEqual(
      Array.from({ length: 10 }, (_, index) => `audio ${String((index + 5) * 16_000)}+16000`),
    );
    await recogniser.close();
  });

  it('tries again where the provider refuses, throws or hangs, with growing waits', async () => {
    const { clock, recogniser, streams, heard, log } = bench((_options, stream, attempt) => {
      if (attempt === 1) return Promise.reject(new Error('busy'));
      if (attempt === 2) throw new Error('no such thing');
      return Promise.resolve(stream);
    });
    recogniser.open();
    recogniser.push(AUDIO, 0);
    await clock.advanceBy(0);
    await clock.advanceBy(10);
    expect([streams.length, log]).toEqual([2, ['retry: busy', 'retry: no such thing']]);
    recogniser.push(AUDIO, 320);
    await clock.advanceBy(240);
    await clock.advanceBy(10);
    expect(streams[2]?.reported).toEqual(['audio 0+320', 'audio 320+320']);
    streams[2]?.says(0, 'hello');
    expect(heard).toEqual(['0 hello']);
    await recogniser.close();
    expect(clock.pending).toBe(0);
  });

  it('gives up after the last attempt, and says so once', async () => {
    const { clock, recogniser, streams, log } = bench(() => Promise.reject(new Error('no network')));
    recogniser.open();
    await clock.runUntil(() => log.some((line) => line.startsWith('failed')));
    expect(streams).toHaveLength(4);
    expect(log).toEqual([...Array.from({ length: 3 }, () => 'retry: no network'), 'failed: no network']);
    recogniser.push(AUDIO, 0); // to nobody
    await recogniser.close();
    expect(clock.pending).toBe(0);
  });

  it('gives up a provider that hangs, and closes what comes of it in the end', async () => {
    const late: ((stream: SttStream) => void)[] = [];
    const { clock, recogniser, streams, log } = bench(() => new Promise((resolve) => late.push(resolve)));
    recogniser.open();
    await clock.advanceBy(8000);
    expect(log).toEqual(['retry: bench did not answer within 8000 ms']);
    late[0]?.(streams[0] as ToldStream);
    await clock.advanceBy(10);
    expect([streams[0]?.closed, streams.length]).toEqual([1, 2]);
    await clock.advanceBy(40_000);
    expect(log.at(-1)).toBe('failed: bench did not answer within 8000 ms');
    await recogniser.close();
    expect(clock.pending).toBe(0);
  });

  it('is aborted with the session, without waiting for the provider', async () => {
    const { clock, recogniser, streams, log, abort } = bench(() => new Promise(() => undefined));
    recogniser.open();
    abort.abort(new Error('over'));
    await recogniser.close();
    await clock.advanceBy(0);
    expect([log, streams.length, clock.pending]).toEqual([[], 1, 0]);
  });

  it('closes a stream that comes when the session is over', async () => {
    let opened: (stream: SttStream) => void = () => undefined;
    const { clock, recogniser, streams, abort } = bench(() => new Promise((resolve) => (opened = resolve)));
    recogniser.open();
    abort.abort(new Error('over'));
    await recogniser.close();
    opened(streams[0] as ToldStream);
    await clock.advanceBy(0);
    expect(streams[0]?.closed).toBe(1);
  });
});

describe('the end of a turn', () => {
  it('is the end of its transcripts: a later revision is ignored', async () => {
    const { clock, recogniser, streams, heard } = bench();
    recogniser.open();
    await clock.advanceBy(1);
    streams[0]?.says(0, 'the name is');
    streams[0]?.says(0, 'the name is hill');
    recogniser.endTurn();
    streams[0]?.says(0, 'the name is miller');
    streams[0]?.says(1, 'yes');
    expect(heard).toEqual(['0 the name is', '0 the name is hill', '1 yes']);
    await recogniser.close();
  });
});

describe('a stream that dies', () => {
  it('is followed by another, which learns that the user is speaking; segment numbers continue', async () => {
    const { clock, recogniser, streams, heard, log } = bench();
    recogniser.open();
    await clock.advanceBy(0);
    streams[0]?.says(0, 'one');
    streams[0]?.says(3, 'two');
    recogniser.speechStarted(1000);
    streams[0]?.events.onError(new Error('gone'));
    streams[0]?.says(4, 'a ghost');
    recogniser.push(AUDIO, 1200);
    await clock.advanceBy(10);
    expect(streams[1]?.reported).toEqual(['start 1000', 'audio 1200+320']);
    streams[1]?.says(0, 'three');
    expect(heard).toEqual(['0 one', '3 two', '4 three']);
    expect(log).toEqual(['retry: gone']);
    expect(streams[0]?.closed).toBe(1);
    await recogniser.close();
    expect(streams[1]?.closed).toBe(1);
  });

  it('may fail while it handles an event', async () => {
    const { clock, recogniser, streams, log } = bench();
    recogniser.open();
    await clock.advanceBy(0);
    (streams[0] as ToldStream).throws = true;
    recogniser.push(AUDIO, 0);
    recogniser.push(AUDIO, 320);
    await clock.advanceBy(10);
    expect(log).toEqual(['retry: broken pipe']);
    expect(streams[1]?.reported).toEqual(['audio 320+320']);
    await recogniser.close();
  });

  it('counts anew once a stream has lived for half a minute', async () => {
    const { clock, recogniser, streams, log } = bench();
    recogniser.open();
    for (let life = 0; life < 6; life++) {
      await clock.advanceBy(31_000);
      streams.at(-1)?.events.onError(new Error('idle'));
    }
    await clock.advanceBy(10);
    expect(log).toEqual(Array.from({ length: 6 }, () => 'retry: idle'));
    await recogniser.close();
  });

  it('is not a fault after the close', async () => {
    const { clock, recogniser, streams, heard, log } = bench();
    recogniser.open();
    await clock.advanceBy(0);
    await recogniser.close();
    await recogniser.close();
    streams[0]?.events.onError(new Error('late'));
    streams[0]?.says(0, 'late');
    await clock.advanceBy(5000);
    expect([log, heard, streams.length, streams[0]?.closed]).toEqual([[], [], 1, 1]);
  });
});

it('is given up if no stream understands a word, however long each lasts, but not without speech', async () => {
  const { clock, recogniser, streams, log } = bench();
  recogniser.open();
  await clock.advanceBy(10);
  const broken = async (): Promise<void> => {
    await clock.advanceBy(60_000);
    streams.at(-1)?.events.onError(new Error('gone'));
    await clock.advanceBy(2000);
  };
  for (let time = 0; time < 6; time++) await broken();
  expect(log).toEqual(Array.from({ length: 6 }, () => 'retry: gone'));
  for (let time = 0; time < 4; time++) {
    recogniser.speechStarted(time * 1000);
    recogniser.speechStopped(time * 1000 + 500);
    recogniser.endTurn();
    await broken();
  }
  expect(log.at(-1)).toBe('failed: gone');
  await recogniser.close();
});
