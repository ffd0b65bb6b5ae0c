import { describe, expect, it } from 'vitest';
import { announcedEnd } from '../../../src/conversation/voicemail/announcements.js';
import { Stage, type StageConfig } from '../../../src/stage/stage.js';
import { traces } from '../listening.js';

const MESSAGE = 'This is Anna of the flower shop. Please call me back.';
const VOICEMAIL = {
  action: 'message',
  message: MESSAGE,
  continueOnVoiceActivity: false,
  detectionPhrases: [],
} as const;

function calling(config: StageConfig = {}): Stage {
  return new Stage({
    config: {
      direction: 'outbound',
      opening: { firstMessage: 'Hello, this is Anna of the flower shop. I am calling about your order.' },
      voicemail: VOICEMAIL,
      ...config,
    },
  });
}

describe('what an announcement says', () => {
  it.each([
    ['We are sorry. The number you have dialed is not in service. Please check the number and dial again.', 'failed'],
    ['The number you have reached, 202 555 0123, has been disconnected.', 'failed'],
    ['Your call cannot be completed as dialed.', 'failed'],
    // As a recogniser heard it.
    ['the number dial is not service', 'failed'],
    ['The number you have called has changed. The new number is', 'failed'],
    ["We're sorry, all circuits are busy now. Will you please try your call again later?", 'busy'],
    ['All of our representatives are currently busy. Please call back later.', 'busy'],
    ['Your call cannot be completed at this time.', 'busy'],
    ['The subscriber you have called cannot be reached. Please try again later.', 'no-answer'],
    ['The mobile phone you are calling is switched off or out of coverage.', 'no-answer'],
    ['Our office is now closed.', 'no-answer'],
    ['Our number is 202 555 0123, and we are open until six.', null],
    ['Sorry, I was busy, all my lines of work today', null],
    ['I changed my number last week.', null],
    ['Yes, please call me at that number.', null],
    ['Hello, Anna speaking.', null],
  ])('"%s": %s', (words, end) => {
    expect(announcedEnd(words, 'en-US')).toBe(end);
  });

  it.each([
    ['de', 'Kein Anschluss unter dieser Nummer.', 'failed'],
    ['de', 'Der gewünschte Gesprächspartner ist zur Zeit nicht erreichbar.', 'no-answer'],
    ['fr', "Le numéro que vous avez composé n'est pas attribué.", 'failed'],
    ['es', 'El número marcado no existe.', 'failed'],
    ['pt', 'O número para o qual ligou não está atribuído.', 'failed'],
    ['it', 'Il numero selezionato è inesistente.', 'failed'],
    ['nl', 'Dit nummer is niet in gebruik.', 'failed'],
    ['hi', 'यह नंबर मौजूद नहीं है', 'failed'],
    ['ja', 'おかけになった電話番号は現在使われておりません。', 'failed'],
    ['zh', '您拨打的号码是空号', 'failed'],
    ['sv', 'The number you have dialed is not in service.', 'failed'],
  ])('in %s: "%s"', (language, words, end) => {
    expect(announcedEnd(words, language)).toBe(end);
  });
});

describe('an announcement in place of a person', () => {
  it('that the number is not in service ends the call as failed, at once', () => {
    const stage = calling();
    stage.user.says('We are sorry. The number you have dialed is not in service.', { from: 700, to: 5000 });
    expect(stage.playToEnd()).toBe('failed');
    expect(stage.timeline.end?.atMs).toBeLessThan(6000);
    stage.expectAgent(MESSAGE).isNeverSaid();
    expect(stage.messages.map(({ content }) => content).join(' ')).toContain('not in service');
  });

  it('is known without voicemail settings as well', () => {
    const stage = calling({ voicemail: null });
    stage.user.says('The number you have dialed is not in service.', { from: 700, to: 4000 });
    expect(stage.playToEnd()).toBe('failed');
    stage.expectAgent('All right.').isNeverSaid();
  });

  it('is a topic like any other once a person has spoken, and on calls that come in', () => {
    const later = calling({ voicemail: null });
    later.user.says('Yes, hello?', { from: 500, to: 1000 });
    later.user.says('The number you have dialed is not in service, I was told.', { from: 6000, to: 9000 });
    const inbound = calling({ direction: 'inbound' });
    inbound.user.says('The number you have dialed is not in service.', { from: 700, to: 4000 });
    for (const stage of [later, inbound]) {
      stage.playTo(15_000);
      expect(stage.conversation.state.line).toBe('open');
    }
  });

  it('that all lines are busy ends the call as busy, and leaves no message', () => {
    const stage = calling();
    stage.user.says("We're sorry, all circuits are busy now. Please try your call again later.", {
      from: 700,
      to: 5000,
    });
    expect(stage.playToEnd()).toBe('busy');
    stage.expectAgent(MESSAGE).isNeverSaid();
  });

  it('that asks the caller to hold is a queue, and the call goes on', () => {
    const stage = calling();
    stage.user.says('All of our agents are busy. Please stay on the line.', { from: 700, to: 4000 });
    stage.playTo(12_000);
    expect(stage.conversation.state.line).toBe('open');
  });

  it('that the phone is switched off ends as no-answer where nothing takes a message', () => {
    const hangup = calling({ voicemail: { ...VOICEMAIL, action: 'hangup', message: null } });
    hangup.user.says('The mobile phone you are calling is switched off.', { from: 700, to: 4000 });
    expect(hangup.playToEnd()).toBe('no-answer');
    expect(hangup.timeline.end?.atMs).toBeLessThan(5000);

    const message = calling();
    message.user.says('The mobile phone you are calling is switched off.', { from: 700, to: 4000 });
    expect(message.playToEnd()).toBe('no-answer');
    message.expectAgent(MESSAGE).isNeverSaid();
  });

  it('behind which a mailbox takes a message is left one', () => {
    const words = ['The mobile phone you are calling is switched off.', 'Please leave a message after the tone.'];
    const stage = calling();
    stage.user.greets(words, { from: 700, beepAfterMs: 500 });
    expect(stage.playToEnd()).toBe('voicemail-message');
    stage.expectAgent(MESSAGE).isHeardWhole();

    const silent = calling();
    silent.user.greets(words, { from: 700 });
    expect(silent.playToEnd()).toBe('voicemail-message');
  });

  it('is known by its special information tones, before it says a word', () => {
    const failed = calling({ voicemail: null });
    failed.send({ type: 'sit', end: 'failed' }, { at: 400 });
    expect(failed.playToEnd()).toBe('failed');
    const busy = calling();
    busy.send({ type: 'sit', end: 'busy' }, { at: 400 });
    expect(busy.playToEnd()).toBe('busy');
    const inbound = calling({ direction: 'inbound' });
    inbound.send({ type: 'sit', end: 'failed' }, { at: 400 });
    inbound.playTo(3000);
    expect(inbound.conversation.state.line).toBe('open');
  });
});

describe('a recording of which no word is understood', () => {
  it('is a machine if the agent gets no answer after it', () => {
    const stage = calling();
    stage.user.says('', { from: 500, to: 6500, understood: false, interim: false });
    expect(stage.playToEnd()).toBe('voicemail-message');
    expect(traces(stage)).toContain('voicemail.suspected');
    expect(stage.timeline.end?.atMs).toBeLessThan(35_000);
  });

  it('is a person who says something when the agent has spoken', () => {
    const stage = calling();
    stage.user.says('', { from: 500, to: 4500, understood: false, interim: false });
    stage.user.says('Sorry, who is this?', { from: 12_000, to: 13_500 });
    stage.playTo(30_000);
    expect(traces(stage)).not.toContain('voicemail.detected');
    expect(stage.conversation.state.line).toBe('open');
  });
});
