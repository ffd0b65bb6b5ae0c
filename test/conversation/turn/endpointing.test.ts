import { describe, expect, it } from 'vitest';
import { DEFAULT_CONVERSATION } from '../../../src/agent/flow/conversation-config.js';
import { dictationOf } from '../../../src/conversation/turn/dictation.js';
import {
  scoreTurn,
  silenceNeededMs,
  type TurnEvidence,
  completenessOf,
} from '../../../src/conversation/turn/endpointing.js';

const evidence = (text: string, more: Partial<TurnEvidence> = {}): TurnEvidence => ({
  parts: [text],
  language: 'en-US',
  isFinal: true,
  agentSaid: '',
  audio: null,
  longestPauseMs: 0,
  usualPauseMs: 0,
  ...more,
});
const score = (text: string, language = 'en-US', agentSaid = '') => scoreTurn(evidence(text, { language, agentSaid }));

describe('words that go on', () => {
  it.each([
    ['en-US', 'I would like a table for'],
    ['en-US', 'I need it because'],
    ['en-US', 'My name is John and'],
    ['en-US', 'my name is'],
    ['en-US', "I'm looking for a"],
    ['en-US', 'I would like'],
    ['en-US', 'can you'],
    ['en-US', "well I don't want"],
    ['en-US', "I'm trying to"],
    ['en-US', 'at half past'],
    ['en-US', 'So I was thinking…'],
    ['en-GB', 'um'],
    ['en-GB', 'The name is, uh'],
    ['de-DE', 'Ich hätte gern einen Tisch für'],
    ['de-DE', 'Ich möchte'],
    ['fr-FR', 'Je voudrais une table pour'],
    ['fr-FR', 'Je suis'],
    ['es-ES', 'Quiero una mesa para'],
    ['es-MX', 'mi nombre es'],
    ['pt-BR', 'Eu queria uma mesa para'],
    ['it-IT', 'Vorrei un tavolo per'],
    ['nl-NL', 'Ik wil een tafel voor'],
    ['hi-IN', 'मुझे एक टेबल चाहिए और'],
    ['ja-JP', '明日の夜に'],
    ['ja-JP', '予約したいんですけど'],
    ['ja-JP', 'えっと'],
    ['zh-CN', '我想订一个'],
    ['zh-CN', '因为'],
  ])('%s: %s', (language, text) => {
    expect(score(text, language).completeness).toBeLessThan(0.25);
  });

  it('a comma is half a sign', () => {
    expect(score('well, you know,').completeness).toBeLessThan(0.5);
  });

  it.each(['so I said not', 'it was just', 'and then'])('"%s" may or may not be all', (text) => {
    expect(score(text).completeness).toBeLessThan(0.5);
  });
});

describe('words that are complete', () => {
  it.each([
    ['en-US', 'A table for four, please.'],
    ['en-US', 'Thank you.'],
    ['en-US', 'Thank you'],
    ['en-US', 'How are you?'],
    ['en-US', 'Yes, it is.'],
    ['en-US', 'yes I do'],
    ['en-US', 'no we can'],
    ['en-US', 'yes'],
    ['en-US', 'No thanks'],
    ['en-US', 'What time do you open?'],
    ['en-US', 'what time do you open'],
    ['en-US', 'I would like to book a table for tomorrow evening.'],
    ['en-US', 'a table for four tomorrow'],
    ['es-ES', 'Quiero una mesa para cuatro, por favor'],
    ['es-ES', 'sí, claro'],
    ['fr-FR', "Une table pour quatre, s'il vous plaît"],
    ['de-DE', 'Einen Tisch für vier Personen bitte'],
    ['de-DE', 'Das ist der Tisch, wo ich war'],
    ['pt-BR', 'Uma mesa para quatro, por favor'],
    ['it-IT', 'Un tavolo per quattro, per favore'],
    ['nl-NL', 'Een tafel voor vier alstublieft'],
    ['hi-IN', 'मुझे चार लोगों के लिए टेबल चाहिए'],
    ['ja-JP', 'そうですか'],
    ['ja-JP', '四人でお願いします'],
    ['ja-JP', '予約したいです'],
    ['zh-CN', '我要订四个人的位子，谢谢'],
    ['zh-CN', '好的'],
    ['ko-KR', '네 명이요'],
    ['constructor', 'constructor'],
  ])('%s: %s', (language, text) => {
    expect(score(text, language).completeness).toBeGreaterThan(0.6);
  });

  it('a short answer is as complete as can be', () => {
    const texts = ['yes', 'no thanks', 'okay thanks', 'ja', 'oui', 'sí', 'हाँ', 'はい', '好的'];
    const languages = ['en-US', 'en-US', 'en-US', 'de-DE', 'fr-FR', 'es-ES', 'hi-IN', 'ja-JP', 'zh-CN'];
    texts.forEach((text, at) => {
      expect(completenessOf(text, languages[at] ?? '')).toBeGreaterThanOrEqual(0.9);
    });
  });

  it.each(['hello', 'good evening', 'no'])('"%s" may be the whole, or its beginning', (text) => {
    expect(score(text).completeness).toBeGreaterThan(0.5);
    expect(score(text).completeness).toBeLessThan(score('yes').completeness);
  });

  it('a question may end in a preposition', () => {
    expect(completenessOf('where are you calling from', 'en-US')).toBeGreaterThan(
      completenessOf('I am calling from', 'en-US'),
    );
  });

  it('an answer to a question is sooner complete', () => {
    expect(score('John Miller', 'en-US', 'What is your name?').completeness).toBeGreaterThan(
      score('John Miller', 'en-US', 'Go on.').completeness,
    );
  });

  it('an interim transcript counts a little less', () => {
    const text = 'a table for four';
    expect(scoreTurn(evidence(text, { isFinal: false })).completeness).toBeLessThan(
      scoreTurn(evidence(text)).completeness,
    );
  });
});

describe('an audio model', () => {
  it('raises and lowers what the words tell', () => {
    const words = scoreTurn(evidence('a table for four')).completeness;
    expect(scoreTurn(evidence('a table for four', { audio: 1 })).completeness).toBeGreaterThan(words);
    expect(scoreTurn(evidence('a table for four', { audio: 0 })).completeness).toBeLessThan(words / 2);
  });

  it('has less to say about numbers', () => {
    const text = 'my number is five five five';
    expect(scoreTurn(evidence(text, { audio: 1 })).completeness).toBeLessThan(0.5);
  });
});

describe('dictation', () => {
  it.each([
    ['en-US', 'five five five'],
    ['en-US', 'my number is 555'],
    ['en-US', 'oh one'],
    ['en-US', '555-0123'],
    ['en-US', 'twenty three double four'],
    ['es-ES', 'cinco cinco'],
    ['de-DE', 'null drei'],
    ['ko-KR', '010-1234'],
  ])('digits, %s: %s', (language, text) => {
    expect(dictationOf([text], language, '')?.kind).toBe('digits');
  });

  it.each(['a table for four', 'at 7', 'number five please', '', 'I see', 'constructor'])('none: %s', (text) => {
    expect(dictationOf([text], 'en-US', '')).toBeNull();
  });

  it('one digit is enough where the agent asked for a number', () => {
    expect(score('five', 'en-US', 'What is your phone number?').dictating).toBe(true);
    expect(score('five', 'en-US', 'For how many people?').dictating).toBe(false);
    expect(score('five', 'en-US', 'For how many people?').completeness).toBeGreaterThan(0.6);
  });

  it.each([
    ['Please tell me the last four digits of your card.', 'four two', 'four two seven one'],
    ['What is your PIN?', 'one two three', 'one two three four'],
    ['Please read out the six-digit code.', 'four five six', 'four five six one two three'],
    ['And your zip code?', 'nine oh two', 'nine oh two one oh'],
    ['What is your phone number?', 'five five five one two', 'two oh seven nine four six oh one two three four'],
    ['Your card number, please.', '4111 1111 1111', '4111 1111 1111 1111'],
  ])('how many are expected: %s', (agentSaid, part, whole) => {
    expect(dictationOf([part], 'en-US', agentSaid)?.completeness).toBeLessThan(0.3);
    expect(dictationOf([whole], 'en-US', agentSaid)?.completeness).toBeGreaterThan(0.7);
  });

  it('"my number is" announces a phone number too', () => {
    expect(dictationOf(['my number is five five five'], 'en-US', '')?.completeness).toBeLessThan(0.2);
    expect(dictationOf(['my number is'], 'en-US', 'What is your number?')).toBeNull();
    expect(score('my number is').completeness).toBeLessThan(0.2);
  });

  it.each(['m i l', 'b as in bravo', 'bravo oscar bravo', 'M I double L'])('letters: %s', (text) => {
    expect(dictationOf([text], 'en-US', 'Could you spell that?')?.kind).toBe('letters');
  });

  it('identifiers of letters and digits', () => {
    expect(dictationOf(['x b four seven'], 'en-US', '')).toMatchObject({ kind: 'letters' });
  });

  it.each([
    ['john dot miller at', 0.1],
    ['john dot miller at example', 0.3],
    ['john dot miller at example dot', 0.1],
  ])('an address goes on: %s', (text, most) => {
    expect(dictationOf([text], 'en-US', 'What is your e-mail address?')?.completeness).toBeLessThanOrEqual(most);
  });

  it('an address is complete with its last part', () => {
    expect(dictationOf(['john dot miller at example dot com'], 'en-US', '')?.completeness).toBeGreaterThan(0.8);
    expect(dictationOf(['john@example.com'], 'en-US', '')?.completeness).toBeGreaterThan(0.8);
    expect(dictationOf(['john@example'], 'en-US', '')?.completeness).toBeLessThan(0.3);
  });

  it('who does not want to give an address does not dictate one', () => {
    expect(dictationOf(["I don't have one"], 'en-US', 'What is your e-mail address?')).toBeNull();
  });
});

describe('silenceNeededMs', () => {
  const { endpointing } = DEFAULT_CONVERSATION;
  const { minSilenceMs, maxSilenceMs } = endpointing;
  const scored = (completeness: number, dictating = false, rhythmMs = 0, slowness = 1) => ({
    completeness,
    dictating,
    rhythmMs,
    slowness,
    wordless: false,
  });
  /** As the benchmark scales it. */
  const scaled = (scale: number) => ({
    ...endpointing,
    minSilenceMs: minSilenceMs * scale,
    maxSilenceMs: maxSilenceMs * Math.min(scale, 1),
  });
  const SCALES = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 1.75, 2, 2.5, 3];

  it('falls from the longest to the least silence as the words become complete', () => {
    const needed = [0, 0.45, 0.9, 1].map((completeness) => silenceNeededMs(scored(completeness), endpointing));
    expect(needed).toEqual([
      maxSilenceMs,
      minSilenceMs + (maxSilenceMs - minSilenceMs) / 4,
      minSilenceMs,
      minSilenceMs,
    ]);
  });

  it('is never less than the response delay, and dictation gets its own on top', () => {
    const config = { ...endpointing, responseDelayMs: 1000, numberInputDelayMs: 700 };
    expect(silenceNeededMs(scored(0.95), config)).toBe(1000);
    expect(silenceNeededMs(scored(0.95, true), config)).toBe(1700);
    expect(silenceNeededMs(scored(0), config)).toBe(maxSilenceMs);
  });

  it('follows the pauses that this user makes', () => {
    expect(silenceNeededMs(scored(0.7, true, 1100), endpointing)).toBe(1100);
    expect(silenceNeededMs(scored(0.7, true, 60_000), endpointing)).toBe(maxSilenceMs);
  });

  it('waits longer for a user who pauses for long, and never beyond the longest silence', () => {
    const usual = silenceNeededMs(scored(0.6), endpointing);
    const slow = silenceNeededMs(scored(0.6, false, 0, 1.5), endpointing);
    expect((slow - minSilenceMs) / (usual - minSilenceMs)).toBeCloseTo(1.5, 1);
    expect(silenceNeededMs(scored(0.05, false, 0, 1.5), endpointing)).toBe(maxSilenceMs);
    const slowness = (usualPauseMs: number) => scoreTurn(evidence('a table', { usualPauseMs })).slowness;
    expect([0, 500, 840, 5000].map(slowness)).toEqual([1, 1, 1.2, 1.5]);
  });

  it('is a plain timer without words, whatever the pauses before', () => {
    const wordless: Partial<TurnEvidence>[] = [
      {},
      { isFinal: false },
      { longestPauseMs: 1400 },
      { usualPauseMs: 2000 },
      { agentSaid: 'How many?' },
    ];
    for (const scale of SCALES) {
      const needed = wordless.map((more) => silenceNeededMs(scoreTurn(evidence('', more)), scaled(scale)));
      expect(new Set(needed)).toEqual(new Set([Math.min(Math.round(648 * scale), maxSilenceMs)]));
    }
  });

  it('without words is never beyond what is set: a fixed wait, a delay, a least silence of 0', () => {
    const wordless = scoreTurn(evidence(''));
    expect(silenceNeededMs(wordless, { ...endpointing, minSilenceMs: 500, maxSilenceMs: 500 })).toBe(500);
    expect(silenceNeededMs(wordless, { ...endpointing, responseDelayMs: 1000 })).toBe(1000);
    expect(silenceNeededMs(wordless, { ...endpointing, minSilenceMs: 0 })).toBe(maxSilenceMs / 4);
    expect(silenceNeededMs(wordless, { ...endpointing, minSilenceMs: 800, maxSilenceMs: 200 })).toBe(800);
  });

  it('hears an audio model where there are no words', () => {
    const judged = (audio: number) => silenceNeededMs(scoreTurn(evidence('', { audio })), endpointing);
    expect(judged(1)).toBeLessThan(400);
    expect(judged(0)).toBeGreaterThan(1200);
  });

  it.each(['What time do you open', 'a table for four', 'I would like', 'well', ''])(
    'grows with the scale over its whole range, after "%s"',
    (text) => {
      const needed = SCALES.map((scale) => silenceNeededMs(score(text), scaled(scale)));
      for (const [index, ms] of needed.entries()) expect(ms).toBeGreaterThan(needed[index - 1] ?? 0);
    },
  );

  it('holds the least silence where the longest is set below it', () => {
    const config = { ...endpointing, minSilenceMs: 800, maxSilenceMs: 200 };
    expect(silenceNeededMs(scored(0), config)).toBe(800);
  });
});
