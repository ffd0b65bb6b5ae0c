import { describe, expect, it } from 'vitest';
import { delay } from '../../../src/base/clock.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { ParleyError } from '../../../src/base/errors.js';
import { Health, type Switch, switchText } from '../../../src/providers/failover/health.js';
import { FailoverLlm, type LlmEntry } from '../../../src/providers/failover/llm.js';
import type { LlmPiece, LlmProvider, LlmRequest } from '../../../src/providers/llm/llm.js';

type Reply = (request: LlmRequest) => AsyncIterable<LlmPiece>;

function model(name: string, complete: Reply, warmUp: () => Promise<void> = () => Promise.resolve()): LlmProvider {
  return { name, virtualTime: true, complete, warmUp, close: () => Promise.resolve() };
}

const say = (text: string): LlmPiece => ({ type: 'text', text });
const usage: LlmPiece = { type: 'usage', promptTokens: 1, completionTokens: 1 };
const down = new ParleyError('PROVIDER_FAILED', { provider: 'main', reason: 'HTTP 503' });

/** Pieces with waits between, in milliseconds. */
function says(...parts: (LlmPiece | number | Error)[]): Reply {
  return async function* ({ clock, signal }) {
    for (const part of parts) {
      if (part instanceof Error) throw part;
      if (typeof part === 'number') await delay(clock, part, signal);
      else yield part;
    }
  };
}

interface Outcome {
  text: string;
  error: unknown;
  atMs: number;
}

class Talk {
  readonly clock = new VirtualClock();
  readonly switches: Switch[] = [];
  readonly entries: LlmEntry[];
  readonly llm: FailoverLlm;
  /** Requests by the name of their model. */
  readonly aborted: string[] = [];

  constructor(...replies: Reply[]) {
    const names = ['main', 'spare', 'last'];
    this.entries = replies.map((reply, at) => {
      const name = names[at] ?? 'more';
      const watched: Reply = (request) => {
        request.signal.addEventListener('abort', () => this.aborted.push(name), { once: true });
        return reply(request);
      };
      return { provider: model(name, watched), health: new Health(), ...(at > 0 && { model: `${name}-1` }) };
    });
    this.llm = new FailoverLlm({ entries: this.entries, onSwitch: (what) => this.switches.push(what) });
  }

  get reported(): string[] {
    return this.switches.map(switchText);
  }

  async ask(signal = new AbortController().signal): Promise<Outcome> {
    const { clock } = this;
    const outcome: Outcome = { text: '', error: null, atMs: -1 };
    const request = { model: 'big', messages: [], tools: [], temperature: 0, clock, signal };
    let done = false;
    const work = (async () => {
      try {
        for await (const piece of this.llm.complete(request)) {
          if (outcome.atMs < 0) outcome.atMs = clock.nowMs();
          outcome.text += piece.type === 'text' ? piece.text : `<${piece.type}>`;
        }
      } catch (error) {
        outcome.error = error;
      }
      done = true;
    })();
    await clock.runUntil(() => done, 60_000);
    await work;
    return outcome;
  }
}

it('lets the first answer as long as it does well', async () => {
  const talk = new Talk(says(usage, 200, say('a'), 5000, say('b')), says(say('never')));
  expect(await talk.ask()).toEqual({ text: '<usage>ab', error: null, atMs: 200 });
  expect([talk.reported, talk.llm.name]).toEqual([[], 'main']);
  // What a reader of the first piece saw of the usage came with it.
  expect(talk.entries[0]?.health.first.p99Ms).toBeNull();
});

it('asks the next where one fails before its first word, under its own model id', async () => {
  const asked: string[] = [];
  const talk = new Talk(says(usage, down), async function* ({ model: id }) {
    asked.push(id);
    yield say('here');
  });
  expect(await talk.ask()).toMatchObject({ text: 'here', error: null });
  expect(asked).toEqual(['spare-1']);
  expect(talk.reported).toEqual(['main -> spare spare-1: main failed: HTTP 503']);
});

it('leaves a failure after the first word to the caller', async () => {
  const talk = new Talk(says(say('a'), down), says(say('never')));
  expect(await talk.ask()).toMatchObject({ text: 'a', error: down });
  expect(talk.reported).toEqual([]);
});

it('takes a reply that ends in good order for an answer', async () => {
  expect(await new Talk(says(usage), says(say('never'))).ask()).toMatchObject({ text: '<usage>', error: null });
});

describe('where the first is slow', () => {
  it('asks the next beside it, and takes the quicker one', async () => {
    const talk = new Talk(says(10_000, say('late')), says(300, say('quick')));
    expect(await talk.ask()).toEqual({ text: 'quick', error: null, atMs: 3300 });
    expect(talk.reported).toEqual(['main -> spare spare-1: nothing within 3000 ms']);
    expect(talk.aborted).toContain('main');
  });

  it('takes the first where that is quicker after all', async () => {
    const talk = new Talk(says(3100, say('slow')), says(300, say('never')));
    expect(await talk.ask()).toEqual({ text: 'slow', error: null, atMs: 3100 });
    expect(talk.aborted).toContain('spare');
    expect(talk.entries[1]?.health.breaker.isOpen).toBe(false);
  });

  it('waits no longer than it usually takes', async () => {
    const talk = new Talk(says(10_000, say('late')), says(say('quick')));
    for (let time = 0; time < 20; time++) talk.entries[0]?.health.first.add(640);
    expect(await talk.ask()).toMatchObject({ text: 'quick', atMs: 800 });
  });

  it('asks everybody in turn, and opens the circuit of who never answers', async () => {
    const never = says(100_000);
    const talk = new Talk(never, never, says(say('at last')));
    for (let time = 0; time < 3; time++) expect(await talk.ask()).toMatchObject({ text: 'at last' });
    expect(talk.entries.map(({ health }) => health.breaker.isOpen)).toEqual([true, true, false]);
    const before = talk.clock.nowMs();
    expect(await talk.ask()).toMatchObject({ text: 'at last', atMs: before });
  });
});

it('tries even those that are left alone, where there is nobody else', async () => {
  const talk = new Talk(says(say('well again')));
  talk.entries[0]?.health.failed(0, new ParleyError('PROVIDER_REFUSED', { provider: 'main', reason: 'key' }));
  expect(await talk.ask()).toMatchObject({ text: 'well again' });
});

it('tells of every failure where nobody answers', async () => {
  const key = new ParleyError('PROVIDER_REFUSED', { provider: 'spare', reason: 'HTTP 401' });
  const { error } = await new Talk(says(down), says(key)).ask();
  expect(error).toMatchObject({
    code: 'PROVIDER_FAILED',
    message:
      'every provider of the list failed: main failed: HTTP 503; spare spare-1: spare refused the request: HTTP 401',
  });
});

it('is aborted at once, whether or not a model reacts, and blames nobody', async () => {
  const abort = new AbortController();
  const deaf: Reply = () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => undefined) }) });
  const talk = new Talk(deaf, deaf);
  talk.clock.schedule(4000, () => abort.abort(new Error('over')));
  const { error, text } = await talk.ask(abort.signal);
  expect([(error as Error).message, text]).toEqual(['over', '']);
  expect(talk.entries.map(({ health }) => health.breaker.isOpen)).toEqual([false, false]);
  expect(talk.aborted.toSorted()).toEqual(['main', 'spare']);
});

it('is warm when one is, and cold when none is', async () => {
  const cold = model('cold', says(), () => Promise.reject(new Error('cold')));
  const entry = (provider: LlmProvider): LlmEntry => ({ provider, health: new Health() });
  const onSwitch = (): void => undefined;
  await new FailoverLlm({ entries: [entry(cold), entry(model('warm', says()))], onSwitch }).warmUp();
  const both = new FailoverLlm({ entries: [entry(cold), entry(cold)], onSwitch });
  await expect(both.warmUp()).rejects.toThrow('cold');
  await both.close();
  expect(both.virtualTime).toBe(true);
});

describe('one that stands alone', () => {
  const again = (...replies: Reply[]): Talk => {
    let at = 0;
    const talk = new Talk((request) => (replies[at++] ?? says(say('never')))(request));
    Object.assign(talk.entries[0] as LlmEntry, { again: true });
    return talk;
  };

  it('is asked once more where it fails, and where it is slower than it ever is', async () => {
    const talk = again(says(down), says(say('here')));
    expect(await talk.ask()).toMatchObject({ text: 'here', error: null });
    expect(talk.reported).toEqual(['main is asked again: main failed: HTTP 503']);
    expect(await again(says(90_000), says(200, say('here'))).ask()).toMatchObject({ text: 'here', atMs: 3200 });
  });

  it('is not asked again where it refuses, nor for being as slow as it always is', async () => {
    const key = new ParleyError('PROVIDER_REFUSED', { provider: 'main', reason: 'HTTP 401' });
    expect((await again(says(key), says(say('never'))).ask()).error).toBe(key);
    const slow = again(says(7000, say('slow')), says(say('never')));
    for (let time = 0; time < 10; time++) slow.entries[0]?.health.first.add(6000);
    expect(await slow.ask()).toMatchObject({ text: 'slow', atMs: 7000 });
  });
});
