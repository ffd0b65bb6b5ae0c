import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ExpectedAnswer } from '../../../../src/agent/expected-answer.js';
import { EmbeddedStt } from '../../../../src/providers/stt/embedded/provider.js';
import type { VocabularyReport } from '../../../../src/providers/stt/embedded/protocol.js';
import { FliteTts } from '../../../../src/providers/tts/flite/flite.js';
import { wordErrorRate } from '../../../../src/testing/labels/wer.js';
import { Listener, RESTAURANT, speak } from './support.js';

const tts = new FliteTts();
let stt: EmbeddedStt;
let reports: VocabularyReport[] = [];

beforeAll(async () => {
  stt = new EmbeddedStt({ onVocabulary: (report) => reports.push(report) });
  await stt.warmUp();
}, 30_000);

afterAll(async () => {
  await stt.close();
  await tts.close();
});

/** What one listener makes of one utterance. */
async function hear(text: string, voice = 'slt', hints = RESTAURANT, asked: ExpectedAnswer | null = null) {
  const listener = await new Listener().open(stt, hints);
  listener.stream.expect?.(asked);
  await listener.silence(400);
  await listener.speech(await speak(tts, text, voice));
  await listener.settle();
  await listener.stream.close();
  return listener;
}

describe('recognition', () => {
  it('understands what the agent’s phrases and the everyday vocabulary cover', async () => {
    const sentences = [
      "I'd like to book a table for four.",
      'a table for two tomorrow at seven thirty p m',
      'we would like to sit outside',
      'cancel my reservation please',
      'yes please',
      'the name is Sarah Johnson',
    ];
    const pairs: [string, string][] = [];
    for (const sentence of sentences) {
      const { finals } = await hear(sentence);
      expect(finals).toHaveLength(1);
      pairs.push([sentence, finals[0]?.text ?? '']);
    }
    expect(wordErrorRate(pairs), JSON.stringify(pairs)).toBeLessThan(0.15);
  });

  it('understands short answers to what was asked', async () => {
    const answers: [ExpectedAnswer, string, string][] = [
      ['number', 'Four.', 'four'],
      ['name', 'Walsh, please.', 'walsh please'],
      ['letters', 'B, E, N, N, E, T, T.', 'b e n n e t t'],
      ['yes-no', 'No, thank you.', 'no thank you'],
    ];
    for (const [asked, said, words] of answers) {
      const { finals } = await hear(said, 'slt', RESTAURANT, asked);
      expect(finals[0]).toMatchObject({ text: words, understood: true });
    }
    const { finals } = await hear('Four.', 'slt');
    expect(finals[0]?.text).not.toBe('four');
  });

  it('understands short everyday things, whatever was asked', async () => {
    const said: [ExpectedAnswer | null, string, string][] = [
      [null, 'Hello.', 'hello'],
      [null, 'Hi there.', 'hi there'],
      [null, 'Yes, please.', 'yes please'],
      [null, 'Thank you.', 'thank you'],
      ['number', 'Sorry?', 'sorry'],
      ['date', 'What?', 'what'],
    ];
    for (const [asked, text, words] of said) {
      const { finals } = await hear(text, 'slt', RESTAURANT, asked);
      expect(finals[0], text).toMatchObject({ text: words, understood: true });
    }
  });

  it('understands other things than were asked for', async () => {
    const { finals } = await hear('we would like to sit outside', 'slt', RESTAURANT, 'number');
    expect(finals[0]).toMatchObject({ text: 'we would like to sit outside', understood: true });
  });

  it('trusts what it knows and not what is out of its vocabulary', async () => {
    const known = [
      "I'd like to book a table for four.",
      'cancel my reservation please',
      'we would like to sit outside',
    ];
    const unknown = [
      'Quantum entanglement violates local realism.',
      'Bureaucrats negotiated tariffs on imported steel.',
      'Ancient Egyptian pharaohs built enormous pyramids.',
    ];
    for (const sentence of known) expect((await hear(sentence)).finals[0]).toMatchObject({ understood: true });
    for (const sentence of unknown) expect((await hear(sentence)).finals[0]).toMatchObject({ understood: false });
  });

  it('gives interim transcripts as the words come, each only when it has changed', async () => {
    const { heard } = await hear("I'd like to book a table for four.");
    const interims = heard.filter(({ transcript }) => !transcript.isFinal).map(({ transcript }) => transcript.text);
    expect(interims.length).toBeGreaterThan(2);
    for (const [i, text] of interims.entries()) expect(text).not.toBe(interims[i - 1]);
    expect(heard.at(-1)?.transcript.isFinal).toBe(true);
  });

  it('says when each word was spoken, on the session’s count of samples', async () => {
    const { finals } = await hear('cancel my reservation please');
    const words = finals[0]?.words ?? [];
    expect(words.map(({ text }) => text).join(' ')).toBe(finals[0]?.text);
    expect(words[0]?.startSample).toBeGreaterThan(6400 - 3200);
    expect(words[0]?.startSample).toBeLessThan(6400 + 3200);
    for (const [i, word] of words.entries()) {
      expect(word.endSample).toBeGreaterThan(word.startSample);
      expect(word.startSample).toBeGreaterThanOrEqual(words[i - 1]?.endSample ?? 0);
    }
  });

  it('learns words from keywords and reports those that it had to guess', async () => {
    reports = [];
    await hear('yes', 'slt', { phrases: ['the gloomhaven special'], texts: [], keywords: new Map([['日本', 3]]) });
    expect(reports[0]?.guessed).toContain('gloomhaven');
    expect(reports[0]?.leftOut).toContain('日本');
    expect(reports[0]?.words).toBeGreaterThan(800);
  });

  it('takes hints of any kind', async () => {
    const nothing = { phrases: [], texts: [], keywords: new Map<string, number>() };
    expect((await hear('yes please', 'slt', nothing)).finals[0]?.text).toContain('yes');
    const junk = {
      phrases: ['{{{', '', '<sil> </s>'],
      texts: ['\u0000'.repeat(1000), '((( [NOISE] +g:AA'],
      keywords: new Map([
        ['', Number.NaN],
        ['x', -5],
        ['y', Infinity],
      ]),
    };
    expect((await hear('yes please', 'slt', junk)).finals).toHaveLength(1);
  });
});

describe('segments', () => {
  it('goes on in the same segment until the turn is taken, and then begins a new one', async () => {
    const listener = await new Listener().open(stt);
    await listener.silence(400);
    await listener.speech(await speak(tts, 'a table for two'), 600);
    expect(listener.finals.map(({ segment }) => segment)).toEqual([0]);
    const first = listener.finals[0]?.text ?? '';
    await listener.speech(await speak(tts, 'tomorrow at seven'), 400);
    await listener.settle();
    expect(listener.finals).toHaveLength(2);
    expect(listener.finals[1]?.segment).toBe(0);
    expect(listener.finals[1]?.text.split(' ').length).toBeGreaterThan(first.split(' ').length);
    expect(listener.finals[1]?.text).toContain('seven');

    listener.stream.endTurn();
    listener.stream.endTurn();
    await listener.silence(400);
    await listener.speech(await speak(tts, 'yes please'), 400);
    await listener.settle();
    expect(listener.finals[2]).toMatchObject({ segment: 1, text: 'yes please' });
    await listener.stream.close();
  });

  it('gives an empty transcript that is not understood for silence taken for speech', async () => {
    const listener = await new Listener().open(stt);
    await listener.speech(new Int16Array(16_000));
    await listener.settle();
    expect(listener.finals).toMatchObject([{ segment: 0, text: '', understood: false, confidence: 0 }]);
    await listener.stream.close();
  });

  it('decides alike to the bit in two runs, on a decoder that others have used in between', async () => {
    const run = async () => {
      const listener = await new Listener().open(stt);
      await listener.silence(300);
      await listener.speech(await speak(tts, 'a table for six on friday'), 500);
      await listener.speech(await speak(tts, 'at eight o’clock'), 400);
      listener.stream.endTurn();
      await listener.speech(await speak(tts, 'thank you goodbye'), 400);
      await listener.settle();
      await listener.stream.close();
      return listener.heard;
    };
    const first = await run();
    await hear('cancel my reservation please', 'rms');
    expect(await run()).toEqual(first);
    expect(first.filter(({ transcript }) => transcript.isFinal)).toHaveLength(3);
  });

  it('decides alike to the bit with one decoder for two agents as with one for each', async () => {
    const taxi = { phrases: ['a taxi to the railway station please'], texts: [], keywords: new Map<string, number>() };
    const [table, more, ride] = await Promise.all([
      speak(tts, 'a table for two'),
      speak(tts, 'cancel my reservation please'),
      speak(tts, 'a taxi to the railway station please', 'rms'),
    ]);
    const run = async (decoders: number) => {
      const one = new EmbeddedStt({ decoders });
      try {
        const diner = await new Listener().open(one);
        const rider = await new Listener().open(one, taxi);
        await diner.speech(table, 500);
        await rider.speech(ride, 300);
        await diner.speech(more, 400);
        diner.stream.endTurn();
        rider.stream.endTurn();
        await Promise.all([diner.speech(table, 400), rider.speech(ride, 400)]);
        await Promise.all([diner.settle(), rider.settle()]);
        return [diner.heard, rider.heard];
      } finally {
        await one.close();
      }
    };
    const shared = await run(1);
    expect(await run(2)).toEqual(shared);
    expect(shared.map((heard) => heard.filter(({ transcript }) => transcript.isFinal).length)).toEqual([3, 2]);
  }, 120_000);

  it('hears two sessions at once, each by its own words', async () => {
    const taxi = { phrases: ['a taxi to the railway station please'], texts: [], keywords: new Map<string, number>() };
    const [one, two] = await Promise.all([new Listener().open(stt), new Listener().open(stt, taxi)]);
    const [table, ride] = await Promise.all([
      speak(tts, 'cancel my reservation please'),
      speak(tts, 'a taxi to the railway station please'),
    ]);
    await Promise.all([one.speech(table), two.speech(ride)]);
    await Promise.all([one.settle(), two.settle()]);
    expect(one.finals[0]?.text).toBe('cancel my reservation please');
    expect(two.finals[0]?.text).toBe('a taxi to the railway station please');
    await one.stream.close();
    await two.stream.close();
  });
});

describe('French', () => {
  it('opens with the French models', async () => {
    const listener = await new Listener().open(
      stt,
      { phrases: ['je voudrais une table pour deux'], texts: [], keywords: new Map() },
      'fr-FR',
    );
    expect(reports.at(-1)?.leftOut).toEqual([]);
    await listener.speech(new Int16Array(8000));
    await listener.settle();
    expect(listener.finals).toHaveLength(1);
    await listener.stream.close();
  }, 30_000);
});
