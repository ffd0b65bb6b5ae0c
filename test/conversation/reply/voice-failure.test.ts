import { describe, expect, it } from 'vitest';
import { Stage } from '../../../src/stage/stage.js';
import { listening, timesOf, traces } from '../listening.js';

const ASKED = { from: 1000, to: 2200 };

describe('a voice that fails', () => {
  it('at once: the agent apologises, and the history has nothing that was not heard', () => {
    const stage = listening();
    stage.voice.fails();
    stage.model.says('We open at noon.');
    stage.user.says('When do you open?', ASKED);
    stage.playTo(10_000);
    stage.expectAgent('I had trouble there').isHeardWhole();
    expect(stage.messages.map(({ content }) => content)).toEqual([
      'When do you open?',
      "I'm sorry, I had trouble there. Could you say that again?",
    ]);
  });

  it('at one sentence goes on with the next', () => {
    const stage = listening();
    stage.voice.fails();
    stage.model.says('We open at noon. We close at ten.');
    stage.user.says('When do you open?', ASKED);
    stage.playTo(10_000);
    stage.expectAgent('We close').isHeardWhole();
    stage.expectAgent('I had trouble').isNeverSaid();
  });

  it('at all sentences of a message has failed once', () => {
    const stage = listening();
    stage.voice.fails({ count: 4 });
    stage.model.says('One is here. Two is here. Three is here. Four is here.');
    stage.user.says('When do you open?', ASKED);
    stage.playTo(10_000);
    stage.expectAgent('I had trouble there').isHeardWhole();
    expect(stage.conversation.state.line).toBe('open');
  });

  it('in the middle of a sentence keeps what was heard of it', () => {
    const stage = listening();
    stage.voice.fails({ afterMs: 500 });
    stage.model.says('We open at noon every day.');
    stage.user.says('When do you open?', ASKED);
    stage.playTo(10_000);
    expect(stage.messages[1]?.content).toBe('We open');
    stage.expectAgent('I had trouble there').isHeardWhole();
  });

  it('and gives no audio has failed', () => {
    const stage = listening();
    stage.voice.givesNoAudio();
    stage.model.says('We open at noon.');
    stage.user.says('When do you open?', ASKED);
    stage.playTo(10_000).expectAgent('I had trouble there').isHeardWhole();
  });

  it.each([0, 500])('and stands still after %i ms is given up, with the rest of its message', (afterMs) => {
    const stage = listening();
    stage.voice.stalls({ afterMs });
    stage.model.says('We open at noon. We close at ten. We are happy to see you.');
    stage.user.says('When do you open?', ASKED);
    stage.playTo(40_000);
    stage.expectAgent('I had trouble there').isHeardWhole();
    stage.expectAgent('We close').isNeverHeard();
    expect(timesOf(stage, 'speak.cancel')).toHaveLength(3);
  });

  it('and stands still stops a model that is still talking', () => {
    const stage = listening();
    stage.voice.stalls();
    stage.model.says('We open at noon. ' + 'And so on and on. '.repeat(40), { gapMs: 100 });
    stage.user.says('When do you open?', ASKED);
    stage.playTo(40_000);
    expect(stage.model.requests[0]?.cancelledMs).not.toBeNull();
    stage.expectAgent('I had trouble there').isHeardWhole();
  });

  it.each(['fails', 'stalls', 'givesNoAudio'] as const)(
    'for good (%s) ends the call, and is not silent for ever',
    (how) => {
      const stage = listening();
      stage.voice[how]({ count: 100 });
      stage.model.says('We open at noon.');
      stage.user.says('When do you open?', ASKED);
      expect(stage.playToEnd()).toBe('error');
      // Two waits of 4 s at most: nobody stays longer on a line that is silent.
      expect(stage.timeline.end?.atMs).toBeLessThan(11_500);
    },
  );

  it('in the middle of a long sentence is noticed as soon as at its beginning', () => {
    const stage = listening();
    stage.voice.stalls({ afterMs: 1000 });
    stage.model.says(
      'We are open every day of the week from noon until eleven in the evening ' + 'and so on '.repeat(20),
    );
    stage.user.says('When do you open?', ASKED);
    const startMs = stage.playUntilAgentSays('We are open');
    stage.playTo(40_000);
    stage.expectAgent('I had trouble there').startsAt(startMs + 1000 + 4000, 200);
    expect(traces(stage)).toContain('speech.stalled');
  });

  it('in the middle and goes on in time is not given up, however often', () => {
    const stage = listening();
    const text = 'We are open every day of the week';
    stage.model.says(text);
    stage.user.says('When do you open?', ASKED);
    const startMs = stage.playUntilAgentSays(text);
    for (let atMs = startMs + 300; atMs < startMs + 1500; atMs += 200) {
      stage.send({ type: 'utterance.starved', utteranceId: 2 }, { at: atMs });
      stage.send({ type: 'utterance.fed', utteranceId: 2 }, { at: atMs + 100 });
    }
    stage.playTo(40_000).expectAgent(text).isHeardWhole();
  });

  it('at the greeting has it said again: there is nothing that the user could repeat', () => {
    const stage = new Stage({ config: { opening: { firstMessage: 'This call is recorded. Hello.' } } });
    stage.voice.fails();
    stage.playTo(10_000);
    const said = stage.timeline.utterances.map(({ text, kind }) => [text, kind]);
    expect(said).toEqual([
      ['This call is recorded. Hello.', 'opening'],
      ['This call is recorded. Hello.', 'opening'],
    ]);
    expect(stage.messages).toEqual([{ role: 'assistant', content: 'This call is recorded. Hello.' }]);
  });

  it('at the greeting twice has a stock one said', () => {
    const stage = new Stage({ config: { opening: { firstMessage: 'Good evening to you.' } } });
    stage.voice.fails({ count: 2 });
    stage.playTo(20_000);
    stage.expectAgent('how can I help you').isHeardWhole();
    stage.expectAgent('trouble').isNeverSaid();
  });

  it('at what the API has it say says it again, once', () => {
    const stage = listening();
    stage.user.says('Hello there.', ASKED);
    stage.playTo(6000);
    stage.voice.fails();
    stage.send({ type: 'command.say', text: 'Your taxi has arrived.' }, { at: 6500 });
    stage.playTo(20_000);
    const said = stage.timeline.utterances.filter(({ text }) => text === 'Your taxi has arrived.');
    expect(said.map(({ isWhole }) => isWhole)).toEqual([false, true]);
    stage.expectAgent('trouble').isNeverSaid();
  });

  it('over the goodbye closes the line all the same', () => {
    const stage = listening({ endCall: { enabled: true } });
    stage.voice.stalls();
    stage.model.calls([{ name: 'end_call', args: { message: 'Goodbye.' } }]);
    stage.user.says('That is all, bye.', ASKED);
    expect(stage.playToEnd()).toBe('agent-ended');
  });

  it('is not blamed for utterances that it was never given', () => {
    const stage = new Stage({ config: { opening: { firstMessage: 'Hello there, my friend.' } } });
    for (let id = 50; id < 60; id++) {
      stage.send({ type: 'utterance.failed', utteranceId: id, reason: 'stale' }, { at: 200 + id });
    }
    stage.playTo(20_000);
    expect(stage.conversation.state.line).toBe('open');
    stage.expectAgent('Hello there').isHeardWhole();
  });
});

describe('a voice that is slow', () => {
  it('does not have its deadline moved by sentences that follow', () => {
    const stage = listening();
    stage.voice.stalls();
    stage.model.says('We open at noon. ' + 'And so on. '.repeat(60), { gapMs: 150 });
    stage.user.says('When do you open?', ASKED);
    stage.playTo(40_000);
    const askedMs = stage.timeline.utterances[0]?.askedMs ?? 0;
    expect(timesOf(stage, 'speak.cancel')[0]).toBe(askedMs + 4000);
  });
});
