import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from 'vitest';
import { packageFile } from '../../../../src/package-files.js';
import { compileScript, type CompiledScript } from '../../../../src/providers/llm/scripted/compile.js';
import { ScriptConversation } from '../../../../src/providers/llm/scripted/conversation.js';
import { parseScript } from '../../../../src/providers/llm/scripted/schema.js';
import { parseIsoDate } from '../../../../src/base/spoken/date.js';
import { ANSWERS, NO_ANSWERS, OPENINGS, REMARKS, type Values } from './newcomers.js';

const agent = JSON.parse(readFileSync(packageFile('examples/restaurant/agent.json'), 'utf8')) as { script: unknown };
const restaurant = compileScript(parseScript(agent.script));
const TODAY = parseIsoDate('2026-11-21');
/** Said before the question about a slot, so that this question is open. */
const BEFORE = {
  party: 'I would like to book a table',
  day: 'a table for three',
  time: 'a table for three tomorrow',
  name: 'a table for three tomorrow at six',
};

/** A conversation after some turns of the user, each reply heard. */
function after(script: CompiledScript, turns: readonly string[]): ScriptConversation {
  const conversation = new ScriptConversation(script, [], TODAY);
  for (const turn of turns) {
    conversation.user(turn);
    conversation.heard(conversation.reply.text);
  }
  return conversation;
}

function valuesOf(conversation: ScriptConversation): Values {
  const known = ['party', 'day', 'time', 'name'].map((slot) => [slot, conversation.values.get(slot)?.value]);
  return Object.fromEntries(known.filter(([, value]) => value !== undefined)) as Values;
}

const HALVES = [
  ['tuned on', 0],
  ['held out', 1],
] as const;

function half<T>(all: readonly T[], rest: number): readonly T[] {
  return all.filter((_one, index) => index % 2 === rest);
}

/** The sentences that go wrong, each with what the agent makes of it. */
function wrongOpenings(openings: readonly (readonly [string, Values])[]): string[] {
  return openings.flatMap(([text, wanted]) => {
    const conversation = after(restaurant, [text]);
    const values = valuesOf(conversation);
    const opened = /how many|(which|what) (day|time)|name|is that right/i.test(conversation.reply.text);
    return opened && isDeepStrictEqual(values, wanted) ? [] : [`${text} -> ${conversation.reply.text}`];
  });
}

function wrongAnswers(answers: typeof ANSWERS): string[] {
  return answers.flatMap(([asked, text, wanted]) => {
    const before = valuesOf(after(restaurant, [BEFORE[asked]]));
    const conversation = after(restaurant, [BEFORE[asked], text]);
    const right = isDeepStrictEqual(valuesOf(conversation), { ...before, ...wanted });
    return right ? [] : [`${asked}? ${text} -> ${conversation.reply.text}`];
  });
}

describe('a newcomer, with every word heard right', () => {
  it.each(HALVES)('opens the booking with a sentence of their own (%s: at least 33 of 38)', (_name, rest) => {
    expect(half(OPENINGS, rest)).toHaveLength(38);
    expect(wrongOpenings(half(OPENINGS, rest)).length).toBeLessThanOrEqual(5);
  });

  it.each(HALVES)('answers the questions of the script in their own words (%s: at least 41 of 46)', (_name, rest) => {
    expect(half(ANSWERS, rest)).toHaveLength(46);
    expect(wrongAnswers(half(ANSWERS, rest)).length).toBeLessThanOrEqual(5);
  });

  it.each(REMARKS)('neither books nor hangs up after "%s"', (text) => {
    const { reply, values } = after(restaurant, [text]);
    expect([...values.keys()]).toEqual([]);
    expect(reply.text).not.toMatch(/goodbye|how many|which day/i);
  });

  it.each(NO_ANSWERS)('keeps all values when asked for the %s and answered "%s"', (asked, text) => {
    const before = valuesOf(after(restaurant, [BEFORE[asked]]));
    expect(valuesOf(after(restaurant, [BEFORE[asked], text]))).toEqual(before);
  });

  it.each([
    ['No, for five.', { party: 5 }],
    ['Sorry, on Tuesday.', { day: '2026-11-24' }],
    ['Actually make it half past eight.', { time: '20:30' }],
    ['On Thursday instead.', { day: '2026-11-26' }],
  ])('takes a correction while the name is asked: "%s"', (text, change) => {
    const values = valuesOf(after(restaurant, [BEFORE.name, text]));
    expect(values).toEqual({ party: 3, day: '2026-11-22', time: '18:00', ...change });
  });

  it('asks for letters after two failed names, and hears them by their sound', () => {
    const conversation = after(restaurant, [BEFORE.name, 'what a mess', 'no that is', 'see oh oh p e are']);
    expect(conversation.values.get('name')?.value).toBe('Cooper');
  });

  it('asks for letters in any script with a name', () => {
    const script = compileScript(
      parseScript({
        slots: { name: { type: 'name' } },
        rules: [{ when: 'sign me up', form: 'sign' }],
        forms: { sign: { slots: [{ slot: 'name', ask: 'Your name?' }], done: { say: 'Welcome, {name}.' } } },
      }),
    );
    const conversation = after(script, ['sign me up', 'no that is', 'why would I']);
    expect(conversation.reply.text).toMatch(/spell the name/);
    conversation.user('n for nora, o, v, a as in anna, k');
    expect(conversation.reply.text).toBe('Welcome, Novak.');
  });
});
