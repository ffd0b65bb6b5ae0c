import { describe, expect, it } from 'vitest';
import { Stage, type StageConfig } from '../../../src/stage/stage.js';
import { timesOf, traces } from '../listening.js';

const HELLO = 'Hello, this is Anna of the flower shop. I am calling about your order.';
const MESSAGE = 'This is Anna of the flower shop. Please call me back.';
const GREETING = ['Hi, this is Tom.', 'I cannot take your call right now.', 'Please leave a message after the tone.'];

function calling(voicemail: Partial<NonNullable<StageConfig['voicemail']>> = {}, config: StageConfig = {}): Stage {
  return new Stage({
    config: {
      direction: 'outbound',
      opening: { firstMessage: HELLO },
      voicemail: {
        action: 'message',
        message: MESSAGE,
        continueOnVoiceActivity: false,
        detectionPhrases: [],
        ...voicemail,
      },
      ...config,
    },
  });
}

const detectedBy = (stage: Stage): unknown[] =>
  stage.timeline.effects.flatMap(({ effect }) =>
    effect.type === 'trace' && effect.name === 'voicemail.detected' ? [effect.data['by']] : [],
  );

describe('a person', () => {
  it('is greeted without any delay, and talked to', () => {
    const stage = calling();
    stage.user.says('Hello?', { from: 6000, to: 6400 });
    stage.playTo(12_000);
    stage.expectAgent(HELLO).startsAt(80).isHeardWhole();
    stage.expectAgent('All right.').isHeardWhole();
    expect(detectedBy(stage)).toEqual([]);
  });

  it.each([
    'Good morning, the flower shop, this is Anna speaking, how can I help you?',
    'Hello, Anna speaking. Who is there?',
    'He is not here right now, would you like to leave a message?',
    'You have reached the law firm of Miller and Sons, what can I do for you?',
    'Can you please call me back later?',
    'Tom cannot come to the phone right now, he is in the shower. Who is calling?',
    'He is not available at the moment, he will call you back.',
    'Oh hi, I got your voicemail, I was about to call you back.',
    'Sorry I missed your call, what is it about?',
    'He is not available, can I take your name and have him get back to you?',
    'Send yes at the tone.',
  ])('may say "%s"', (words) => {
    const stage = calling();
    stage.user.says(words, { from: 800, to: 800 + words.length * 50 });
    stage.playTo(15_000);
    expect(detectedBy(stage)).toEqual([]);
    stage.expectAgent('All right.').isHeardWhole();
  });

  it('is whoever has not been found to be a machine in time', () => {
    const stage = calling();
    stage.playTo(19_000);
    expect(stage.conversation.state.voicemail).not.toBeNull();
    stage.playTo(21_000);
    expect(stage.conversation.state.voicemail).toBeNull();
    stage.user.greets(GREETING, { from: 25_000, beepAfterMs: 300 });
    stage.playTo(40_000);
    expect(detectedBy(stage)).toEqual([]);
    expect(stage.conversation.state.line).toBe('open');
  });

  it('is who greets briefly and has a conversation: then a mailbox is a topic like any other', () => {
    const stage = calling();
    stage.user.says('Hello?', { from: 700, to: 1100 });
    stage.user.says('Yes, that is me.', { from: 5000, to: 6000 });
    stage.user.says('I got your voicemail, you said I should leave a message.', { from: 9000, to: 12_000 });
    stage.playTo(19_000);
    expect(detectedBy(stage)).toEqual([]);
    expect(stage.timeline.turns.map(({ text }) => text)).toEqual([
      'Hello? Yes, that is me.',
      'I got your voicemail, you said I should leave a message.',
    ]);
  });

  it('may talk on and on after a short greeting', () => {
    const stage = calling();
    stage.user.says('Hello?', { from: 500, to: 900 });
    stage.user.says('well I must say '.repeat(12).trim(), { from: 2500, to: 14_500 });
    stage.playTo(19_000);
    expect(detectedBy(stage)).toEqual([]);
  });

  it('types', () => {
    const stage = calling();
    stage.user.types('hello', { at: 1000 });
    stage.playTo(2000);
    expect(stage.conversation.state.voicemail).toBeNull();
  });
});

describe('a machine', () => {
  it('is hung up on as soon as it is known, and what was being said to it is dropped', () => {
    const stage = calling({ action: 'hangup' });
    stage.user.greets(GREETING, { from: 700, beepAfterMs: 400 });
    expect(stage.playToEnd()).toBe('voicemail-hangup');
    expect(stage.timeline.end?.atMs).toBeLessThan(5000);
    expect(stage.timeline.utterances.every(({ isWhole }) => !isWhole)).toBe(true);
    expect(stage.messages.map(({ content }) => content).join(' ')).toContain('cannot take your call');
  });

  it('is left the message right after its beep', () => {
    const stage = calling();
    const beepMs = stage.user.greets(GREETING, { from: 700, beepAfterMs: 600 });
    expect(stage.playToEnd()).toBe('voicemail-message');
    stage.expectAgent(MESSAGE).startsAt(beepMs, 200).isHeardWhole();
    stage.expectAgent(HELLO).isCutAt(700, 120);
    expect(stage.messages.at(-1)).toEqual({ role: 'assistant', content: MESSAGE });
    expect(stage.messages.at(-2)?.content).toContain('Please leave a message');
  });

  it('is not answered while it greets, however long its pauses', () => {
    const stage = calling({}, { filler: { afterMs: 0, messages: ['Let me see.'] }, limits: { maxIdleMs: 5000 } });
    stage.send({ type: 'command.say', text: 'Your taxi has arrived.' }, { at: 5000 });
    const endMs = stage.user.greets(['Please leave a message.', ...GREETING, 'Thank you.'], {
      from: 700,
      pauseMs: 2300,
    });
    const beepMs = stage.user.beeps({ at: endMs + 500 });
    expect(stage.playToEnd()).toBe('voicemail-message');
    const heard = stage.timeline.utterances.filter(({ played }) => played.length > 0).map(({ text }) => text);
    expect(heard).toEqual([HELLO, MESSAGE]);
    stage.expectAgent(MESSAGE).startsAt(beepMs, 200);
  });

  it.each([
    ['3.5 s after the end of its greeting', ['I cannot take your call now.', 'Please leave a message.'], 3500],
    ['6 s where it announced a tone', GREETING, 6000],
  ])('without a beep is left the message %s', (_when, greeting, waitMs) => {
    const stage = calling();
    const endMs = stage.user.greets(greeting, { from: 700 });
    expect(stage.playToEnd()).toBe('voicemail-message');
    stage
      .expectAgent(MESSAGE)
      .startsAt(endMs + waitMs, 200)
      .isHeardWhole();
  });

  it('that beeps late is left the message anew, once', () => {
    const stage = calling();
    const endMs = stage.user.greets(['I cannot take your call now.', 'Please leave a message.'], { from: 700 });
    const beepMs = stage.user.beeps({ at: endMs + 3800 });
    stage.user.beeps({ at: beepMs + 1500 });
    expect(stage.playToEnd()).toBe('voicemail-message');
    expect(timesOf(stage, 'line.close')).toHaveLength(1);
    const [, first, second, third] = stage.timeline.utterances;
    expect([first?.isWhole, second?.isWhole, third]).toEqual([false, true, undefined]);
    expect(second?.played[0]?.from).toBeGreaterThanOrEqual(beepMs);
  });

  it('that never stops is left the message after 30 s', () => {
    const stage = calling();
    stage.user.says('Please leave a message.', { from: 700, to: 2000 });
    stage.user.noiseWithoutEnd({ from: 2500 });
    expect(stage.playToEnd()).toBe('voicemail-message');
    expect(stage.timeline.utterances.at(-1)?.askedMs).toBeGreaterThan(30_000);
    expect(stage.timeline.utterances.at(-1)?.askedMs).toBeLessThan(33_000);
  });

  it('is known by its beep alone', () => {
    const stage = calling();
    stage.user.noise({ from: 700, to: 2500 });
    const beepMs = stage.user.beeps({ at: 3000 });
    expect(stage.playToEnd()).toBe('voicemail-message');
    expect(detectedBy(stage)).toEqual(['beep']);
    stage.expectAgent(MESSAGE).startsAt(beepMs, 200);
  });

  it('is no phone menu, however long', () => {
    const stage = calling({ action: 'hangup' });
    stage.user.greets(['For sales, press one.', 'for anything else that you may want from us '.repeat(4)], {
      from: 500,
    });
    stage.playTo(19_000);
    expect(traces(stage)).not.toContain('voicemail.suspected');
  });

  it.each([
    'hello this is the Parker family after the tone',
    'this is Peter my voicemail is broken',
    'yes I was at my mailbox just now',
    'I will call you back',
    'Tom cannot come to the phone right now',
  ])('is not known by one sign: "%s"', (words) => {
    const stage = calling({ action: 'hangup' });
    stage.user.says(words, { from: 700, to: 700 + words.length * 60 });
    stage.playTo(15_000);
    expect(detectedBy(stage)).toEqual([]);
    stage.expectAgent('All right.').isHeardWhole();
  });

  it.each([
    'you have reached the voicemail of Peter',
    'we are away from the phone speak after the beep',
    'nobody is home we will call you back',
  ])('is known by two: "%s"', (words) => {
    const stage = calling({ action: 'hangup' });
    stage.user.says(words, { from: 700, to: 700 + words.length * 60 });
    expect(stage.playToEnd()).toBe('voicemail-hangup');
    expect(stage.timeline.end?.atMs).toBeLessThan(5000);
  });

  it('is known by a phrase of the agent itself', () => {
    const stage = calling({ action: 'hangup', detectionPhrases: ['The Cheese Shop!'] });
    stage.user.says('this is the cheese shop thank you', { from: 700, to: 2500 });
    expect(stage.playToEnd()).toBe('voicemail-hangup');
  });

  it('whose mailbox is full is hung up on', () => {
    const stage = calling();
    stage.user.greets(['The mailbox is full and cannot take any messages at this time.', 'Goodbye.'], { from: 700 });
    expect(stage.playToEnd()).toBe('voicemail-hangup');
    stage.expectAgent(MESSAGE).isNeverSaid();
  });

  it('is known by the word "mailbox", of which nobody talks who answers', () => {
    const stage = calling({ action: 'hangup' });
    stage.user.says('person call mailbox that friday', { from: 700, to: 3500 });
    expect(stage.playToEnd()).toBe('voicemail-hangup');
    expect(detectedBy(stage)).toEqual(['machine']);
  });

  it('is full also where only a part of that is heard', () => {
    const stage = calling();
    stage.user.says('cannot any messages at this time', { from: 700, to: 4000 });
    expect(stage.playToEnd()).toBe('voicemail-hangup');
    expect(detectedBy(stage)).toEqual(['full']);
  });

  it.each([null, ' … '])('is hung up on where the message is %j', (message) => {
    const stage = calling({ message });
    stage.user.greets(GREETING, { from: 700 });
    expect(stage.playToEnd()).toBe('voicemail-hangup');
  });

  it('of which nothing of the message was heard was only hung up on', () => {
    const stage = calling();
    stage.user.greets(GREETING, { from: 3000, beepAfterMs: 300 });
    stage.playTo(2900);
    stage.voice.fails({ count: 5 });
    expect(stage.playToEnd()).toBe('voicemail-hangup');
  });

  it.each([
    ['de', 'Bitte hinterlassen Sie eine Nachricht nach dem Signalton.'],
    ['fr', 'Laissez un message après le bip sonore.'],
    ['es', 'Deje su mensaje después de la señal.'],
    ['pt', 'Deixe a sua mensagem após o sinal.'],
    ['it', 'Lasciate un messaggio dopo il segnale acustico.'],
    ['nl', 'Spreek een bericht in na de piep.'],
    ['hi', 'कृपया बीप के बाद संदेश छोड़ें'],
    ['ja', 'ピーという発信音の後にメッセージをお話しください。'],
    ['zh', '您好，请在嘀声后留言。'],
    ['sv', 'At the tone, please record your message.'],
  ])('speaks %s', (language, greeting) => {
    const stage = calling({ action: 'hangup' }, { language });
    stage.user.says(greeting, { from: 700, to: 4000 });
    expect(stage.playToEnd()).toBe('voicemail-hangup');
  });

  it('means nothing to who is called, and to an agent without the setting', () => {
    const inbound = calling({}, { direction: 'inbound' });
    const without = new Stage({ config: { direction: 'outbound', opening: { firstMessage: HELLO }, voicemail: null } });
    for (const stage of [inbound, without]) {
      stage.user.greets(GREETING, { from: 700, beepAfterMs: 300 });
      stage.playTo(20_000);
      expect(detectedBy(stage)).toEqual([]);
      expect(stage.conversation.state.line).toBe('open');
    }
  });
});

describe('speech during the message', () => {
  it('and it becomes a conversation, where that is wanted', () => {
    const stage = calling({ continueOnVoiceActivity: true });
    stage.model.says('Hello Tom, good that you are there.');
    stage.user.greets(GREETING.slice(2), { from: 700, beepAfterMs: 300 });
    const atMs = stage.playUntilAgentSays(MESSAGE);
    stage.user.says('Hello, hello, I am here!', { from: atMs + 800, to: atMs + 2000 });
    stage.playTo(atMs + 10_000);
    stage.expectAgent(MESSAGE).isCutAt(atMs + 860, 20);
    stage.expectAgent('Hello Tom').isHeardWhole();
    expect(stage.conversation.state.line).toBe('open');
    expect(stage.conversation.state.voicemail).toBeNull();
    expect(traces(stage)).toContain('voicemail.person');
  });

  it('and is not heard, where it is not', () => {
    const stage = calling();
    stage.user.greets(GREETING, { from: 700, beepAfterMs: 300 });
    const atMs = stage.playUntilAgentSays(MESSAGE);
    stage.user.says('Hello, hello, I am here!', { from: atMs + 800, to: atMs + 2000 });
    expect(stage.playToEnd()).toBe('voicemail-message');
    stage.expectAgent(MESSAGE).isHeardWhole();
    expect(timesOf(stage, 'playout.hold').every((holdMs) => holdMs < atMs)).toBe(true);
  });

  it('but noise, or late words of the greeting, are ignored', () => {
    const stage = calling({ continueOnVoiceActivity: true });
    const endMs = stage.user.greets([GREETING[2] ?? ''], { from: 700 });
    stage.user.says('Thank you', { from: endMs + 300, to: endMs + 900, finalMs: 1800, interim: false });
    stage.user.beeps({ at: endMs + 1000 });
    const atMs = stage.playUntilAgentSays(MESSAGE);
    stage.user.noise({ from: atMs + 1500, to: atMs + 1900 });
    expect(stage.playToEnd()).toBe('voicemail-message');
    stage.expectAgent(MESSAGE).isHeardWhole();
  });
});

describe('a machine that screens the call', () => {
  const QUESTION = "Hi, if you record your name and reason for calling, I'll see if this person is available.";

  it('hears who calls and why, from the model', () => {
    const stage = calling({}, { interruption: { openingAllowed: false } });
    stage.model.says('Anna of the flower shop, about an order.');
    stage.user.says(QUESTION, { from: 700, to: 5000 });
    stage.playTo(12_000);
    expect(detectedBy(stage)).toEqual([]);
    expect(stage.model.requests[0]?.messages.at(-1)?.content).toMatch(/^\[An automatic call screening/);
    stage.expectAgent('about an order.').isHeardWhole();
    expect(stage.timeline.utterances[0]?.isWhole).toBe(false);
  });

  it.each([
    [HELLO, HELLO],
    [null, 'This is a call for you.'],
  ])('or by the greeting, or a phrase, where the model fails: %s', (firstMessage, words) => {
    const stage = calling({}, { opening: { firstMessage, userStarts: true, userStartTimeoutMs: 60_000 } });
    stage.model.fails().fails();
    stage.user.says(QUESTION, { from: 700, to: 5000 });
    stage.playTo(15_000);
    stage.expectAgent(words).isHeardWhole();
  });

  it('asks to wait, which is not answered; then the person is', () => {
    const stage = calling();
    stage.model.says('Anna of the flower shop.').says('Hello Tom!');
    stage.user.says(QUESTION, { from: 700, to: 5000 });
    stage.user.says('Thanks, please stay on the line.', { from: 9000, to: 11_000 });
    stage.user.says('Hello, Tom here.', { from: 25_000, to: 26_000 });
    stage.playTo(32_000);
    expect(stage.model.requests).toHaveLength(2);
    stage.expectAgent('Hello Tom!').isHeardWhole();
  });

  it('may beep for the answer, when its question is over', () => {
    const stage = calling({ action: 'hangup' });
    stage.model.says('It is about an order.');
    stage.user.says('Please say your name after the tone, and we will try to connect you.', { from: 700, to: 4000 });
    stage.user.beeps({ at: 6500, lengthMs: 300 });
    stage.playTo(12_000);
    expect(detectedBy(stage)).toEqual([]);
    stage.expectAgent('It is about an order.').isHeardWhole();
  });

  it('or leads to a mailbox', () => {
    const stage = calling();
    stage.model.says('Anna of the flower shop.');
    stage.user.says(QUESTION, { from: 700, to: 5000 });
    const beepMs = stage.user.greets(['This person is not available.', 'Please leave a message after the tone.'], {
      from: 35_000,
      beepAfterMs: 300,
    });
    expect(stage.playToEnd()).toBe('voicemail-message');
    stage.expectAgent(MESSAGE).startsAt(beepMs, 200).isHeardWhole();
  });

  it('is no mailbox that asks for a name and number', () => {
    const stage = calling({ action: 'hangup' });
    stage.user.says('Please record your name and number after the tone.', { from: 700, to: 3000 });
    expect(stage.playToEnd()).toBe('voicemail-hangup');
  });
});

describe('who talks for more than 8 s without a pause', () => {
  const LONG =
    'it took me a while to get to the phone because I was out in the garden with the dogs and the children'.repeat(2);
  /** Of which nothing at all is understood. */
  const talks = (stage: Stage): void => {
    stage.user.says('', { from: 500, to: 12_000, interim: false, final: false });
  };

  it.each(['hangup', 'message'] as const)('is answered as anybody is, and a person who talks on (%s)', (action) => {
    const stage = calling({ action });
    stage.user.says(LONG, { from: 500, to: 12_000 });
    stage.model.says('Is that all right with you?');
    const atMs = stage.playUntilAgentSays('Is that all right');
    expect(atMs).toBeLessThan(14_500);
    stage.user.says('Yes, that is right.', { from: atMs + 9000, to: atMs + 10_500 });
    stage.playTo(60_000);
    expect(traces(stage)).toContain('voicemail.suspected');
    expect(detectedBy(stage)).toEqual([]);
    expect(stage.conversation.state.line).toBe('open');
    stage.expectAgent('All right.').isHeardWhole();
  });

  it.each([
    ['hangup', 'voicemail-hangup'],
    ['message', 'voicemail-message'],
  ] as const)('and then says nothing for 10 s is a machine (%s)', (action, status) => {
    const stage = calling({ action });
    stage.user.says(LONG, { from: 500, to: 12_000 });
    const answeredMs = stage.playUntilAgentSays('All right.');
    expect(stage.playToEnd()).toBe(status);
    expect(detectedBy(stage)).toEqual(['silence']);
    const verdict = stage.timeline.effects.find(
      ({ effect }) => effect.type === 'trace' && effect.name === 'voicemail.detected',
    );
    expect((verdict?.atMs ?? 0) - answeredMs).toBeGreaterThan(10_000);
    expect((verdict?.atMs ?? 0) - answeredMs).toBeLessThan(11_500);
  });

  it('has 4 s to answer when it is asked whether it is there', () => {
    const stage = calling({ action: 'hangup' }, { inactivity: { idleMs: 9000, message: 'Are you still there?' } });
    stage.user.says(LONG, { from: 500, to: 12_000 });
    const askedMs = stage.playUntilAgentSays('Are you still there?');
    stage.playTo(askedMs + 3500);
    expect(detectedBy(stage)).toEqual([]);
    stage.user.says('Yes, one moment.', { from: askedMs + 3600, to: askedMs + 4600 });
    stage.playTo(askedMs + 20_000);
    expect(detectedBy(stage)).toEqual([]);
    expect(stage.conversation.state.line).toBe('open');
  });

  it('is suspect sooner with words that machines like', () => {
    const at = (words: string): number | undefined => {
      const stage = calling();
      stage.user.says(words, { from: 500, to: 12_000 });
      stage.playTo(13_000);
      return stage.timeline.effects.find(
        ({ effect }) => effect.type === 'trace' && effect.name === 'voicemail.suspected',
      )?.atMs;
    };
    expect(at(LONG)).toBe(8500);
    expect(at(`you have reached the Millers ${LONG}`)).toBe(6500);
  });

  it.each(['hangup', 'message'] as const)('and asks something is a person (%s)', (action) => {
    const stage = calling({ action });
    stage.user.says(`${LONG} so who is this please?`, { from: 500, to: 12_000 });
    stage.playTo(40_000);
    expect(detectedBy(stage)).toEqual([]);
    expect(stage.conversation.state.voicemail).toBeNull();
    stage.expectAgent('All right.').isHeardWhole();
  });

  it.each(['hangup', 'message'] as const)('and comes to its keys is a menu (%s)', (action) => {
    const stage = calling({ action });
    stage.user.says(`${LONG} for sales press one`, { from: 500, to: 12_000 });
    stage.playTo(40_000);
    expect(detectedBy(stage)).toEqual([]);
    stage.expectAgent('All right.').isHeardWhole();
  });

  it.each(['hangup', 'message'] as const)('and asks who calls may be a screener (%s)', (action) => {
    const stage = calling({ action });
    stage.model.says('It is about an order.');
    stage.user.says(`${LONG} go ahead and say your name and why you are calling`, { from: 500, to: 12_000 });
    stage.playTo(19_000);
    expect(stage.model.requests[0]?.messages.at(-1)?.content).toMatch(/^\[An automatic call screening/);
    stage.expectAgent('It is about an order.').isHeardWhole();
  });

  it('and says that it is a mailbox is hung up on at once', () => {
    const stage = calling({ action: 'hangup' });
    stage.user.says(`${LONG} leave a message after the tone`, { from: 500, to: 12_000 });
    expect(stage.playToEnd()).toBe('voicemail-hangup');
    expect(detectedBy(stage)).toEqual(['machine']);
    expect(stage.timeline.end?.atMs).toBeLessThan(12_300);
  });

  it('is left the message behind its beep, though nothing of it was understood and the agent had answered', () => {
    const stage = calling();
    talks(stage);
    const beepMs = stage.user.beeps({ at: 14_000 });
    expect(stage.playToEnd()).toBe('voicemail-message');
    expect(detectedBy(stage)).toEqual(['beep']);
    stage.expectAgent(MESSAGE).startsAt(beepMs, 200).isHeardWhole();
  });
});

describe('words of an interim transcript', () => {
  it('that are others in the next tell nothing', () => {
    const stage = calling({ action: 'hangup' });
    const hears = (text: string, atMs: number, isFinal = false): void =>
      stage.send({ type: 'transcript', segment: 1, text, isFinal, understood: true }, { at: atMs });
    stage.send({ type: 'speech.started', startMs: 700 }, { at: 800 });
    hears('you have reached the voicemail', 1500);
    hears('you have reached the Millers', 1600);
    stage.send({ type: 'speech.stopped', endMs: 1800 }, { at: 1900 });
    hears('you have reached the Millers', 2000, true);
    stage.playTo(8000);
    expect(detectedBy(stage)).toEqual([]);
    stage.expectAgent('All right.').isHeardWhole();
  });
});

describe('a phone menu', () => {
  const menu = (stage: Stage): void => {
    stage.user.says('Thank you for calling Harbour Hotels.', { from: 500, to: 2500 });
    stage.user.says('For rooms, press one.', { from: 3200, to: 4800 });
    stage.user.says('For anything else, press nine.', { from: 6000, to: 7800 });
  };

  it('is heard out before it is answered', () => {
    const stage = calling();
    menu(stage);
    stage.playTo(15_000);
    expect(stage.timeline.turns).toHaveLength(1);
    stage.expectAgent('All right.').startsAt(9300, 600);
    expect(detectedBy(stage)).toEqual([]);
  });

  it('has the same words from a person who calls: no wait is added there', () => {
    const stage = calling({}, { direction: 'inbound', opening: { firstMessage: 'Hello.' } });
    stage.user.says('It said for rooms press one.', { from: 3000, to: 4800 });
    stage.playTo(15_000);
    expect(stage.expectAgent('All right.').isHeardWhole()).toBeDefined();
    expect(stage.timeline.utterances.at(-1)?.askedMs).toBeLessThan(6000);
  });
});

describe('a fax machine', () => {
  it.each([
    ['with voicemail', {}],
    ['without', { voicemail: null }],
    ['that has called', { voicemail: null, direction: 'inbound' as const }],
  ])('is hung up on: %s', (_what, config) => {
    const stage = calling({}, config);
    stage.send({ type: 'fax', sign: 'answer' }, { at: 1500 });
    expect(stage.playToEnd()).toBe('voicemail-hangup');
    expect(stage.timeline.end?.atMs).toBe(1500);
    const found = stage.timeline.effects.flatMap(({ effect }) => (effect.type === 'trace' ? [effect] : []));
    expect(found.find(({ name }) => name === 'voicemail.detected')?.data).toEqual({ class: 'fax', by: 'answer' });
  });
});
