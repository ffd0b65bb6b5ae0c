import { describe, expect, it } from 'vitest';
import type { AgentConfig } from '../../../src/agent/agent.js';
import { ActivityTracker } from '../../../src/daemon/live/call-activity.js';
import type { CallActivity } from '../../../src/daemon/live/running-call.js';
import { asksForHuman, contentWords, repeats, sentimentOf, topicOf } from '../../../src/daemon/live/user-words.js';
import type { SessionEvent } from '../../../src/session/session-options.js';
import type { TurnMetrics } from '../../../src/session/record/session-metrics.js';
import type { StoredCall } from '../../../src/store/calls.js';

/** A call whose seconds are counted here. */
class Watched {
  #nowMs = 0;
  #turn = 0;
  readonly state: ActivityTracker;

  constructor(config: AgentConfig = {}, status = 'in-progress') {
    const call = { status, item: { agent_config: config } } as StoredCall;
    this.state = new ActivityTracker(call, 'en', 0);
  }

  after(seconds: number): this {
    this.#nowMs += 1000 * seconds;
    this.state.look(this.#nowMs);
    return this;
  }

  take(...events: SessionEvent[]): this {
    for (const event of events) this.state.take(event, this.#nowMs);
    return this;
  }

  /** The user says something, at a level. */
  says(text: string, levelDbfs = -30): this {
    return this.take(speaks('user', true), { ...speaks('user', false), levelDbfs }, user(++this.#turn, text));
  }

  /** The agent answers. */
  answers(responseMs = 500): this {
    const metrics = { responseMs } as TurnMetrics;
    return this.take({ type: 'answered', metrics }, speaks('agent', true), speaks('agent', false));
  }

  get view(): CallActivity {
    return this.state.activity();
  }

  get warnings(): string[] {
    return this.view.warnings.map(({ kind, detail }) => (detail === null ? kind : `${kind} ${detail}`));
  }
}

function speaks(who: 'user' | 'agent', isSpeaking: boolean): Extract<SessionEvent, { type: 'speaking' }> {
  return { type: 'speaking', who, isSpeaking };
}

function user(turn: number, text: string): SessionEvent {
  return { type: 'user', turn, text };
}

type Participant = Extract<SessionEvent, { type: 'participant' }>['participant'];

const tool = { id: '1', name: 'book_table', arguments: '{}' };

describe('the state of a running call', () => {
  it('is what goes on', () => {
    const call = new Watched({}, 'ringing');
    const states: string[] = [call.view.state];
    const then = (...events: SessionEvent[]): void => void states.push(call.take(...events).view.state);
    call.state.status('in-progress', 0);
    then(speaks('agent', true));
    then(speaks('agent', false));
    then(speaks('user', true));
    then(speaks('user', false), user(1, 'A table'));
    then({ type: 'toolStarted', call: tool });
    expect(call.view.tool).toBe('book_table');
    then({ type: 'tool', call: tool, ok: true, result: '', tookMs: 5 });
    then({ type: 'held', on: true });
    then({ type: 'held', on: false }, { type: 'transferring', on: true });
    call.state.status('agent-ended', 0);
    states.push(call.view.state);
    expect(states.join(' ')).toBe(
      'ringing agent_speaking listening user_speaking thinking tool thinking held transferring after_call',
    );
  });

  it('is waiting in a queue, which is not that of calls to be placed', () => {
    const waiting = { status: 'queued', direction: 'inbound', item: { agent_config: {} } } as StoredCall;
    const tracker = new ActivityTracker(waiting, 'en', 0);
    expect(tracker.activity().state).toBe('waiting');
    tracker.status('in-progress', 0);
    expect(tracker.activity().state).toBe('listening');
    expect(new ActivityTracker({ ...waiting, direction: 'outbound' }, 'en', 0).activity().state).toBe('ringing');
  });

  it('has the step of the agent that speaks', () => {
    const [desk, billing] = [
      { id: 'desk', name: 'Desk' },
      { id: 'billing', name: 'Billing' },
    ];
    const call = new Watched().take({ type: 'step', step: 'welcome' });
    expect(call.take({ type: 'handover', from: desk, to: billing, back: false }).view.step).toBeNull();
    expect(call.take({ type: 'step', step: 'bill' }).view.step).toBe('bill');
    expect(call.take({ type: 'handover', from: billing, to: desk, back: true }).view.step).toBe('welcome');
  });

  it('knows who has joined, and who speaks with the user in place of the agent', () => {
    const person = (mode: Participant['mode'], toMs: number | null = null): SessionEvent => ({
      type: 'participant',
      participant: { id: 'p', name: 'Ada', mode, held: false, toMs } as Participant,
    });
    const call = new Watched().says('Can I speak to a real person?').take(person('whisper'));
    expect(call.view.participants).toEqual([{ id: 'p', name: 'Ada', mode: 'whisper', held: false }]);
    expect([call.view.state, ...call.warnings]).toEqual(['listening', 'asks_for_human']);
    call.take(person('take_over'), speaks('user', true)).after(60);
    expect([call.view.state, ...call.warnings]).toEqual(['taken_over']);
    call.take(speaks('user', false), person('take_over', 70_000));
    expect([call.view.state, call.view.participants]).toEqual(['listening', []]);
  });

  it('has the latest words, what they are about, and how they sound', () => {
    const call = new Watched().says('I would like a table for two').answers(400);
    call.says('No, a table for four. That was terrible and useless.').answers(700);
    call.take({ type: 'tool', call: tool, ok: true, result: '', tookMs: 5 }, { type: 'agent', text: 'Four it is.' });
    expect(call.view).toMatchObject({
      user_said: 'No, a table for four. That was terrible and useless.',
      agent_said: 'Four it is.',
      topic: { tool: 'book_table', words: ['table', expect.any(String), expect.any(String)] },
      sentiment: { label: 'negative' },
      turns: 2,
      response_ms: 700,
      median_response_ms: 550,
    });
    call.take({ type: 'transcript', text: 'and', isFinal: false, turn: 3, segment: 7 });
    expect(call.view.user_said).toBe('and');
  });

  it('counts a turn once that was not over', () => {
    const call = new Watched().take(user(1, 'A table'), user(1, 'A table for four people'));
    expect([call.view.turns, call.warnings]).toEqual([1, []]);
  });

  it('has no words, and nothing that words tell, where the agent opts out', () => {
    const call = new Watched({ privacy_settings: { opt_out_data_collection: true } });
    for (let time = 0; time < 2; time++) call.says('That is terrible, let me speak to a human').answers();
    call.take({ type: 'agent', text: 'I am sorry' }, { type: 'tool', call: tool, ok: false, result: '', tookMs: 5 });
    expect(call.view).toMatchObject({ user_said: null, agent_said: null, sentiment: null, topic: { words: null } });
    expect(call.warnings).toEqual(['tool_failed book_table']);
  });
});

describe('a warning', () => {
  it('tells of a user who asks for a person, and stays', () => {
    const call = new Watched().says('Can I speak to a real person please?').answers();
    expect(call.says('Hello?').answers().warnings).toEqual(['asks_for_human']);
  });

  it('tells of a user who is louder than usual, until they are calm', () => {
    const call = new Watched();
    for (const level of [-31, -29, -30]) call.says('Well', level).answers();
    expect(call.says('Well', -24).answers().warnings).toEqual([]); // louder, but not loud
    expect(call.says('Well', -15).answers().warnings).toEqual(['shouting']);
    expect(call.says('Well', -30).answers().warnings).toEqual(['shouting']);
    expect(call.says('Well', -30).answers().warnings).toEqual([]);
    const loud = new Watched();
    for (let time = 0; time < 6; time++) loud.says('Well', -14).answers();
    expect(loud.warnings).toEqual([]); // it is their voice
  });

  it('tells of two turns that were not understood', () => {
    const call = new Watched().says('[inaudible]').answers();
    expect(call.warnings).toEqual([]);
    expect(call.says('[inaudible]').answers().warnings).toEqual(['misunderstood']);
    expect(call.says('Now?').answers().warnings).toEqual([]);
  });

  it('tells of a user who says the same again', () => {
    const call = new Watched().says('Is the kitchen open on Sunday evening?').answers();
    call.says('Right').answers();
    expect(call.says('The kitchen, open Sunday evening?').answers().warnings).toEqual(['repeats']);
    expect(call.says('And how late?').answers().warnings).toEqual([]);
  });

  it('tells of a user who is unhappy twice running', () => {
    const call = new Watched().says('This is awful').answers().says('You are useless').answers();
    expect(call.warnings).toEqual(['unhappy']);
    expect(call.says('Thank you, that is great').answers().warnings).toEqual([]);
  });

  it('tells of slow answers, as soon as one is awaited for too long', () => {
    const call = new Watched().says('Hello');
    expect(call.after(2.9).warnings).toEqual([]);
    expect(call.after(0.1).warnings).toEqual(['slow']);
    expect(call.answers(3500).warnings).toEqual(['slow']);
    expect(call.says('One').answers(500).warnings).toEqual([]);
    for (const ms of [2100, 2200, 2000]) call.says('Two').answers(ms);
    expect(call.warnings).toEqual(['slow']);
  });

  it('tells of silence in which somebody should speak', () => {
    const call = new Watched().answers();
    expect(call.after(9).warnings).toEqual([]);
    expect(call.after(1).warnings).toEqual(['silence']);
    expect(call.take({ type: 'held', on: true }).after(60).warnings).toEqual([]);
    expect(new Watched({}, 'ringing').after(60).warnings).toEqual([]);
  });

  it('tells of tools and services that fail, for a minute', () => {
    const call = new Watched().take({ type: 'tool', call: tool, ok: false, result: 'down', tookMs: 5 });
    call.take(
      { type: 'fault', name: 'tool.failed', reason: 'down' },
      { type: 'fault', name: 'tts.failed', reason: '' },
    );
    expect(call.warnings).toEqual(['fault tts.failed', 'tool_failed book_table']);
    call.take(speaks('agent', true)).after(59);
    expect(call.warnings).toHaveLength(2);
    expect(call.after(1).warnings).toEqual([]);
  });
});

describe("the user's words", () => {
  it.each([
    ['That is great, thank you very much.', 'en', 'positive'],
    ['This is ridiculous, you are useless!', 'en-GB', 'negative'],
    ['That is not good.', 'en', 'neutral'],
    ['I am not happy, this is bad.', 'en', 'negative'],
    ['I would like to cancel a table, please. No, on Sunday.', 'en', 'neutral'],
    ['constructor toString', 'en', 'neutral'],
    ['Das ist furchtbar.', 'de', undefined],
    ['great', 'multi', undefined],
  ])('%s (%s) sounds %s', (text, language, label) => {
    expect(sentimentOf(text, language)?.label).toBe(label);
  });

  it('have a topic: what comes again, and what comes late', () => {
    const turns = ['A table on Sunday', 'Outside, if there is a table', 'Is Sunday possible?'];
    expect(topicOf(turns.map((text) => contentWords(text, 'en')))).toEqual(['sunday', 'table', 'possible']);
  });

  it('are compared by what they are about', () => {
    const said = (text: string): string[] => contentWords(text, 'en');
    expect(repeats(said('Is the kitchen open late?'), said('I asked: is the kitchen open late'))).toBe(true);
    expect(repeats(said('Is the kitchen open late?'), said('Is the terrace open early?'))).toBe(false);
    expect(repeats(said('Yes.'), said('Yes.'))).toBe(false);
  });

  it.each([
    ['en', 'Could I talk to somebody about this?', true],
    ['en', 'Put me through to a manager.', true],
    ['en', 'Human, please.', true],
    ['en', 'A table for one person.', false],
    ['en', 'My agent told me to call.', false],
    ['de', 'Kann ich bitte mit einem Menschen sprechen?', true],
    ['de', 'Ich komme mit einem Kollegen.', false],
    ['fr', 'Je voudrais parler à un conseiller.', true],
    ['es', 'Quiero hablar con una persona.', true],
    ['it', 'Vorrei parlare con un operatore.', true],
    ['pt', 'Quero falar com um atendente.', true],
    ['nl', 'Kan ik met een medewerker spreken?', true],
    ['multi', 'Quiero hablar con alguien.', true],
    ['ja', 'Can I speak to a human?', false],
  ])('ask for a person (%s): %s %s', (language, text, asks) => {
    expect(asksForHuman(text, language)).toBe(asks);
  });
});
