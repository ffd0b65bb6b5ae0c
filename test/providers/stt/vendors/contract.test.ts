import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ParleyError } from '../../../../src/base/errors.js';
import type { SttProvider } from '../../../../src/providers/stt/stt.js';
import { GAP_MS, noise, silence, spoken, WORD_MS } from '../../../vendors/stt/spoken-words.js';
import { Caller, plain } from './caller.js';
import { CASES, type Double, KEY } from './cases.js';

/** What every vendor's recogniser keeps to, against a double of the vendor. */
describe.each(CASES)(
  '$name',
  ({ double: makeDouble, make, language, givesTimes, isSocket, takesKeywords = true, tellsTurnsApart = true }) => {
    let double: Double;
    let baseUrl: string;
    let stt: SttProvider;
    let caller: Caller;

    beforeEach(async () => {
      double = makeDouble();
      baseUrl = await double.listen();
      stt = make({ baseUrl, apiKey: KEY, finalTimeoutMs: 2000 });
      caller = new Caller();
    });

    afterEach(async () => {
      await stt.close();
      await double.close();
    });

    it('gives interim words, and a final transcript when speech has stopped', async () => {
      await stt.warmUp();
      await caller.open(stt);
      caller.hear(silence(500));
      const start = caller.sample;
      caller.hear(spoken('a table'));
      caller.stream.speechStarted(start);
      caller.hear(spoken('for two'));
      await caller.until(() => caller.transcripts.length > 0, 'an interim transcript');
      expect(caller.transcripts[0]).toMatchObject({ segment: 0, isFinal: false, understood: true });
      const end = caller.sample;
      caller.hear(silence(200));
      caller.stream.speechStopped(end);
      const final = await caller.final();
      expect(final.segment).toBe(0);
      expect(plain(final.text)).toBe('a table for two');
      expect(double.violations).toEqual([]);
    });

    it('goes on in the same segment where the user goes on after a pause', async () => {
      await caller.open(stt);
      caller.say(spoken('a table'));
      expect(plain((await caller.final()).text)).toBe('a table');
      caller.hear(silence(600));
      caller.say(spoken('for two'));
      const finals = () => caller.transcripts.filter(({ isFinal, text }) => isFinal && plain(text).endsWith('two'));
      await caller.until(() => finals().length > 0, 'all of it');
      expect(finals().map(({ segment, text }) => [segment, plain(text.replace('.', ''))])[0]).toEqual([
        0,
        'a table for two',
      ]);
      expect(double.violations).toEqual([]);
    });

    it('waits for no final transcript that the next words make useless', async () => {
      await caller.open(stt);
      caller.say(spoken('a table'));
      caller.say(spoken('for two'));
      const final = () => caller.transcripts.find(({ isFinal, text }) => isFinal && plain(text) === 'a table for two');
      await caller.until(() => final() !== undefined, 'all of it');
      expect(final()?.segment).toBe(0);
    });

    it('begins a segment with each turn, without words of the one before', async () => {
      await caller.open(stt);
      caller.say(spoken('yes thanks'));
      const first = await caller.final();
      caller.stream.endTurn();
      const count = caller.transcripts.length;
      caller.hear(silence(400));
      caller.say(spoken('stop'));
      await caller.until(() => caller.transcripts.slice(count).some(({ isFinal }) => isFinal), 'the second turn');
      const second = caller.transcripts.slice(count);
      expect(second.every(({ segment }) => segment > first.segment)).toBe(true);
      expect(plain(second.findLast(({ isFinal }) => isFinal)?.text ?? '')).toBe('stop');
      expect(double.violations).toEqual([]);
    });

    it('keeps late words of a turn that was ended without them out of the next', async () => {
      await caller.open(stt);
      caller.say(spoken('yes thanks'));
      caller.stream.endTurn();
      caller.hear(silence(400));
      caller.say(spoken('stop'));
      const stop = () => caller.transcripts.find(({ isFinal, text }) => isFinal && plain(text).endsWith('stop'));
      await caller.until(() => stop() !== undefined, 'the second turn');
      if (tellsTurnsApart) expect(plain(stop()?.text ?? '')).toBe('stop');
    });

    it.runIf(givesTimes)('tells where in the session each word lies, over a gap too', async () => {
      caller = new Caller(160_000);
      await caller.open(stt);
      caller.hear(silence(300));
      caller.say(spoken('a table'));
      await caller.final();
      caller.stream.endTurn();
      const count = caller.transcripts.length;
      caller.sample += 80_000;
      caller.hear(silence(1500));
      const from = caller.sample;
      caller.say(spoken('for two'));
      await caller.until(() => caller.transcripts.slice(count).some(({ isFinal }) => isFinal), 'the second turn');
      const last = () => caller.transcripts.findLast(({ isFinal }) => isFinal)?.words ?? [];
      await caller.until(() => last().length > 0, 'the times');
      const words = last();
      expect(words.map(({ text }) => plain(text))).toEqual(['for', 'two']);
      for (const [at, word] of words.entries()) {
        const startSample = from + at * (WORD_MS + GAP_MS) * 16;
        expect(Math.abs(word.startSample - startSample)).toBeLessThan(20 * 16);
        expect(Math.abs(word.endSample - startSample - WORD_MS * 16)).toBeLessThan(20 * 16);
      }
    });

    it('gives an empty final transcript where nothing was said', async () => {
      await caller.open(stt);
      caller.say(noise(300));
      expect((await caller.final()).text).toBe('');
      expect(caller.errors).toEqual([]);
    });

    it('asks for the language, the model and the words to favour, the weightiest first', async () => {
      const keywords = new Map([
        ['table', 1],
        ['café', 5],
        ['noise', -5],
      ]);
      await caller.open(stt, { hints: { phrases: [], texts: [], keywords } });
      caller.say(spoken('yes'));
      await caller.final();
      expect(double.asked[0]).toMatchObject({ language, keywords: takesKeywords ? ['café', 'table'] : [] });
      expect(double.asked[0]?.model).not.toBe('');
      expect(double.violations).toEqual([]);
    });

    it('names a key that is refused, without it, as not worth trying again', async () => {
      const wrong = make({ baseUrl, apiKey: 'wrong-987654321', finalTimeoutMs: 2000 });
      const error = await failure(wrong);
      await wrong.close();
      expect(error).toMatchObject({ code: 'PROVIDER_REFUSED', retryable: false });
      expect(JSON.stringify([error.message, error.details, error.stack])).not.toContain('987654321');
    });

    it.each([
      [429, 'PROVIDER_FAILED', true],
      [503, 'PROVIDER_FAILED', true],
      [400, 'PROVIDER_REFUSED', false],
    ])('names status %i', async (status, code, retryable) => {
      double.faults.refuse = [status, JSON.stringify({ error: { message: `no: ${KEY}` } })];
      const error = await failure(stt);
      expect(error).toMatchObject({ code, retryable, details: { status } });
      expect(error.message).not.toContain(KEY);
    });

    it('says that nobody is there', async () => {
      await double.close();
      expect(await failure(stt)).toMatchObject({ code: 'PROVIDER_FAILED', retryable: true });
      double = makeDouble();
      await double.listen();
    });

    it('fails once when the vendor breaks off in mid-call', async () => {
      await caller.open(stt);
      caller.hear(spoken('a table'));
      caller.stream.speechStarted(0);
      double.drop();
      if (!isSocket) caller.stream.speechStopped(caller.sample);
      await caller.until(() => caller.errors.length > 0, 'an error');
      expect(caller.errors).toHaveLength(1);
      expect(caller.errors[0]).toMatchObject({ code: 'PROVIDER_FAILED', retryable: true });
      const count = caller.transcripts.length;
      caller.hear(spoken('for two'));
      caller.stream.speechStopped(caller.sample);
      caller.stream.endTurn();
      await caller.stream.close();
      expect([caller.transcripts.length, caller.errors.length]).toEqual([count, 1]);
    });

    it('fails where the vendor takes the speech and says nothing', async () => {
      const quick = make({ baseUrl, apiKey: KEY, finalTimeoutMs: 100 });
      await caller.open(quick);
      double.faults.stalled = true;
      caller.say(spoken('a table for two tonight thanks yes yes'));
      await caller.until(() => caller.errors.length > 0, 'an error');
      expect(caller.errors).toMatchObject([{ code: 'PROVIDER_TIMEOUT', retryable: true }]);
      await quick.close();
    });

    it('overlooks a message without a meaning', async () => {
      await caller.open(stt);
      double.faults.garbage = isSocket ? ['{"type":', '[1,2]'] : [];
      caller.say(spoken('a table for two tonight'));
      expect(plain((await caller.final()).text)).toBe('a table for two tonight');
    });

    it('fails where there is no end to them', async () => {
      await caller.open(stt);
      double.faults.garbage = Array.from({ length: 40 }, () => '�{"type":"?"');
      for (let count = 0; count < 12 && caller.errors.length === 0; count++) {
        caller.say(spoken('a table for two'));
        caller.stream.endTurn();
        caller.hear(silence(1500));
      }
      if (!isSocket) caller.say(spoken('a table'));
      await caller.until(() => caller.errors.length > 0, 'an error');
      expect(caller.errors).toMatchObject([{ code: 'PROVIDER_FAILED', retryable: true }]);
    });

    it('reads messages that come in pieces, cut inside characters', async () => {
      double.faults.split = true;
      await caller.open(stt);
      caller.say(spoken('a café for two'));
      expect(plain((await caller.final()).text)).toBe('a café for two');
    });

    it.each(['close', 'abort', 'provider'])('tells nothing after the end (%s), which may come twice', async (way) => {
      await caller.open(stt);
      caller.hear(spoken('a table for'));
      caller.stream.speechStarted(0);
      caller.stream.speechStopped(caller.sample);
      if (way === 'abort') caller.abort.abort();
      else await (way === 'close' ? caller.stream : stt).close();
      const count = caller.transcripts.length;
      caller.hear(spoken('two'));
      caller.stream.speechStopped(caller.sample);
      await caller.stream.close();
      await caller.stream.close();
      await stt.close();
      expect([caller.transcripts.length, caller.errors.length]).toEqual([count, 0]);
      expect(double.violations).toEqual([]);
    });

    it('opens nothing for a session that is over', async () => {
      caller.abort.abort(new Error('over'));
      await expect(caller.open(stt)).rejects.toThrow('over');
    });

    /** The error of a stream that cannot be had; vendors without connections tell at the first words. */
    async function failure(provider: SttProvider): Promise<ParleyError> {
      const one = new Caller();
      try {
        await one.open(provider);
        one.say(spoken('yes'));
        await one.until(() => one.errors.length > 0, 'an error');
        return one.errors[0] as ParleyError;
      } catch (error) {
        return error as ParleyError;
      }
    }
  },
);
