import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/base/clock.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { ParleyError } from '../../../src/base/errors.js';
import type { TtsAudio, TtsProvider, TtsRequest } from '../../../src/providers/tts/tts.js';
import { HttpSpeechDouble } from '../../vendors/tts/http-speech.js';
import { KEY, type SpeechDouble } from '../../vendors/tts/speech-double.js';
import { requestFor, speakAll } from './requests.js';

export interface ContractVendor<Double extends SpeechDouble = SpeechDouble> {
  double: () => Double;
  provider: (double: Double, options: { clock?: Clock; apiKey?: string }) => TtsProvider;
  /** The vendor tells when words are spoken, to within this; null = it does not. */
  wordsWithinMs: number | null;
  /** What of it is kept between requests. */
  keepsConnection: boolean;
  /** A request that is taken back is seen by the vendor, as a message or as a closed connection. */
  seesCancel: boolean;
  request?: Partial<TtsRequest>;
}

const TEXT = 'We have a table for two at seven, Ann. Shall I book it?';
const WORDS = TEXT.split(' ');

/** What every voice provider keeps to, over the double of its vendor. */
export function ttsContract<Double extends SpeechDouble>(name: string, vendor: ContractVendor<Double>): void {
  describe(name, () => {
    let double: Double;
    let provider: TtsProvider;
    const others: TtsProvider[] = [];

    const make = (options: { clock?: Clock; apiKey?: string } = {}): TtsProvider => {
      const made = vendor.provider(double, options);
      others.push(made);
      return made;
    };
    const request = (text = TEXT, parts: Partial<TtsRequest> = {}): TtsRequest =>
      requestFor(text, { ...vendor.request, ...parts });
    const failure = async (work: Promise<unknown>): Promise<ParleyError> => {
      const error: unknown = await work.then(
        () => null,
        (reason: unknown) => reason,
      );
      expect(error).toBeInstanceOf(ParleyError);
      for (let one: unknown = error; one instanceof Error; one = one.cause) {
        expect(`${one.message} ${one.stack ?? ''} ${JSON.stringify(one)}`).not.toContain(KEY);
      }
      return error as ParleyError;
    };

    beforeEach(async () => {
      double = await vendor.double().open();
      provider = make();
    });

    afterEach(async () => {
      for (const each of others.splice(0)) await each.close();
      await double.close();
      expect(double.violations).toEqual([]);
    });

    it('speaks: trimmed, to the end, with every word once and in order', async () => {
      const { samples, durationMs, words } = await speakAll(provider, request());
      expect(words.map(({ text }) => text)).toEqual(WORDS);
      const times = words.flatMap(({ startMs, endMs }) => [startMs, endMs]);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      expect(times.at(-1)).toBeLessThanOrEqual(durationMs + 1);
      // 42 letters of 30 ms and 12 spaces of 20 ms, and the 10 ms that are kept around them.
      const letters = TEXT.replaceAll(' ', '').length;
      expect(durationMs).toBeGreaterThan(letters * 30 + 11 * 20 - 5);
      expect(durationMs).toBeLessThan(letters * 30 + 11 * 20 + 60);
      expect(samples.findIndex((sample) => Math.abs(sample) > 500)).toBeLessThan(samples.length / 50);
    });

    if (vendor.wordsWithinMs !== null) {
      it("has the vendor's own times", async () => {
        const { words } = await speakAll(provider, request());
        let atMs = 10;
        for (const { text, startMs, endMs } of words) {
          expect(Math.abs(startMs - atMs), `${text} starts`).toBeLessThanOrEqual(vendor.wordsWithinMs ?? 0);
          atMs += 30 * text.length;
          // Punctuation has letters' time in the double, and vendors count it in or not.
          expect(Math.abs(endMs - atMs), `${text} ends`).toBeLessThanOrEqual(31 + (vendor.wordsWithinMs ?? 0));
          atMs += 20;
        }
      });
    }

    it('leaves out what is made for the eye, and ends at once where nothing is to be said', async () => {
      const { words } = await speakAll(provider, request('**Yes** 🎉 — *of course*.'));
      expect(words.map(({ text }) => text)).toEqual(['**Yes**', '🎉', '—', '*of', 'course*.']);
      expect(double.spoken.at(-1)).not.toMatch(/[*🎉]/u);
      const asked = double.spoken.length;
      expect(await speakAll(provider, request('🎉 …'))).toMatchObject({ blocks: [] });
      expect(double.spoken).toHaveLength(asked);
    });

    it('carries letters of any language', async () => {
      const text = 'Zürich, größer – naïve 東京 до свидания!';
      const { words } = await speakAll(provider, request(text));
      expect(words.map((word) => word.text).join('')).toBe(text.replaceAll(' ', ''));
    });

    if (vendor.keepsConnection) {
      it('keeps its connection from warm-up on', async () => {
        await provider.warmUp(request());
        await double.until(() => double.connections === 1, 'a connection');
        const aMoment = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
        await aMoment();
        await speakAll(provider, request('One.'));
        await aMoment();
        await speakAll(provider, request('Two.'));
        expect(double.connections).toBe(1);
        expect(double.spoken).toEqual(['One.', 'Two.']);
      });

      it('has another connection for what did not come in time, and leaves the one that is silent', async () => {
        await provider.warmUp(request());
        const gone = new AbortController();
        double.faults = { stall: true };
        const late = speakAll(provider, request(TEXT, { signal: gone.signal })).catch(() => null);
        await double.until(() => double.spoken.length > 0, 'the request');
        double.faults = {};
        const { words } = await speakAll(provider, request(TEXT, { again: true }));
        expect(words).toHaveLength(WORDS.length);
        gone.abort();
        await late;
        expect((await speakAll(provider, request('Next.'))).words).toHaveLength(1);
        // Over HTTP each request that waits has a connection of its own in any case.
        if (!(double instanceof HttpSpeechDouble)) expect(double.connections).toBe(2);
      });

      it('asks once more where a connection that was kept has died', async () => {
        await provider.warmUp(request());
        double.faults = { deadConnections: 1 };
        const { words } = await speakAll(provider, request());
        expect(words).toHaveLength(WORDS.length);
        expect(double.connections).toBe(2);
      });
    }

    it('speaks many at once', async () => {
      const texts = Array.from({ length: 12 }, (_, i) => `Number ${String(i)} is on its way.`);
      const all = await Promise.all(texts.map((text) => speakAll(provider, request(text))));
      expect(all.map(({ words }) => words.map(({ text }) => text).join(' '))).toEqual(texts);
    });

    it('stops at once when it is taken back, and can go on after that', async () => {
      double.faults = { stopAfter: 'stall', pieces: 2 };
      const gone = new AbortController();
      const state = { blocks: 0, error: null as unknown };
      const clock = new VirtualClock();
      const work = (async () => {
        for await (const _ of provider.synthesize(request(TEXT, { clock, signal: gone.signal }))) state.blocks++;
      })().catch((error: unknown) => (state.error = error));
      await double.until(() => double.stalled > 0, 'the stall');
      const { blocks } = state;
      gone.abort(new Error('barge-in'));
      // No time passes, and the vendor is not waited for: a turn of the event loop is all.
      await new Promise((resolve) => setImmediate(resolve));
      expect(state).toEqual({ blocks, error: new Error('barge-in') });
      await work;
      expect(clock.pending).toBe(0);
      if (vendor.seesCancel) await double.until(() => double.cancelled > 0, 'the cancel');
      double.faults = {};
      expect((await speakAll(provider, request('Again.'))).words).toHaveLength(1);
    });

    it('stops where its reader leaves', async () => {
      for await (const audio of provider.synthesize(request())) if (audio.samples.length > 0) break;
      expect((await speakAll(provider, request('Again.'))).words).toHaveLength(1);
    });

    it('does not begin for a signal that is aborted already', async () => {
      const signal = AbortSignal.abort(new Error('too late'));
      await expect(speakAll(provider, request(TEXT, { signal }))).rejects.toThrow('too late');
      expect(double.spoken).toEqual([]);
    });

    it('gives nothing after close, which may come twice', async () => {
      double.faults = { stopAfter: 'stall', pieces: 1 };
      const heard: TtsAudio[] = [];
      const work = (async () => {
        for await (const audio of provider.synthesize(request())) heard.push(audio);
      })();
      const ended = failure(work);
      await double.until(() => double.spoken.length > 0, 'the request');
      await Promise.all([provider.close(), provider.close()]);
      const { length } = heard;
      expect((await ended).code).toMatch(/SESSION_CLOSED|PROVIDER_FAILED/);
      expect(heard).toHaveLength(length);
      expect((await failure(speakAll(provider, request()))).code).toBe('SESSION_CLOSED');
    });

    it.each([
      [401, 'PROVIDER_REFUSED', false],
      [429, 'PROVIDER_FAILED', true],
      [500, 'PROVIDER_FAILED', true],
    ])('tells of status %i, and shows no key', async (refuse, code, retryable) => {
      double.faults = { refuse };
      const error = await failure(speakAll(provider, request()));
      expect(error).toMatchObject({ code, retryable, details: { provider: provider.name, status: refuse } });
    });

    it('has a wrong key refused', async () => {
      const wrong = make({ apiKey: 'wrong-key-0123456789' });
      const error = await failure(speakAll(wrong, request()));
      expect(error).toMatchObject({ code: 'PROVIDER_REFUSED', retryable: false });
      expect(JSON.stringify([error.message, error.details])).not.toContain('wrong-key');
    });

    it.each(['drop', 'error', 'garbage'] as const)(
      'fails, retryably, where the vendor ends in %s',
      async (stopAfter) => {
        double.faults = { stopAfter, pieces: 2 };
        expect(await failure(speakAll(provider, request()))).toMatchObject({
          code: 'PROVIDER_FAILED',
          retryable: true,
        });
        double.faults = {};
        expect((await speakAll(provider, request('Again.'))).words).toHaveLength(1);
      },
    );

    it.each([
      ['first audio', { stall: true }],
      ['next audio', { stopAfter: 'stall' as const, pieces: 2 }],
    ])('waits for the %s no longer than its deadline, on the clock', async (_what, faults) => {
      double.faults = faults;
      const clock = new VirtualClock();
      const state = { settled: false };
      const work = failure(speakAll(provider, request(TEXT, { clock }))).finally(() => (state.settled = true));
      await double.until(() => double.spoken.length > 0, 'the request');
      while (!state.settled) {
        await clock.advanceBy(100);
        if (clock.nowMs() > 3_600_000) throw new Error('no deadline');
      }
      expect(await work).toMatchObject({ code: 'PROVIDER_TIMEOUT', retryable: true });
      expect(clock.pending).toBe(0);
    });

    it('refuses a setting that it does not know, before anybody is asked', async () => {
      expect(() => provider.checkSettings?.({ nonsense: 1 }, null)).toThrow(/nonsense/);
      const error = await failure(speakAll(provider, request(TEXT, { settings: { nonsense: 1 } })));
      expect(error.code).toBe('TTS_SETTING_INVALID');
      expect(double.spoken).toEqual([]);
    });
  });
}
