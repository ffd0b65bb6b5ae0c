import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../src/base/virtual-clock.js';
import type { Grammar } from '../../../../src/providers/stt/lm/fsg.js';
import type { SpeechLanguage } from '../../../../src/providers/stt/lm/text.js';
import { DecoderLeases } from '../../../../src/providers/stt/embedded/decoder-leases.js';
import type { SpeakerMean } from '../../../../src/providers/stt/embedded/decoder.js';
import type { TurnDecoder } from '../../../../src/providers/stt/embedded/turn-decoder.js';
import type { Vocabulary } from '../../../../src/providers/stt/embedded/vocabulary.js';

/** A decoder whose transcript tells all that it was given: its agent, what it knew of the speaker, the turn's audio. */
class TellTale implements TurnDecoder {
  readonly language: SpeechLanguage;
  closed = false;
  loads: string[] = [];
  #heard: string[] | null = null;
  #frames = 0;

  constructor(language: SpeechLanguage) {
    this.language = language;
  }

  get speaker(): SpeakerMean {
    return { mean: new Float32Array(1), sum: new Float32Array(1), frames: this.#frames };
  }

  load({ key }: Vocabulary): void {
    if (key === 'refused') throw new Error('the grammar was refused');
    this.stop();
    this.loads.push(key);
  }

  start(speaker: SpeakerMean | null): void {
    if (this.#heard !== null) throw new Error('a turn runs already');
    this.#frames = speaker?.frames ?? 0;
    this.#heard = [`${this.loads.at(-1) ?? 'nothing'}/${String(this.#frames)}`];
  }

  feed(samples: Int16Array): void {
    if (this.#heard === null) throw new Error('no turn runs');
    this.#heard.push(String(samples[0]));
    this.#frames++;
  }

  hypothesis() {
    return { text: (this.#heard ?? []).join(' '), understood: true, confidence: 1, words: [] };
  }

  stop(): void {
    this.#heard = null;
  }

  close(): void {
    this.closed = true;
  }
}

const NO_GRAMMAR = {} as Grammar;

/** A desk whose every step is taken by hand. */
class Desk {
  readonly clock = new VirtualClock();
  readonly decoders: TellTale[] = [];
  readonly replies: [stream: number, reply: string][] = [];
  readonly #steps: (() => void)[] = [];
  readonly desk: DecoderLeases;
  fault: Error | null = null;

  constructor(size: number) {
    this.desk = new DecoderLeases({
      size,
      make: (language) => {
        if (this.fault !== null) return Promise.reject(this.fault);
        const decoder = new TellTale(language);
        this.decoders.push(decoder);
        return Promise.resolve(decoder);
      },
      clock: this.clock,
      soon: (step) => this.#steps.push(step),
    });
  }

  open(stream: number, key = 'pizza', language: SpeechLanguage = 'en'): void {
    const report = { words: 0, states: 0, guessed: [], leftOut: [] };
    this.desk.open(stream, { key, language, words: [], grammar: NO_GRAMMAR, report, score: () => [] });
  }

  hear(stream: number, sample: number, isFinal = false): void {
    this.desk.audio(stream, Int16Array.of(sample), isFinal, {
      done: (value) => this.replies.push([stream, value === null ? 'dropped' : (value as { text: string }).text]),
      failed: (error) => this.replies.push([stream, (error as Error).message]),
    });
  }

  /** Does all that can be done now. */
  async work(): Promise<void> {
    for (let quiet = 0; quiet < 3; quiet++) {
      for (let step = this.#steps.shift(); step !== undefined; step = this.#steps.shift()) {
        step();
        quiet = 0;
      }
      await Promise.resolve();
    }
  }

  async passTime(ms: number): Promise<void> {
    await this.clock.advanceBy(ms);
    await this.work();
  }

  /** What was answered since it was last asked. */
  heard(): string[] {
    return this.replies.splice(0).map(([stream, reply]) => `${String(stream)}: ${reply}`);
  }
}

describe('a decoder', () => {
  it('is lent for a turn and goes to the next speaker with its grammar', async () => {
    const desk = new Desk(4);
    for (let stream = 1; stream <= 3; stream++) desk.open(stream);
    for (let stream = 1; stream <= 3; stream++) {
      desk.hear(stream, stream, true);
      desk.desk.end(stream);
      await desk.work();
    }
    expect(desk.heard()).toEqual(['1: pizza/0 1', '2: pizza/0 2', '3: pizza/0 3']);
    expect(desk.decoders).toHaveLength(1);
    expect(desk.decoders[0]?.loads).toEqual(['pizza']);
  });

  it('is loaded before the first turn, while nobody speaks', async () => {
    const desk = new Desk(4);
    desk.open(1);
    await desk.work();
    expect(desk.decoders.map(({ loads }) => loads)).toEqual([['pizza']]);
  });

  it('is shared by two agents where there is one, each heard by its own words', async () => {
    const desk = new Desk(1);
    desk.open(1, 'pizza');
    desk.open(2, 'taxi');
    for (const [stream, sample] of [
      [1, 10],
      [2, 20],
      [1, 11],
      [2, 21],
    ] as const) {
      desk.hear(stream, sample, true);
      desk.desk.end(stream);
      await desk.work();
    }
    expect(desk.heard()).toEqual(['1: pizza/0 10', '2: taxi/0 20', '1: pizza/1 11', '2: taxi/1 21']);
    expect(desk.decoders[0]?.loads).toEqual(['pizza', 'taxi', 'pizza', 'taxi']);
  });

  it('of another language is replaced', async () => {
    const desk = new Desk(1);
    desk.open(1);
    desk.open(2, 'le taxi', 'fr');
    desk.hear(1, 10, true);
    desk.desk.end(1);
    desk.hear(2, 20, true);
    await desk.work();
    expect(desk.heard().toSorted()).toEqual(['1: pizza/0 10', '2: le taxi/0 20']);
    expect(desk.decoders).toHaveLength(2);
    expect(desk.decoders.filter(({ closed }) => closed)).toHaveLength(1);
  });

  it('is made where agents differ and there may be more', async () => {
    const desk = new Desk(2);
    desk.open(1, 'pizza');
    desk.open(2, 'taxi');
    desk.open(3, 'bank');
    await desk.work();
    expect(desk.decoders.map(({ loads }) => loads)).toEqual([['pizza'], ['taxi']]);
    desk.desk.close(1);
    desk.open(4, 'shop');
    await desk.work();
    expect(desk.decoders.map(({ loads }) => loads)).toEqual([['pizza', 'shop'], ['taxi']]);
  });
});

describe('what a session knows of its speaker', () => {
  it('follows it from turn to turn, and nobody else', async () => {
    const desk = new Desk(1);
    desk.open(1);
    desk.open(2);
    for (const stream of [1, 2, 1, 2, 1]) {
      desk.hear(stream, 5);
      desk.hear(stream, 6, true);
      desk.desk.end(stream);
      await desk.work();
    }
    const finals = desk.heard().filter((reply) => reply.endsWith('5 6'));
    expect(finals.map((reply) => reply.split(' ')[1])).toEqual(['pizza/0', 'pizza/0', 'pizza/2', 'pizza/2', 'pizza/4']);
  });

  it('takes in a turn whose decoder was taken away before it was over', async () => {
    const desk = new Desk(1);
    desk.open(1);
    desk.open(2);
    desk.hear(1, 10, true);
    await desk.work();
    desk.hear(2, 20, true);
    await desk.work();
    desk.desk.end(1);
    desk.hear(1, 11, true);
    await desk.work();
    expect(desk.heard()).toEqual(['1: pizza/0 10', '2: pizza/0 20', '1: pizza/1 11']);
  });
});

describe('where all decoders are lent', () => {
  it('what is said is kept and caught up on when one is free', async () => {
    const desk = new Desk(1);
    desk.open(1);
    desk.open(2);
    desk.hear(1, 10);
    await desk.work();
    desk.hear(2, 20);
    desk.hear(2, 21);
    await desk.work();
    expect(desk.heard()).toEqual(['1: pizza/0 10']);
    desk.hear(1, 11, true);
    await desk.work();
    expect(desk.heard()).toEqual(['1: pizza/0 10 11', '2: pizza/0 20', '2: pizza/0 20 21']);
    expect(desk.decoders).toHaveLength(1);
  });

  it('one is taken back in a pause, and the turn goes on as if nothing had been', async () => {
    const desk = new Desk(1);
    desk.open(1);
    desk.open(2, 'taxi');
    desk.hear(1, 10);
    desk.hear(1, 11, true);
    await desk.work();
    desk.hear(2, 20, true);
    await desk.work();
    desk.hear(1, 12, true);
    await desk.work();
    expect(desk.heard()).toEqual(['1: pizza/0 10', '1: pizza/0 10 11', '2: taxi/0 20', '1: pizza/0 10 11 12']);
  });

  it('a speaker of whom nothing comes any more does not starve the others', async () => {
    const desk = new Desk(1);
    desk.open(1);
    desk.open(2);
    desk.hear(1, 10);
    await desk.work();
    desk.hear(2, 20);
    await desk.passTime(300);
    expect(desk.heard()).toEqual(['1: pizza/0 10']);
    await desk.passTime(100);
    expect(desk.heard()).toEqual(['2: pizza/0 20']);
    desk.hear(1, 11);
    await desk.work();
    expect(desk.heard()).toEqual(['1: pizza/0 10 11']);
    expect(desk.clock.pending).toBe(0);
  });

  it('any number of speakers are all heard, in order', async () => {
    const desk = new Desk(2);
    const streams = Array.from({ length: 9 }, (_, i) => i + 1);
    for (const stream of streams) desk.open(stream, `agent ${String(stream % 3)}`);
    for (let piece = 0; piece < 4; piece++) {
      for (const stream of streams) desk.hear(stream, piece, piece === 3);
      await desk.work();
    }
    for (let i = 0; i < 20; i++) await desk.passTime(400);
    for (const stream of streams) {
      const mine = desk.replies.filter(([one]) => one === stream).map(([, reply]) => reply);
      const agent = `agent ${String(stream % 3)}/0`;
      expect(mine).toEqual([`${agent} 0`, `${agent} 0 1`, `${agent} 0 1 2`, `${agent} 0 1 2 3`]);
    }
    expect(desk.decoders).toHaveLength(2);
  });

  it('a session that closes while it waits learns so, and waits no more', async () => {
    const desk = new Desk(1);
    desk.open(1);
    desk.open(2);
    desk.hear(1, 10);
    await desk.work();
    desk.hear(2, 20);
    await desk.work();
    desk.desk.close(2);
    desk.desk.close(2);
    await desk.passTime(1000);
    expect(desk.heard()).toEqual(['1: pizza/0 10', '2: dropped']);
    expect(desk.clock.pending).toBe(0);
  });

  it('a session that closes gives its decoder to the one that waits', async () => {
    const desk = new Desk(1);
    desk.open(1);
    desk.open(2);
    desk.hear(1, 10);
    await desk.work();
    desk.hear(2, 20);
    desk.desk.close(1);
    await desk.work();
    expect(desk.heard()).toEqual(['1: pizza/0 10', '2: pizza/0 20']);
  });
});

describe('who comes first', () => {
  it('is who has stopped speaking, the one with the least to do before the others', async () => {
    const desk = new Desk(3);
    for (let stream = 1; stream <= 3; stream++) {
      desk.open(stream);
      desk.hear(stream, 0);
    }
    await desk.work();
    desk.heard();
    for (let piece = 1; piece <= 3; piece++) desk.hear(1, piece);
    for (let piece = 1; piece <= 3; piece++) desk.hear(2, piece, piece === 3);
    for (let piece = 1; piece <= 2; piece++) desk.hear(3, piece, piece === 2);
    await desk.work();
    expect(desk.heard().map((reply) => reply[0])).toEqual(['3', '3', '2', '2', '2', '1', '1', '1']);
  });

  it('is each in turn where all of them still speak', async () => {
    const desk = new Desk(2);
    desk.open(1);
    desk.open(2);
    desk.hear(1, 0);
    desk.hear(2, 0);
    await desk.work();
    desk.heard();
    for (let piece = 1; piece <= 3; piece++) desk.hear(1, piece);
    for (let piece = 1; piece <= 3; piece++) desk.hear(2, piece);
    await desk.work();
    expect(desk.heard().map((reply) => reply[0])).toEqual(['1', '2', '1', '2', '1', '2']);
  });
});

describe('faults', () => {
  it('tells the session whose decoder cannot be made, and tries again for its next audio', async () => {
    const desk = new Desk(1);
    desk.fault = new Error('out of memory');
    desk.open(1);
    desk.hear(1, 10);
    await desk.work();
    expect(desk.heard()).toEqual(['1: out of memory']);
    desk.fault = null;
    desk.hear(1, 11);
    await desk.work();
    expect(desk.heard()).toEqual(['1: pizza/0 11']);
  });

  it('tells the session whose grammar is refused, and leaves the others alone', async () => {
    const desk = new Desk(1);
    desk.open(1, 'refused');
    desk.open(2);
    desk.hear(1, 10, true);
    desk.hear(2, 20, true);
    await desk.work();
    await desk.passTime(1000);
    expect(desk.heard().toSorted()).toEqual(['1: the grammar was refused', '2: pizza/0 20']);
  });

  it('refuses audio of a stream that is not open', () => {
    const desk = new Desk(1);
    desk.hear(1, 10);
    expect(desk.heard()).toEqual(['1: The stream is not open']);
  });
});
