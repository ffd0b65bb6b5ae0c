import { describe, expect, it } from 'vitest';
import { delay } from '../../../src/base/clock.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { ParleyError } from '../../../src/base/errors.js';
import { Health, switchText } from '../../../src/providers/failover/health.js';
import { FailoverStt, type SttEntry } from '../../../src/providers/failover/stt.js';
import type { SttEvents, SttOptions, SttProvider, SttStream } from '../../../src/providers/stt/stt.js';

const FRAME = 320;

/** What a recogniser of the test does; changed at any time. */
interface Behaviour {
  openMs: number;
  openError: Error | null;
  /** Until final words; null = never. */
  finalMs: number | null;
  /** Interim words come with the audio. */
  hasInterim: boolean;
}

const behaviour = (changes: Partial<Behaviour> = {}): Behaviour => ({
  openMs: 50,
  openError: null,
  finalMs: 100,
  hasInterim: true,
  ...changes,
});

/** Hears each frame's value as a word, 0 as silence. */
class FakeStream implements SttStream {
  words: number[] = [];
  readonly heard: number[] = [];
  segment = 0;
  closed = false;

  constructor(
    readonly owner: Fake,
    readonly options: SttOptions,
    readonly events: SttEvents,
  ) {}

  push(samples: Int16Array, startSample: number): void {
    this.heard.push(startSample);
    const word = samples[0] ?? 0;
    if (word === 0) return;
    this.words.push(word);
    if (this.owner.does.hasInterim) this.tell(false);
  }

  speechStarted(): void {}

  speechStopped(): void {
    const { finalMs } = this.owner.does;
    const { clock } = this.options;
    if (finalMs === null) return;
    const { segment } = this;
    clock.schedule(clock.nowMs() + finalMs, () => {
      if (segment === this.segment) this.tell(true);
    });
  }

  endTurn(): void {
    this.segment++;
    this.words = [];
  }

  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }

  tell(isFinal: boolean): void {
    const text = `${this.owner.name} ${this.words.join(' ')}`.trim();
    if (!this.closed) {
      this.events.onTranscript({ segment: this.segment, text, isFinal, understood: true, confidence: null });
    }
  }
}

class Fake implements SttProvider {
  readonly virtualTime = true;
  readonly streams: FakeStream[] = [];

  constructor(
    readonly name: string,
    public does: Behaviour,
  ) {}

  warmUp(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async open(options: SttOptions, events: SttEvents): Promise<SttStream> {
    await delay(options.clock, this.does.openMs, options.signal);
    if (this.does.openError !== null) throw this.does.openError;
    const stream = new FakeStream(this, options, events);
    this.streams.push(stream);
    return stream;
  }

  get last(): FakeStream {
    return this.streams.at(-1) as FakeStream;
  }
}

class Scene {
  readonly clock = new VirtualClock();
  readonly reported: string[] = [];
  readonly lines: string[] = [];
  /** What each provider has made of its speech. */
  readonly outcomes: string[] = [];
  readonly errors: Error[] = [];
  readonly fakes: Fake[];
  readonly entries: SttEntry[];
  readonly abort = new AbortController();
  stream: SttStream | null = null;
  #sample = 0;

  constructor(...plans: Behaviour[]) {
    this.fakes = plans.map((does, at) => new Fake(['a', 'b', 'c'][at] ?? 'd', does));
    this.entries = this.fakes.map((provider) => ({ provider, health: new Health() }));
  }

  async open(): Promise<void> {
    const stt = new FailoverStt({ entries: this.entries, onSwitch: (what) => this.reported.push(switchText(what)) });
    let done = false;
    const opening = stt.open(
      {
        language: 'en-US',
        clock: this.clock,
        signal: this.abort.signal,
        hints: { phrases: [], texts: [], keywords: new Map() },
      },
      {
        onTranscript: ({ segment, text, isFinal }) =>
          this.lines.push(`${String(segment)}${isFinal ? '!' : '?'} ${text}`),
        onOutcome: (what) =>
          this.outcomes.push(`${what.provider} ${'firstMs' in what ? String(what.firstMs) : what.failed}`),
        onError: (error) => this.errors.push(error),
      },
    );
    const settled = opening.then(
      (stream) => (this.stream = stream),
      (error: unknown) => this.errors.push(error as Error),
    );
    void settled.finally(() => (done = true));
    await this.clock.runUntil(() => done, 60_000);
  }

  /** A frame of 20 ms for each word, in time. */
  async hear(...words: number[]): Promise<void> {
    for (const word of words) {
      this.stream?.push(new Int16Array(FRAME).fill(word), this.#sample);
      this.#sample += FRAME;
      await this.clock.advanceBy(20);
    }
  }

  async say(...words: number[]): Promise<void> {
    this.stream?.speechStarted(this.#sample);
    await this.hear(...words);
    this.stream?.speechStopped(this.#sample);
  }

  get finals(): string[] {
    return this.lines.filter((line) => line.includes('!'));
  }
}

const down = new ParleyError('PROVIDER_FAILED', { provider: 'a', reason: 'it closed the connection (1011)' });

it('lets one listen as long as it does well', async () => {
  const scene = new Scene(behaviour(), behaviour());
  await scene.open();
  for (let turn = 0; turn < 3; turn++) {
    await scene.say(turn + 1, 5);
    await scene.clock.advanceBy(500);
    scene.stream?.endTurn();
  }
  expect(scene.finals).toEqual(['0! a 1 5', '1! a 2 5', '2! a 3 5']);
  expect([scene.reported, scene.fakes[1]?.streams.length]).toEqual([[], 0]);
  expect(scene.outcomes).toEqual(['a 100', 'a 100', 'a 100']);
});

it('plays the turn so far to the next where one breaks off, and nothing is said twice', async () => {
  const scene = new Scene(behaviour(), behaviour());
  await scene.open();
  await scene.say(1);
  await scene.clock.advanceBy(500);
  scene.stream?.endTurn();
  await scene.hear(0, 0);
  scene.stream?.speechStarted(0);
  await scene.hear(2, 3);
  scene.fakes[0]?.last.events.onError(down);
  await scene.hear(4, 5);
  scene.stream?.speechStopped(0);
  await scene.clock.advanceBy(500);
  expect(scene.finals).toEqual(['0! a 1', '1! b 2 3 4 5']);
  expect(scene.reported).toEqual(['a -> b: a failed: it closed the connection (1011)']);
  expect(scene.errors).toEqual([]);
  expect(scene.outcomes).toEqual(['a 100', 'a error', 'b 100']);
  scene.stream?.endTurn();
  await scene.say(6);
  await scene.clock.advanceBy(500);
  expect(scene.finals.at(-1)).toBe('2! b 6');
});

it('has another hear the turn where the final words are late, and takes whoever has them first', async () => {
  const scene = new Scene(behaviour({ finalMs: null, hasInterim: false }), behaviour({ finalMs: 60 }));
  await scene.open();
  const from = scene.clock.nowMs();
  await scene.say(1, 2, 3);
  await scene.clock.advanceBy(2000);
  expect(scene.lines).toEqual(['0! b 1 2 3']);
  expect(scene.reported).toEqual(['a -> b: no final words within 700 ms']);
  expect([scene.fakes[0]?.last.closed, from]).toEqual([true, 50]);
  // The other began late: what it took does not count from the end of the speech.
  expect(scene.outcomes).toEqual(['a late']);
});

it('keeps the first where that has them after all', async () => {
  const scene = new Scene(behaviour({ finalMs: 820 }), behaviour({ finalMs: 500 }));
  await scene.open();
  await scene.say(1, 2);
  await scene.clock.advanceBy(3000);
  expect(scene.finals).toEqual(['0! a 1 2']);
  expect([scene.reported, scene.fakes[1]?.streams.every(({ closed }) => closed)]).toEqual([[], true]);
});

it('waits no longer than it usually takes', async () => {
  const scene = new Scene(behaviour({ finalMs: 200 }), behaviour());
  await scene.open();
  for (let turn = 0; turn < 12; turn++) {
    await scene.say(1);
    await scene.clock.advanceBy(500);
    scene.stream?.endTurn();
  }
  const stalled = scene.fakes[0] as Fake;
  stalled.does = behaviour({ finalMs: null });
  await scene.say(9);
  await scene.clock.advanceBy(500);
  expect(scene.finals.at(-1)).toBe('12! b 9');
  expect(scene.reported).toEqual(['a -> b: no final words within 300 ms']);
});

it('asks another where nothing is understood of somebody who speaks and speaks', async () => {
  const mute = behaviour({ hasInterim: false, finalMs: null });
  const scene = new Scene(mute, behaviour());
  await scene.open();
  scene.stream?.speechStarted(0);
  await scene.hear(...Array.from({ length: 150 }, () => 7));
  expect(scene.reported).toEqual(['a -> b: no words within 2500 ms']);
  expect(scene.lines[0]).toMatch(/^0\? b( 7)+$/);
});

describe('opening', () => {
  it('goes to the next at once where one refuses', async () => {
    const refused = new ParleyError('PROVIDER_REFUSED', { provider: 'a', reason: 'HTTP 401' });
    const scene = new Scene(behaviour({ openError: refused }), behaviour());
    await scene.open();
    expect([scene.reported, scene.entries[0]?.health.breaker.isOpen]).toEqual([
      ['a -> b: a refused the request: HTTP 401'],
      true,
    ]);
    await scene.say(1);
    await scene.clock.advanceBy(500);
    expect(scene.finals).toEqual(['0! b 1']);
  });

  it('asks the next where one takes too long, and is open with the quicker one', async () => {
    const scene = new Scene(behaviour({ openMs: 9000 }), behaviour({ openMs: 100 }));
    await scene.open();
    expect([scene.clock.nowMs(), scene.reported]).toEqual([2100, ['a -> b: it was not open within 2000 ms']]);
  });

  it('fails with every reason where nobody can be had', async () => {
    const scene = new Scene(behaviour({ openError: down }), behaviour({ openError: new Error('no route') }));
    await scene.open();
    expect(scene.errors).toMatchObject([
      { message: 'every provider of the list failed: a failed: it closed the connection (1011); b: no route' },
    ]);
  });
});

it('opens one alone again, with what was heard, and gives up when that goes on', async () => {
  const scene = new Scene(behaviour());
  await scene.open();
  const [fake] = scene.fakes as [Fake];
  scene.stream?.speechStarted(0);
  await scene.hear(1, 2);
  fake.last.events.onError(down);
  await scene.clock.advanceBy(100);
  await scene.hear(3);
  scene.stream?.speechStopped(0);
  await scene.clock.advanceBy(500);
  expect(scene.finals).toEqual(['0! a 1 2 3']);
  fake.does = behaviour({ openError: down });
  fake.last.events.onError(down);
  await scene.clock.advanceBy(500);
  expect(scene.errors).toHaveLength(1);
  scene.stream?.push(new Int16Array(FRAME), 0);
  await scene.stream?.close();
});

it('goes on with the helper that is still being opened where the first breaks off meanwhile', async () => {
  const scene = new Scene(behaviour({ finalMs: null }), behaviour({ openMs: 9000 }), behaviour());
  await scene.open();
  await scene.say(1, 2);
  await scene.clock.advanceBy(900);
  scene.fakes[0]?.last.events.onError(down);
  await scene.clock.advanceBy(3000);
  expect(scene.finals).toEqual(['0! c 1 2']);
  expect(scene.reported).toEqual([
    'a -> b: a failed: it closed the connection (1011)',
    'b -> c: it was not open within 2000 ms',
  ]);
  expect(scene.errors).toEqual([]);
});

it('keeps what comes late of a turn that is over out of the next', async () => {
  const scene = new Scene(behaviour({ hasInterim: false, finalMs: null }), behaviour());
  await scene.open();
  await scene.say(1);
  scene.stream?.endTurn();
  const stream = scene.fakes[0]?.last as FakeStream;
  stream.events.onTranscript({ segment: 1, text: 'a new', isFinal: false, understood: true, confidence: null });
  expect(scene.lines).toEqual(['0? a new']);
  scene.stream?.endTurn();
  stream.events.onTranscript({ segment: 1, text: 'a late', isFinal: true, understood: true, confidence: null });
  expect(scene.lines).toEqual(['0? a new']);
});

it('is over with its session', async () => {
  const scene = new Scene(behaviour(), behaviour());
  await scene.open();
  await scene.say(1);
  scene.abort.abort();
  scene.fakes[0]?.last.events.onError(down);
  await scene.clock.advanceBy(5000);
  expect([scene.errors, scene.reported, scene.fakes[0]?.last.closed]).toEqual([[], [], true]);
  await scene.stream?.close();
});
