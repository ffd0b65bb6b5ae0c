import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Param } from '../../src/agent/param.js';
import { readArguments, usableArguments } from '../../src/tools/arguments.js';

const PARAMS: readonly Param[] = [
  { name: 'day', required: true, type: 'string' },
  { name: 'size', required: true, type: 'integer' },
  { name: 'price', type: 'number' },
  { name: 'outside', type: 'boolean' },
  { name: 'dishes', type: 'array' },
  { name: 'extra', type: 'object' },
];

describe('readArguments', () => {
  it('gives back what is right', () => {
    const values = { day: 'Monday', size: 4, price: 1.5, outside: false, dishes: [1], extra: { a: 1 } };
    expect(readArguments(PARAMS, JSON.stringify(values))).toEqual({ ok: true, values });
  });

  it('leaves out what is null', () => {
    const read = readArguments(PARAMS, '{"day":"x","size":1,"price":null}');
    expect(read).toEqual({ ok: true, values: { day: 'x', size: 1 } });
  });

  it.each([
    ['{"day":"Monday"', 'The arguments are not a JSON object.'],
    ['[1]', 'The arguments are not a JSON object.'],
    ['null', 'The arguments are not a JSON object.'],
    ['"day"', 'The arguments are not a JSON object.'],
    ['', 'day is missing. size is missing.'],
    ['{}', 'day is missing. size is missing.'],
    ['{"day":"x","size":null}', 'size is missing.'],
    ['{"day":"x","size":"4"}', 'size should be an integer.'],
    ['{"day":"x","size":4.5}', 'size should be an integer.'],
    ['{"day":"x","size":1e400}', 'size should be an integer.'],
    ['{"day":5,"size":4}', 'day should be a string.'],
    ['{"day":"x","size":4,"price":"1"}', 'price should be a number.'],
    ['{"day":"x","size":4,"outside":"yes"}', 'outside should be true or false.'],
    ['{"day":"x","size":4,"dishes":{}}', 'dishes should be an array.'],
    ['{"day":"x","size":4,"extra":[]}', 'extra should be an object.'],
    ['{"day":"x","size":4,"session_id":"forged"}', 'There is no argument "session_id".'],
    ['{"day":"x","size":4,"__proto__":{}}', 'There is no argument "__proto__".'],
  ])('tells what is wrong with %s', (text, problem) => {
    expect(readArguments(PARAMS, text)).toEqual({ ok: false, problem });
  });

  it('takes an empty text for a call without arguments', () => {
    expect(readArguments([], '  ')).toEqual({ ok: true, values: {} });
  });

  it('survives whatever a model may write', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        const read = readArguments(PARAMS, text);
        if (!read.ok) expect(read.problem.length).toBeLessThan(1_500);
      }),
    );
  });
});

describe('usableArguments', () => {
  it('keeps what can be used', () => {
    expect(usableArguments(PARAMS, '{"day":"x","size":"4","price":2,"other":1,"outside":null}')).toEqual({
      day: 'x',
      price: 2,
    });
    expect(usableArguments(PARAMS, 'broken')).toEqual({});
  });
});
