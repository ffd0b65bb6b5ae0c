import { describe, expect, it } from 'vitest';
import { ParleyError } from '../../src/base/errors.js';
import type { VirtualClock } from '../../src/base/virtual-clock.js';
import type { LlmProvider, LlmRequest } from '../../src/providers/llm/llm.js';
import type { SttProvider } from '../../src/providers/stt/stt.js';
import type { JoinedParticipant, JoinOptions } from '../../src/session/participants/joined.js';
import type { Session } from '../../src/session/session.js';
import { functionLlm } from '../../src/testing/doubles/function-llm.js';
import { promptedStt } from '../../src/testing/doubles/prompted-stt.js';
import { MemoryTransport } from '../../src/transports/memory.js';
import { expectReplay, play, type Played, type PlayOptions, recording, saidBy } from './support.js';

const LONG = 'one two three four five six seven eight nine ten eleven twelve thirteen.';

/** A recogniser whose streams have lines of their own, in the order in which they open: the user's first. */
function sttOf(...lines: readonly (readonly string[])[]): SttProvider {
  let opened = 0;
  const [first, ...others] = lines.map((own) => promptedStt({ lines: own }));
  return {
    ...first!,
    open: (options, events) => (opened++ === 0 ? first! : others[opened - 2]!).open(options, events),
  };
}

/** A person at a line of their own: says a tone from and to certain times, and keeps what they hear. */
class Person {
  readonly heard: Int16Array[] = [];
  readonly line: MemoryTransport;
  handle!: JoinedParticipant;

  constructor(
    readonly clock: VirtualClock,
    readonly speech: readonly (readonly [fromMs: number, toMs: number])[] = [],
    readonly level = 3000,
  ) {
    this.line = new MemoryTransport({
      sampleRateHz: 16_000,
      onFrame: (frame) => this.heard.push(frame?.slice() ?? new Int16Array(320)),
    });
  }

  async join(session: Session, options: JoinOptions): Promise<void> {
    this.handle = await session.join(this.line, options);
    const say = (): void => {
      const nowMs = this.clock.nowMs();
      const speaks = this.speech.some(([from, to]) => nowMs >= from && nowMs < to);
      this.line.pushAudio(new Int16Array(320).map((_, at) => (speaks ? Math.round(this.level * Math.sin(at / 3)) : 0)));
      stop = this.clock.schedule(nowMs + 20, say);
    };
    let stop = (): void => undefined;
    void this.handle.left.then(() => stop());
    say();
  }

  /** The loudest sample that they heard. */
  get loudest(): number {
    return Math.max(0, ...this.heard.map((frame) => Math.max(...frame)));
  }
}

interface Scene {
  session: Session;
  clock: VirtualClock;
  at: (ms: number, deed: () => unknown) => void;
}

async function party(options: PlayOptions & { samples: Int16Array }, scene: (scene: Scene) => void): Promise<Played> {
  const { samples, ...rest } = options;
  return play(samples, {
    ...rest,
    before: (session, clock) => {
      scene({ session, clock, at: (ms, deed) => void clock.schedule(ms, () => void deed()) });
    },
  });
}

const requestsOf = (answer: (request: LlmRequest) => string): { llm: LlmProvider; requests: LlmRequest[] } => {
  const requests: LlmRequest[] = [];
  return { requests, llm: functionLlm((request) => (requests.push(request), answer(request))) };
};

/** The loudest sample that the user heard between two times. */
function loudest({ audio }: Played, fromMs: number, toMs: number): number {
  return Math.max(...audio.subarray(fromMs * 16, toMs * 16));
}

describe('somebody joins a call', () => {
  it('and listens: hears both sides, and nobody hears them', async () => {
    let person!: Person;
    const played = await party(
      { samples: recording(9000, [4000, 5000]), lines: ['thank you'] },
      ({ session, clock, at }) => {
        person = new Person(clock, [[2500, 3500]]);
        at(100, () => person.join(session, { name: 'Ada' }));
      },
    );
    const alone = await play(recording(9000, [4000, 5000]), { lines: ['thank you'] });
    expect(person.loudest).toBeGreaterThan(5000); // the user's tone
    expect(played.audio).toEqual(alone.audio);
    expect(played.report.participants).toMatchObject([
      { id: 'participant-1', name: 'Ada', mode: 'listen', fromMs: 100 },
    ]);
    expect(await person.handle.left).toBeNull();
    expectReplay(played.log);
  });

  it('and whispers: the model knows it, and the user hears nothing', async () => {
    const { llm, requests } = requestsOf(() => 'You get ten percent.');
    let person!: Person;
    const played = await party(
      { samples: recording(10_000, [5000, 6000]), stt: sttOf(['what does it cost'], ['offer ten percent']), llm },
      ({ session, clock, at }) => {
        person = new Person(clock, [[2500, 3500]]);
        at(100, () => person.join(session, { name: 'Ada', mode: 'whisper' }));
      },
    );
    expect(loudest(played, 2500, 4500)).toBe(0);
    expect(requests.at(-1)?.messages).toContainEqual({
      role: 'system',
      content: '[Ada tells you, and the user does not hear it:] offer ten percent',
    });
    expect(played.report.messages.map(({ content }) => content)).toEqual([
      'Hello there.',
      'what does it cost',
      'You get ten percent.',
    ]);
    expect(played.events).toContainEqual(
      expect.objectContaining({ type: 'participantSaid', text: 'offer ten percent', whispered: true }),
    );
    expectReplay(played.log);
  });

  it('and barges in: everybody hears them to the sample, the agent stops, and waits for its turn', async () => {
    const { llm, requests } = requestsOf(() => 'That is fine.');
    let person!: Person;
    const played = await party(
      {
        samples: recording(14_000, [6000, 7000]),
        stt: sttOf(['is that so'], ['wait a moment', 'we will send it today']),
        llm,
      },
      ({ session, clock, at }) => {
        person = new Person(clock, [
          [2000, 3000],
          [6500, 8500],
        ]);
        at(100, () => person.join(session, { name: 'Ada', mode: 'barge_in' }));
        at(1500, () => session.say(LONG));
      },
    );
    // What the agent was saying ends, and its answer comes after the words of the participant.
    expect(saidBy(played)[1]!.length).toBeLessThan(LONG.length);
    expect(played.report.messages).toEqual([
      { role: 'assistant', content: 'Hello there.' },
      { role: 'assistant', content: saidBy(played)[1] },
      { role: 'user', name: 'Ada', content: 'wait a moment we will send it today' },
      { role: 'user', content: 'is that so' },
      { role: 'assistant', content: 'That is fine.' },
    ]);
    expect(requests.at(-1)?.messages).toContainEqual({
      role: 'system',
      content: '[Ada, who has joined the call, says to the user:] wait a moment we will send it today',
    });
    // 7 s to 8 s: the participant alone, late by what evens out jitter.
    const tone = Array.from({ length: 320 }, (_, at) => Math.round(3000 * Math.sin(at / 3)));
    const [from] = [7200 * 16];
    const offset = Array.from({ length: 320 }, (_, shift) => shift).find((shift) =>
      tone.every((sample, at) => played.audio[from + shift + at] === sample),
    );
    expect(offset).toBeDefined();
    expectReplay(played.log);
  });

  it('and takes over: the agent is silent and writes along, and answers when it has the call back', async () => {
    const { llm, requests } = requestsOf(() => 'I can help with that.');
    let person!: Person;
    const played = await party(
      {
        samples: recording(20_000, [5000, 6000], [10_000, 11_000]),
        stt: sttOf(['my parcel is lost', 'and what about the refund'], ['i am so sorry']),
        llm,
      },
      ({ session, clock, at }) => {
        person = new Person(clock, [[7000, 8000]]);
        at(1200, () => session.say(LONG));
        at(2000, () => person.join(session, { name: 'Ada', mode: 'take_over' }));
        at(9000, () => session.say('No.').catch((error: unknown) => expect(error).toBeInstanceOf(ParleyError)));
        at(13_000, () => person.handle.setMode('listen'));
      },
    );
    expect(requests).toHaveLength(1);
    expect(played.report.messages.slice(-4)).toEqual([
      { role: 'user', content: 'my parcel is lost' },
      { role: 'user', name: 'Ada', content: 'i am so sorry' },
      { role: 'user', content: 'and what about the refund' },
      { role: 'assistant', content: 'I can help with that.' },
    ]);
    expect(loudest(played, 7200, 7900)).toBe(3000);
    expect(loudest(played, 9000, 13_000)).toBe(0);
    // The user's recogniser, and eleven seconds of the participant's.
    const seconds = played.report.durationMs / 1000 + 11;
    expect(played.report.usage.stt).toMatchObject([{ seconds: expect.closeTo(seconds, 1) as number }]);
    expectReplay(played.log);
  });

  it('and takes over before a word of the answer is heard: the agent answers when it has the call back', async () => {
    const { llm, requests } = requestsOf(() => 'The refund is on its way.');
    let person!: Person;
    const played = await party(
      { samples: recording(16_000, [4000, 5000]), stt: sttOf(['where is my refund'], []), llm },
      ({ session, clock, at }) => {
        person = new Person(clock);
        at(4500, () => {
          const stop = session.on('speaking', ({ who, isSpeaking }) => {
            if (who !== 'agent' || !isSpeaking) return;
            stop();
            void person.join(session, { name: 'Ada', mode: 'take_over' });
          });
        });
        at(9000, () => person.handle.leave());
      },
    );
    expect(requests).toHaveLength(2);
    expect(saidBy(played)).toEqual(['Hello there.', 'The refund is on its way.']);
    expectReplay(played.log);
  });

  it('and is lost while they have the call: the agent says so at once, and answers what is open', async () => {
    const { llm } = requestsOf(() => 'The refund is on its way.');
    let person!: Person;
    const played = await party(
      { samples: recording(16_000, [5000, 6000]), stt: sttOf(['where is my refund'], []), llm },
      ({ session, clock, at }) => {
        person = new Person(clock);
        at(2000, () => person.join(session, { name: 'Ada', mode: 'take_over' }));
        at(7000, () => session.hold());
        at(8000, () => person.line.close());
      },
    );
    expect(await person.handle.left).toBe('lost');
    expect(saidBy(played)).toEqual(['Hello there.', 'I am with you again.', 'The refund is on its way.']);
    expect(loudest(played, 8000, 8600)).toBeGreaterThan(1000);
    expectReplay(played.log);
  });
});

describe('several participants', () => {
  it('hear each other but not themselves; a whisper is for one; on hold they hear music and are not heard', async () => {
    const people: Person[] = [];
    const results: unknown[] = [];
    const played = await party(
      { samples: recording(12_000), stt: sttOf([], [], [], [], []) },
      ({ session, clock, at }) => {
        const [ada, bob, eve] = [new Person(clock, [[2000, 12_000]], 1000), new Person(clock), new Person(clock)];
        people.push(ada, bob, eve);
        at(100, () => ada.join(session, { name: 'Ada', mode: 'whisper', whisperTo: 'bob' }));
        at(100, () => bob.join(session, { id: 'bob', name: 'Bob', mode: 'barge_in' }));
        at(100, () => eve.join(session, { name: 'Eve' }));
        at(3000, () =>
          results.push(people.map(({ heard }) => Math.max(...heard.slice(-10).map((one) => Math.max(...one))))),
        );
        at(3000, () => ada.handle.setMode('barge_in'));
        at(4000, () =>
          results.push(people.map(({ heard }) => Math.max(...heard.slice(-10).map((one) => Math.max(...one))))),
        );
        at(4000, () => ada.handle.hold());
        at(6000, () =>
          results.push(people.map(({ heard }) => Math.max(...heard.slice(-10).map((one) => Math.max(...one))) > 100)),
        );
        at(6000, () => ada.handle.unhold());
        at(6000, () => ada.handle.mute());
        at(7000, () =>
          results.push(people.map(({ heard }) => Math.max(...heard.slice(-10).map((one) => Math.max(...one))))),
        );
        at(7000, () => eve.handle.leave());
        at(7100, () => results.push(session.participants.map(({ name, muted }) => [name, muted])));
        at(7100, () => session.join(ada.line, { id: 'bob' }).catch((error: unknown) => results.push(error)));
      },
    );
    expect(results.slice(0, 5)).toEqual([
      [0, 1000, 0],
      [0, 1000, 1000],
      [true, false, false],
      [0, 0, 0],
      [
        ['Ada', true],
        ['Bob', false],
      ],
    ]);
    expect((results[5] as ParleyError).code).toBe('COMMAND_REFUSED');
    expect(loudest(played, 2500, 3000)).toBe(0);
    expect(loudest(played, 3200, 3900)).toBe(1000);
    expect(loudest(played, 4200, 7000)).toBe(0);
    expect(await people[2]!.handle.left).toBe('left');
    expect(played.pending).toBe(0);
    expectReplay(played.log);
  });
});
