import { expect, test } from 'vitest';
import { expectedAnswer } from '../../src/agent/expected-answer.js';

test.each([
  ['With pleasure. For how many people?', 'number'],
  ['Just the number of people, please, such as four.', 'number'],
  ['Two, four, twelve? Any number will do.', 'number'],
  ['How old is the child?', 'number'],
  ['And how likely are you to recommend us, from zero to ten?', 'number'],
  ['Just a number from zero to ten, please. Keys work, too.', 'number'],
  ['Two, very good. Which day would you like?', 'date'],
  ['When would you like to come?', 'date'],
  ['And at what time?', 'time'],
  ['What time should the table be ready? Half past seven, for example.', 'time'],
  ['Under which name?', 'name'],
  ['Who am I speaking to?', 'name'],
  ['Could you spell the name for me, please, letter by letter?', 'letters'],
  ['What is your phone number?', 'digits'],
  ['Please tell me the last four digits.', 'digits'],
  ['That is a table for two, tomorrow, under the name Smith. Is that right?', 'yes-no'],
  ['Would a table do?', 'yes-no'],
  ['Done. Is there anything else?', 'yes-no'],
  ['And do you need parking?', 'yes-no'],
  ['A table for two under the name Smith, correct?', 'yes-no'],
] as const)('%s asks for a %s', (said, answer) => {
  expect(expectedAnswer(said)).toBe(answer);
});

test.each([
  'Good evening, this is Olive. How can I help you?',
  'We open at five.',
  'One moment, please.',
  'What is it about?',
  '',
])('%s asks for nothing in particular', (said) => {
  expect(expectedAnswer(said)).toBeNull();
});

test('a question asked earlier does not count', () => {
  expect(expectedAnswer('For how many people? And which day?')).toBe('date');
});
