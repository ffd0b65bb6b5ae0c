import { describe, expect, it } from 'vitest';
import { parseScript, scriptedProvider } from '../../../../src/providers/llm/scripted/index.js';

describe('a script that is not valid is refused with the place', () => {
  const slots = { party: { type: 'number' } };
  const form = { slots: [{ slot: 'party', ask: 'How many?' }], done: { say: 'Done.' } };
  it.each<[unknown, string]>([
    [null, 'the script'],
    [{ rule: [] }, 'rule'],
    [{ rules: [{ when: 'hi', says: 'hello' }] }, 'rules.0'],
    [{ rules: [{ when: [], say: 'hello' }] }, 'rules.0.when'],
    [{ rules: [{ when: 'hi', say: [] }] }, 'rules.0.say'],
    [{ slots: { Party: { type: 'number' } } }, 'slots.Party'],
    [{ slots: { party: { type: 'count' } } }, 'slots.party.type'],
    [{ slots: { time: { type: 'time', between: ['5 pm', '22:00'] } } }, 'slots.time.between.0: must be a time'],
    [{ slots: { day: { type: 'date', closed: ['mon'] } } }, 'slots.day.closed.0: must be a weekday'],
    [{ slots, forms: { f: { ...form, slots: [] } } }, 'forms.f.slots'],
    [{ slots, forms: { f: { slots: form.slots } } }, 'forms.f.done'],
    [{ rules: [{ when: 'hi', call: { tool: 't', ok: {} } }] }, 'rules.0.call.failed'],
    [{ rules: [{ when: 'hi {party}', say: 'hello' }] }, 'rules.0.when: there is no slot "party" (none is defined)'],
    [{ rules: [{ when: '(a|b', say: 'hello' }] }, 'rules.0.when: the pattern "(a|b"'],
    [{ slots, rules: [{ when: 'hi', say: 'Hello {name}' }] }, 'rules.0.say: there is no slot "name" (known: party)'],
    [{ rules: [{ when: 'hi', goto: 'there' }] }, 'rules.0.goto: there is no state "there"'],
    [{ rules: [{ when: 'hi', form: 'there' }] }, 'rules.0.form: there is no form "there"'],
    [{ rules: [{ when: 'hi', set: { x: 1 } }] }, 'rules.0.set: there is no slot "x"'],
    [{ states: { s: { otherwise: { goto: 'x' } } } }, 'states.s.otherwise.goto'],
    [{ start: 'x' }, 'start: there is no state "x"'],
    [{ slots, forms: { f: { ...form, fill: ['just words'] } } }, 'forms.f.fill.0: "just words" fills no slot'],
    [
      { slots: { ...slots, day: { type: 'date' } }, forms: { f: { ...form, fill: ['on {day}'] } } },
      'forms.f.fill.0: {day} is not a slot of this form',
    ],
    [{ slots, forms: { f: { ...form, slots: [{ slot: 'party' }] } } }, 'forms.f.slots.0: a slot that is not optional'],
    [{ slots, forms: { f: { ...form, confirm: '{parti}?' } } }, 'forms.f.confirm: there is no slot "parti"'],
    [
      { rules: [{ when: 'hi', call: { tool: 't', arguments: { a: '{x}' }, ok: {}, failed: {} } }] },
      'rules.0.call.arguments.a: there is no slot "x"',
    ],
    [{ hints: ['{x}'] }, 'hints.0'],
    [{ phrases: { hello: 'x' } }, 'phrases'],
  ])('%j', (script, place) => {
    expect(() => scriptedProvider(script as never)).toThrow(place);
    expect(() => scriptedProvider(script as never)).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID' }) as Error,
    );
  });

  it('an empty script is a script', () => {
    expect(parseScript({}).rules).toEqual([]);
  });

  it('tells several faults at once', () => {
    expect(() => parseScript({ rules: [{ when: 1 }, { say: 'x' }] })).toThrow(/rules\.0\.when.*rules\.1\.when/);
  });
});
