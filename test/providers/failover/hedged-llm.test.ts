import { describe, expect, it } from 'vitest';
import { delay } from '../../../src/base/clock.js';
import { ParleyError } from '../../../src/base/errors.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { HedgeBook, HedgedLlm } from '../../../src/providers/failover/hedged-llm.js';
import type { LlmPiece, LlmProvider } from '../../../src/providers/llm/llm.js';

/** A model whose requests take these times in order; an error fails the request after 10 ms. */
class Desk {
  readonly clock = new VirtualClock();
  readonly aborted: number[] = [];
  asked = 0;
  readonly #llm: LlmProvider;

  constructor(times: readonly (number | Error)[], percentile = 50) {
    // eslint-disable-next-line typescript/no-this-alias -- a generator method has its own `this`
    const desk = this;
    const model: LlmProvider = {
      name: 'desk',
      virtualTime: true,
      warmUp: () => Promise.resolve(),
      close: () => Promise.resolve(),
      async *complete({ clock, signal }) {
        const number = desk.asked++;
        const time = times[number] ?? 100;
        await delay(clock, typeof time === 'number' ? time : 10, signal).catch((error: unknown) => {
          desk.aborted.push(number);
          throw error;
        });
        if (typeof time !== 'number') throw time;
        yield { type: 'text', text: `answer ${String(number)}` };
      },
    };
    this.#llm = new HedgedLlm(model, new HedgeBook(percentile));
  }

  /** One request: its pieces, and how long the first one took. */
  async ask(signal = new AbortController().signal, chars = 40): Promise<{ pieces: LlmPiece[]; ms: number }> {
    const fromMs = this.clock.nowMs();
    const pieces: LlmPiece[] = [];
    let ms = 0;
    const messages = [{ role: 'user', content: 'x'.repeat(chars) }] as const;
    const run = (async () => {
      const request = { model: 'm', messages, tools: [], temperature: 0, clock: this.clock, signal };
      for await (const piece of this.#llm.complete(request)) {
        if (pieces.length === 0) ms = this.clock.nowMs() - fromMs;
        pieces.push(piece);
      }
    })();
    let isOver = false;
    const over = run.finally(() => (isOver = true));
    over.catch(() => undefined);
    await this.clock.runUntil(() => isOver);
    await over;
    return { pieces, ms };
  }

  async askTimes(count: number): Promise<void> {
    for (let n = 0; n < count; n++) await this.ask();
  }
}

const text = (pieces: readonly LlmPiece[]): string =>
  pieces.map((piece) => (piece.type === 'text' ? piece.text : '')).join('');

describe('a model that may be asked twice', () => {
  it('is asked once while its times are unknown', async () => {
    const desk = new Desk([5000]);
    expect(await desk.ask()).toMatchObject({ ms: 5000 });
    expect(desk.asked).toBe(1);
  });

  it('is asked again when the first token is later than the percentile: the first to answer wins', async () => {
    const desk = new Desk([100, 100, 100, 100, 100, 100, 3000, 100]);
    await desk.askTimes(6);
    const { pieces, ms } = await desk.ask();
    expect(ms).toBe(200);
    expect(text(pieces)).toBe('answer 7');
    expect(desk.aborted).toEqual([6]);
    expect(pieces[0]).toEqual({ type: 'usage', promptTokens: 10, completionTokens: 0 });
  });

  it('keeps the first request if that answers first', async () => {
    const desk = new Desk([100, 100, 100, 100, 100, 100, 150, 3000]);
    await desk.askTimes(6);
    const { pieces, ms } = await desk.ask();
    expect([text(pieces), ms, desk.aborted]).toEqual(['answer 6', 150, [7]]);
  });

  it('does not ask again because a request has failed', async () => {
    const desk = new Desk([
      100,
      100,
      100,
      100,
      100,
      100,
      new ParleyError('PROVIDER_FAILED', { provider: 'desk', reason: 'no' }),
    ]);
    await desk.askTimes(6);
    await expect(desk.ask()).rejects.toMatchObject({ code: 'PROVIDER_FAILED' });
    expect(desk.asked).toBe(7);
  });

  it('asks no more often than the percentile leaves when the vendor becomes ever slower', async () => {
    const desk = new Desk([100, 100, 100, 100, 100, 100, ...Array.from({ length: 400 }, (_, n) => 200 + 50 * n)], 75);
    await desk.askTimes(6);
    const before = desk.asked;
    await desk.askTimes(100);
    const second = desk.asked - before - 100;
    expect(second).toBeGreaterThan(5);
    expect(second).toBeLessThanOrEqual(0.25 * 106 + 1);
  });

  it('knows the percentile of requests that are mostly cancelled early', async () => {
    const desk = new Desk([400, 400, 400, 400, 400, 400], 50);
    await desk.askTimes(6);
    for (let n = 0; n < 40; n++) {
      const abort = new AbortController();
      desk.clock.schedule(desk.clock.nowMs() + 20, () => abort.abort());
      await desk.ask(abort.signal).catch(() => undefined);
    }
    const before = desk.asked;
    await desk.ask();
    expect(desk.asked - before).toBe(1); // answers after 100 ms: sooner than the percentile
  });
});
