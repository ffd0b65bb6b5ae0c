import { describe, expect, it } from 'vitest';
import { completenessOf } from '../../src/conversation/turn/endpointing.js';

/** Turns as a recogniser writes them: without punctuation. First what goes on, then what is whole. */
const TURNS: Readonly<Record<string, { open: string[]; whole: string[] }>> = {
  'es-ES': {
    open: [
      'me llamo',
      'mi número es',
      'quería',
      'busco un',
      'podría',
      'quisiera reservar una mesa para',
      'no sé si',
      'eh',
    ],
    whole: ['sí', 'una mesa para dos por favor', 'mañana por la tarde', 'qué horario tienen', 'nada más gracias'],
  },
  'fr-FR': {
    open: [
      "je m'appelle",
      'je cherche',
      'est-ce que vous',
      'je voudrais savoir si',
      'parce que',
      'je pense que',
      'euh',
    ],
    whole: ['oui', "d'accord", 'demain soir', 'à quelle heure ouvrez-vous', "c'est tout merci"],
  },
  'de-DE': {
    open: [
      'ich hätte gern',
      'ich würde gerne',
      'mein Name ist',
      'ich wollte',
      'können Sie mir',
      'das ist weil',
      'ähm',
      'am',
    ],
    whole: ['ja', 'ja gerne', 'morgen um acht', 'wann haben Sie geöffnet', 'nein danke', 'das wäre alles danke'],
  },
  'pt-BR': {
    open: ['eu gostaria de', 'meu nome é', 'eu queria', 'uma mesa para', 'porque', 'eu acho que', 'hum'],
    whole: ['sim', 'amanhã à noite', 'não obrigado', 'qual é o horário', 'só isso obrigada'],
  },
  'it-IT': {
    open: ['mi chiamo', 'il mio nome è', 'vorrei', 'sto cercando', 'un tavolo per', 'perché', 'penso che', 'ehm'],
    whole: ['sì', 'domani sera', 'no grazie', 'a che ora aprite', 'è tutto grazie'],
  },
  'nl-NL': {
    open: ['ik wil graag', 'ik zou graag', 'mijn naam is', 'kunt u mij', 'een tafel voor', 'omdat', 'uhm'],
    whole: ['ja', 'ja graag', 'morgenavond om acht uur', 'hoe laat gaat u open', 'nee bedankt'],
  },
  'hi-IN': {
    open: ['मेरा नाम', 'चार लोगों के लिए', 'मैं बुक करना चाहता', 'क्या मैं', 'क्योंकि', 'कल शाम को', 'मैं सोच रहा', 'उम'],
    whole: ['हाँ जी', 'मुझे टेबल चाहिए', 'मैं कल आऊंगा ठीक है', 'क्या आप कल खुले हैं', 'नहीं धन्यवाद', 'चार लोग होंगे बताइए'],
  },
  'ja-JP': {
    open: [
      '明日の夜に',
      '予約したいのですが',
      '名前は',
      '電話番号は',
      'えーと',
      '四人で',
      'それで',
      'また',
      '駐車場があるので',
    ],
    whole: [
      'はい',
      '四人です',
      '予約をお願いします',
      '何時に開きますか',
      '七時',
      'ちょっと待って',
      '昨日電話しました',
      '大丈夫です',
    ],
  },
  'zh-CN': {
    open: ['我想订一个', '我叫', '我的号码是', '请问', '因为', '明天晚上或者', '能不能', '那个', '我需要'],
    whole: ['好的', '四个人', '我想订位可以吗', '你们几点开门呢', '没有了谢谢', '晚上七点半', '没问题'],
  },
  'zh-TW': {
    open: ['我的號碼是', '因為', '請問', '然後'],
    whole: ['對', '謝謝', '你們幾點開門呢', '可以嗎'],
  },
};

describe.each(Object.entries(TURNS))('%s', (language, { open, whole }) => {
  it.each(open)('goes on: %s', (text) => {
    expect(completenessOf(text, language)).toBeLessThanOrEqual(0.35);
  });

  it.each(whole)('is whole: %s', (text) => {
    expect(completenessOf(text, language)).toBeGreaterThanOrEqual(0.6);
  });
});

describe('a language without lists', () => {
  it('is judged by punctuation and length', () => {
    expect(completenessOf('네 명이요', 'ko-KR')).toBeGreaterThanOrEqual(0.6);
    expect(completenessOf('네 명이요.', 'ko-KR')).toBeGreaterThan(completenessOf('네 명이요', 'ko-KR'));
    expect(completenessOf('네 명,', 'ko-KR')).toBeLessThan(0.4);
    expect(completenessOf('czy macie stolik na jutro wieczorem', 'pl-PL')).toBeGreaterThan(
      completenessOf('stolik', 'pl-PL'),
    );
    expect(completenessOf('może być…', 'pl-PL')).toBeLessThan(0.2);
  });
});

describe('English', () => {
  it.each(['how are you', 'where is it', 'what time is it', 'something to write with'])('is whole: %s', (text) => {
    expect(completenessOf(text, 'en-US')).toBeGreaterThanOrEqual(0.6);
  });

  it.each(['that is all oh', 'is there', 'my name is'])('goes on: %s', (text) => {
    expect(completenessOf(text, 'en-US')).toBeLessThan(0.3);
  });
});
