import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { packageFile } from '../../src/package-files.js';
import { type FixtureLabels, readFixtureLabels } from '../../src/testing/labels/labels.js';
import { Stage } from '../../src/stage/stage.js';

const FOLDER = fileURLToPath(packageFile('fixtures/audio/voicemail/'));
const MESSAGE = 'This is Anna of the flower shop. Please call me back.';
const all = readdirSync(FOLDER)
  .filter((name) => name.endsWith('.json'))
  .map((name) => [name, readFixtureLabels(FOLDER + name)] as const);
const beepOf = ({ events = [] }: FixtureLabels) => events.find(({ kind }) => kind === 'beep');

/** A call that is answered by a recording, heard as its labels say. */
function answeredBy({ speech, words = [], ...labels }: FixtureLabels, action: 'hangup' | 'message'): Stage {
  const stage = new Stage({
    config: {
      direction: 'outbound',
      opening: { firstMessage: 'Hello, this is Anna of the flower shop. I am calling about your order.' },
      voicemail: { action, message: MESSAGE, continueOnVoiceActivity: true, detectionPhrases: [] },
    },
  });
  for (const { startMs, endMs } of speech) {
    const said = words.filter((word) => word.startMs < endMs && word.endMs > startMs).map(({ word }) => word);
    stage.user.says(said.join(' '), { from: startMs, to: endMs });
  }
  const beep = beepOf({ speech, ...labels });
  if (beep !== undefined) stage.user.beeps({ at: beep.startMs, lengthMs: beep.endMs - beep.startMs });
  return stage;
}

describe('recordings of mailboxes', () => {
  const mailboxes = all.filter(([, labels]) => beepOf(labels) !== undefined);

  it.each(mailboxes)('%s is left the message right after its beep', (_name, labels) => {
    const stage = answeredBy(labels, 'message');
    expect(stage.playToEnd()).toBe('voicemail-message');
    stage
      .expectAgent(MESSAGE)
      .startsAt(beepOf(labels)?.endMs ?? 0, 200)
      .isHeardWhole();
  });

  const worded = mailboxes.filter(([, { words = [] }]) => words.length > 0);

  it.each(worded)('%s is known before its greeting is over', (_name, labels) => {
    const stage = answeredBy(labels, 'hangup');
    expect(stage.playToEnd()).toBe('voicemail-hangup');
    expect(stage.timeline.end?.atMs).toBeLessThanOrEqual((labels.speech.at(-1)?.endMs ?? 0) + 250);
  });

  it('one that is full is hung up on', () => {
    const full = all.find(([name]) => name === 'no-beep.json');
    expect(full === undefined ? null : answeredBy(full[1], 'message').playToEnd()).toBe('voicemail-hangup');
  });
});

describe('recordings of people', () => {
  const people = all.filter(([name]) => name.startsWith('person-'));

  it.each(people)('%s is talked to', (_name, labels) => {
    const stage = answeredBy(labels, 'hangup').playTo(20_500);
    expect(stage.conversation.state.line).toBe('open');
    expect(stage.conversation.state.voicemail).toBeNull();
    stage.expectAgent('All right.').isHeardWhole();
  });
});
