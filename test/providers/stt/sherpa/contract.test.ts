import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SherpaStt, type SherpaSttOptions } from '../../../../src/providers/stt/sherpa.js';
import { LocalModels } from '../../../../src/providers/local/local-models.js';
import { BETWEEN_MS, MADE_FAMILIES, MADE_MODELS, madeModels, TONE_MS, tones } from '../../local/made-models.js';
import { Caller } from '../vendors/caller.js';

const silence = (ms: number): Int16Array => new Int16Array(16 * ms);
const FAULTY = new URL('../../local/engine/faulty-child.mjs', import.meta.url);

/** What every recogniser keeps to, over the real engine with made models of each family. */
describe.each([
  { model: 'made-streaming', family: 'streaming transducer', times: 'exact' },
  { model: 'made-whisper', family: 'whisper', times: 'none' },
  { model: 'made-streaming-paraformer', family: 'streaming paraformer', times: 'none', folder: MADE_FAMILIES },
  { model: 'made-paraformer', family: 'paraformer', times: 'of pieces', folder: MADE_FAMILIES },
  { model: 'made-sense-voice', family: 'sense voice', times: 'of pieces', folder: MADE_FAMILIES },
  { model: 'made-moonshine', family: 'moonshine', times: 'none', folder: MADE_FAMILIES },
  { model: 'made-merged-moonshine', family: 'moonshine', times: 'none', folder: MADE_FAMILIES },
])('$model', ({ model, family, times, folder = MADE_MODELS }) => {
  const opened: SherpaStt[] = [];
  /** One for all that do not end it: a process takes some time to start. */
  const stt = new SherpaStt({ models: madeModels({ stt: model, folder }), interimMs: 50 });
  let caller: Caller;

  function make(options: SherpaSttOptions = {}): SherpaStt {
    const made = new SherpaStt({ models: madeModels({ stt: model, folder }), ...options });
    opened.push(made);
    return made;
  }

  beforeEach(() => {
    caller = new Caller();
  });
  afterEach(async () => {
    caller.abort.abort();
    await Promise.all(opened.splice(0).map((one) => one.close()));
  });
  afterAll(() => stt.close());

  it('gives interim words, and a final transcript when speech has stopped', async () => {
    expect((await madeModels({ folder }).find(model, 'stt')).family).toBe(family);
    await stt.warmUp();
    await caller.open(stt);
    caller.hear(silence(500));
    const start = caller.sample;
    caller.hear(tones('one two'));
    caller.stream.speechStarted(start);
    await caller.until(() => caller.transcripts.length > 0, 'an interim transcript');
    expect(caller.transcripts[0]).toMatchObject({ segment: 0, isFinal: false, understood: true });
    expect('one two').toContain(caller.transcripts[0]?.text ?? '?');
    caller.hear(silence(BETWEEN_MS));
    caller.hear(tones('three'));
    const end = caller.sample;
    caller.hear(silence(200));
    caller.stream.speechStopped(end);
    expect(await caller.final()).toMatchObject({ segment: 0, text: 'one two three' });
    expect(caller.errors).toEqual([]);
  });

  it('goes on in the same segment where the user goes on after a pause', async () => {
    await caller.open(stt);
    caller.say(tones('one'));
    expect(await caller.final()).toMatchObject({ segment: 0, text: 'one' });
    caller.hear(silence(600));
    caller.say(tones('two four'));
    const all = () => caller.transcripts.find(({ isFinal, text }) => isFinal && text === 'one two four');
    await caller.until(() => all() !== undefined, 'all of it');
    expect(all()?.segment).toBe(0);
  });

  it('begins a segment with each turn, without words of the one before, late ones neither', async () => {
    await caller.open(stt);
    caller.say(tones('one two'));
    await caller.final();
    caller.stream.endTurn();
    const count = caller.transcripts.length;
    caller.say(tones('three'));
    caller.stream.endTurn();
    caller.hear(silence(400));
    caller.say(tones('four'));
    const four = () => caller.transcripts.find(({ isFinal, text }) => isFinal && text.includes('four'));
    await caller.until(() => four() !== undefined, 'the third turn');
    expect(four()?.text).toBe('four');
    expect(caller.transcripts.slice(count).every(({ segment, text }) => segment > 0 && !text.includes('one'))).toBe(
      true,
    );
  });

  it.runIf(times === 'exact')('tells where in the session each word lies, over a gap too', async () => {
    caller = new Caller(160_000);
    await caller.open(stt);
    caller.hear(silence(300));
    caller.say(tones('one'));
    await caller.final();
    caller.hear(silence(1500));
    const from = caller.sample;
    caller.say(tones('two three'));
    await caller.until(
      () => caller.transcripts.some(({ isFinal, words }) => isFinal && words?.length === 3),
      'the times',
    );
    const words = caller.transcripts.at(-1)?.words?.slice(1) ?? [];
    for (const [at, word] of words.entries()) {
      const startSample = from + 16 * at * (TONE_MS + BETWEEN_MS);
      expect(Math.abs(word.startSample - startSample)).toBeLessThanOrEqual(16 * 80);
      expect(word.endSample).toBeGreaterThan(word.startSample);
      expect(word.confidence).toBeGreaterThan(0.3);
    }
  });

  it('gives an empty final transcript where nothing was said', async () => {
    await caller.open(stt);
    caller.say(silence(300));
    expect((await caller.final()).text).toBe('');
    expect(caller.errors).toEqual([]);
  });

  it('hears many sessions at once, each its own, through one process', async () => {
    const words = ['one', 'two', 'three', 'four', 'one two', 'two four'];
    const callers = await Promise.all(
      words.map(async () => {
        const one = new Caller();
        await one.open(stt);
        return one;
      }),
    );
    for (const [at, one] of callers.entries()) one.say(tones(words[at] ?? ''));
    const finals = await Promise.all(callers.map((one) => one.final()));
    expect(finals.map(({ text }) => text)).toEqual(words);
  });

  it.each(['close', 'abort', 'provider'])('tells nothing after the end (%s), which may come twice', async (way) => {
    const own = way === 'provider' ? make() : stt;
    await caller.open(own);
    caller.hear(tones('one two'));
    caller.stream.speechStarted(0);
    caller.stream.speechStopped(caller.sample);
    if (way === 'abort') caller.abort.abort();
    else await (way === 'close' ? caller.stream : own).close();
    const count = caller.transcripts.length;
    caller.hear(tones('three'));
    caller.stream.speechStarted(0);
    caller.stream.speechStopped(caller.sample);
    caller.stream.endTurn();
    await caller.stream.close();
    await caller.stream.close();
    if (way === 'provider') await own.close();
    expect([caller.transcripts.length, caller.errors.length]).toEqual([count, 0]);
  });

  it('opens nothing for a session that is over, or after the provider is', async () => {
    caller.abort.abort(new Error('over'));
    await expect(caller.open(stt)).rejects.toThrow('over');
    const own = make();
    await own.close();
    await expect(new Caller().open(own)).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
  });

  it('fails once where its process dies in mid-call, and hears the next session', async () => {
    const dying = make({ processEntry: FAULTY, models: await faultyModels('dies later') });
    await caller.open(dying);
    caller.say(tones('one'));
    await caller.until(() => caller.errors.length > 0, 'an error');
    expect(caller.errors).toMatchObject([{ code: 'PROVIDER_FAILED', retryable: true }]);
    caller.say(tones('two'));
    caller.stream.endTurn();
    await caller.stream.close();
    expect(caller.errors).toHaveLength(1);
    await new Caller().open(dying);
  });

  it('fails where the engine takes the speech and says nothing', async () => {
    const slow = make({
      processEntry: FAULTY,
      models: await faultyModels('stalls'),
      finalTimeoutMs: 100,
      interimMs: 0,
    });
    await caller.open(slow);
    caller.say(tones('one'));
    await caller.until(() => caller.errors.length > 0, 'an error');
    expect(caller.errors).toMatchObject([{ code: 'PROVIDER_TIMEOUT', retryable: true }]);
  });

  /** The made model, with a word to the faulty process. */
  async function faultyModels(fault: string): Promise<LocalModels> {
    const models = madeModels({ stt: model, folder });
    const found = await models.find(model, 'stt');
    models.find = () => Promise.resolve({ ...found, config: { fault } });
    return models;
  }
});

describe('words to favour', () => {
  it('change what a whole transducer hears, whichever way it writes its words', async () => {
    const stt = new SherpaStt({ models: madeModels({ stt: 'made-transducer' }), interimMs: 0 });
    try {
      const heard = async (keywords: ReadonlyMap<string, number>): Promise<string> => {
        const caller = new Caller();
        await caller.open(stt, { hints: { phrases: [], texts: [], keywords } });
        caller.say(tones('one two'));
        const { text, words = [] } = await caller.final();
        expect(words.map((word) => word.text).join(' ')).toBe(text);
        return text;
      };
      expect(await heard(new Map())).toBe('one two');
      expect(await heard(new Map([['won', 5]]))).toBe('won two');
      expect(await heard(new Map([['won', -5]]))).toBe('one two');
    } finally {
      await stt.close();
    }
  });
});

describe('choosing a model', () => {
  const opened: SherpaStt[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((one) => one.close()));
  });

  function make(options: ConstructorParameters<typeof LocalModels>[0] = {}): SherpaStt {
    const stt = new SherpaStt({ models: new LocalModels({ folder: MADE_MODELS, ...options }) });
    opened.push(stt);
    return stt;
  }

  it('is left to the agent where there are several and the operator names none', async () => {
    const stt = make();
    await stt.warmUp();
    await expect(new Caller().open(stt)).rejects.toMatchObject({
      code: 'MODEL_UNKNOWN',
      details: { known: 'made-streaming, made-transducer, made-whisper' },
    });
    await new Caller().open(stt, { model: 'made-whisper' });
  });

  it.each(['nonsense', '../models/made-whisper', `${MADE_MODELS}/made-whisper`, 'made-voice', ''])(
    'refuses an agent that names %j',
    async (model) => {
      await expect(new Caller().open(make(), { model })).rejects.toMatchObject({ code: 'MODEL_UNKNOWN' });
    },
  );

  it('takes a path of the operator’s, from an agent too', async () => {
    const path = `${MADE_MODELS}/made-whisper`;
    const stt = new SherpaStt({ models: new LocalModels({ stt: path }) });
    opened.push(stt);
    await stt.warmUp();
    await new Caller().open(stt);
    await new Caller().open(stt, { model: path });
  });

  it('refuses a language that the model does not know', async () => {
    const stt = make({ stt: 'made-whisper' });
    await stt.warmUp();
    expect([stt.abilities.understands('en-GB'), stt.abilities.understands('de')]).toEqual([true, false]);
    await expect(new Caller().open(stt, { language: 'de' })).rejects.toMatchObject({
      code: 'STT_LANGUAGE_UNSUPPORTED',
      details: { provider: 'The model made-whisper', supported: 'en' },
    });
    await new Caller().open(stt, { language: 'de', model: 'made-streaming' });
  });
});
