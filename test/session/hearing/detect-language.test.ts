import { describe, expect, it } from 'vitest';
import { detectLanguage } from '../../../src/session/hearing/language-providers.js';

const SENTENCES: Readonly<Record<string, readonly string[]>> = {
  en: ['I would like to book a table for two', 'what time do you open on Sundays', 'can you help me with this'],
  fr: ['je voudrais réserver une table pour deux', 'bonjour est-ce que vous parlez français', "c'est pour demain soir"],
  es: [
    'quiero reservar una mesa para dos personas',
    'hola buenos días puede ayudarme',
    '¿a qué hora abren ustedes los domingos?',
  ],
  de: [
    'ich möchte einen Tisch für zwei Personen',
    'guten Tag, können Sie mir helfen',
    'wann haben Sie am Sonntag auf und wie lange',
  ],
  it: [
    'vorrei prenotare un tavolo per due',
    'buongiorno parla italiano lei',
    'a che ora aprite la domenica per favore',
  ],
  pt: ['eu queria uma mesa para duas pessoas', 'bom dia, você pode me ajudar com isso', 'não tenho uma reserva'],
  nl: [
    'ik wil graag een tafel voor twee personen',
    'goedendag, kunt u mij helpen met dit',
    'hoe laat zijn jullie open op zondag',
  ],
  pl: ['dzień dobry, chciałbym zarezerwować stolik', 'czy może mi pan pomóc'],
  sv: ['jag vill boka ett bord för två', 'hej kan du hjälpa mig med det här'],
  tr: ['merhaba iki kişilik bir masa istiyorum'],
  ja: ['予約をお願いします', '二名です、明日の夜'],
  zh: ['我想订一张桌子', '明天晚上可以吗'],
  ko: ['두 명 예약하고 싶어요'],
  hi: ['मुझे दो लोगों के लिए मेज़ चाहिए'],
  ru: ['я хочу заказать столик на двоих'],
  uk: ['я хочу замовити столик на двох, її та його'],
  ar: ['أريد حجز طاولة لشخصين'],
  ur: ['مجھے ایک ٹیبل چاہیے'],
  el: ['θέλω ένα τραπέζι για δύο'],
  he: ['אני רוצה להזמין שולחן'],
  th: ['ฉันต้องการจองโต๊ะ'],
};

describe('the language of a text', () => {
  it.each(Object.entries(SENTENCES).flatMap(([language, texts]) => texts.map((text) => [language, text] as const)))(
    '%s: %s',
    (language, text) => {
      expect(detectLanguage(text)).toBe(language);
    },
  );

  it.each(['', '42', '…', 'Smith', 'pizza margherita', 'no', 'ok', 'Anna Kowalski', 'mm-hm'])(
    'is not known by %j',
    (text) => {
      expect(detectLanguage(text)).toBeNull();
    },
  );
});
