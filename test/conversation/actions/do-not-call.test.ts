import { describe, expect, it } from 'vitest';
import { asksNotToBeCalled } from '../../../src/conversation/actions/do-not-call.js';
import { listening } from '../listening.js';

const WISHES: Readonly<Record<string, readonly string[]>> = {
  en: [
    'Please take me off your list.',
    'Take me off of your calling list',
    'Remove my number from your database, please.',
    "Don't call me again.",
    'do not call me anymore please',
    'Please stop calling me.',
    'never call this number again',
    "I don't want you to call me",
    "I don't want any more of these calls",
    'put me on your do not call list',
    'Lose my number!',
  ],
  es: [
    'Quíteme de su lista, por favor.',
    'No me llame más.',
    'No vuelvan a llamarme',
    'Dejen de llamarme.',
    'No quiero que me llamen',
    'Borren mi número de su base de datos',
  ],
  fr: [
    "Ne m'appelez plus.",
    'Arrêtez de m’appeler !',
    'Retirez-moi de votre liste.',
    'Je ne veux plus être appelé',
    'ne me rappelez plus jamais',
    'Enlevez mon numéro de votre fichier',
  ],
  de: [
    'Rufen Sie mich nicht mehr an.',
    'Rufen Sie bitte nie wieder an',
    'Streichen Sie mich von Ihrer Liste!',
    'Löschen Sie meine Nummer aus Ihrer Datenbank',
    'Ich möchte nicht mehr angerufen werden.',
    'Hören Sie auf mich anzurufen',
  ],
  pt: [
    'Não me ligue mais.',
    'Parem de me ligar',
    'Tire-me da sua lista',
    'Nunca mais me liguem',
    'não quero que me liguem',
  ],
  it: [
    'Non mi chiami più.',
    'Non chiamatemi mai più',
    'Smettetela di chiamarmi',
    'Mi tolga dalla vostra lista',
    'Non voglio più essere chiamato',
  ],
  nl: [
    'Bel mij niet meer.',
    'Haal mij van uw lijst',
    'Stop met bellen.',
    'Ik wil niet meer gebeld worden',
    'Verwijdert u mijn nummer uit uw bestand',
  ],
  hi: ['मुझे दोबारा फ़ोन मत कीजिए।', 'मुझे कॉल मत करो', 'फ़ोन करना बंद कीजिए', 'लिस्ट से मेरा नंबर हटा दीजिए'],
  ja: ['もう電話しないでください。', '二度とかけてこないでください', 'リストから外してください', '今後は連絡しないで'],
  zh: ['不要再给我打电话了。', '请别再打电话', '把我从名单里删除', '别再打来了'],
};

const NONE: Readonly<Record<string, readonly string[]>> = {
  en: [
    'Call me again tomorrow.',
    "Don't call me before nine.",
    'Do not call me again until Monday.',
    "Don't call me at work, call my mobile.",
    'You can take the soup off my order.',
    "I don't want to be on a call now.",
    'Is my name on your list?',
    'What is on the list?',
    "Please don't call me Bob.",
  ],
  es: ['Llámeme más tarde.', 'No me llame antes de las nueve.', 'No me llame Juan, soy Pedro.'],
  fr: ['Rappelez-moi demain.', "Ne m'appelez plus aujourd'hui, mais demain."],
  de: ['Rufen Sie mich morgen wieder an.', 'Rufen Sie mich heute nicht mehr an.'],
  pt: ['Ligue mais tarde.', 'Não me ligue mais hoje.'],
  it: ['Mi chiami domani.', 'Non mi chiami più oggi, ma domani.'],
  nl: ['Bel mij morgen.', 'Bel mij vandaag niet meer.'],
  hi: ['मुझे कल फ़ोन कीजिए।'],
  ja: ['明日電話してください。'],
  zh: ['明天再给我打电话。', '今天不要再打电话'],
};

describe('plain words', () => {
  const cases = (lists: Readonly<Record<string, readonly string[]>>) =>
    Object.entries(lists).flatMap(([language, texts]) => texts.map((text) => [language, text] as const));

  it.each(cases(WISHES))('%s: %s', (language, text) => {
    expect(asksNotToBeCalled(text, language)).toBe(true);
  });

  it.each(cases(NONE))('%s, no such wish: %s', (language, text) => {
    expect(asksNotToBeCalled(text, language)).toBe(false);
  });

  it('are understood in English whatever is spoken, and of a region', () => {
    expect(asksNotToBeCalled('Take me off your list!', 'sw')).toBe(true);
    expect(asksNotToBeCalled('Quíteme de su lista', 'es-419')).toBe(true);
  });
});

describe('a wish not to be called again', () => {
  const noted = (stage: ReturnType<typeof listening>): unknown[] =>
    stage.timeline.effects.flatMap(({ effect }) => (effect.type === 'doNotCall' ? [effect.by] : []));

  it('is acknowledged at once, without the model, and the call ends', () => {
    const stage = listening({ doNotCall: true, speculation: { enabled: false } });
    stage.user.says('Take me off your list.', { from: 1000, to: 2400 });
    expect(stage.playToEnd()).toBe('agent-ended');
    stage.expectAgent('you will not be called again').isHeardWhole();
    expect([noted(stage), stage.model.requests.length]).toEqual([['rule'], 0]);
  });

  it('is acknowledged in the language of the conversation', () => {
    const stage = listening({ doNotCall: true, language: 'de' });
    stage.user.says('Rufen Sie mich nicht mehr an.', { from: 1000, to: 2400 });
    stage.playToEnd();
    stage.expectAgent('Sie werden nicht mehr angerufen').isHeardWhole();
  });

  it('that the model notices is noted once, and the model goes on', () => {
    const stage = listening({ doNotCall: true });
    stage.model.calls([{ name: 'do_not_call' }, { name: 'do_not_call' }]).says('You will not hear from us again.');
    stage.user.says('This is the fifth time this week, I am done with you people.', { from: 1000, to: 4000 });
    stage.playTo(12_000);
    stage.expectAgent('You will not hear from us').isHeardWhole();
    expect(noted(stage)).toEqual(['model']);
    expect(stage.conversation.state.doNotCall).toBe(true);
  });

  it('does not end the call of a user who goes on', () => {
    const stage = listening({ doNotCall: true });
    stage.user.says('Stop calling me.', { from: 1000, to: 2000 });
    const atMs = stage.playUntilAgentSays('I have noted that');
    stage.user.says('Wait, I still need to change my order.', { from: atMs + 700, to: atMs + 2600 });
    stage.playTo(atMs + 8000);
    expect(stage.timeline.end).toBeNull();
    stage.expectAgent('All right.').isHeardWhole();
  });

  it('means nothing where it is not looked for', () => {
    const stage = listening();
    stage.user.says('Take me off your list.', { from: 1000, to: 2400 });
    stage.playTo(8000);
    stage.expectAgent('All right.').isHeardWhole();
    expect(noted(stage)).toEqual([]);
    expect(stage.model.requests[0]?.tools).toEqual([]);
  });
});
