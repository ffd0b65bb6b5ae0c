import { expect, it } from 'vitest';
import { parseJson } from '../../src/base/json.js';

const nested = (depth: number): string => `${'{"a":['.repeat(depth / 2)}${']}'.repeat(depth / 2)}`;

it('takes JSON of any kind, 64 levels deep', () => {
  for (const text of ['null', '1', '"a"', '[]', '{"a":[1,{"b":null}]}', nested(64)]) {
    expect(parseJson(text)).toEqual(JSON.parse(text));
  }
});

it('refuses what is no JSON, and nesting that would exhaust the stack of what walks it', () => {
  expect(() => parseJson('{')).toThrow(SyntaxError);
  expect(() => parseJson(nested(66))).toThrow('The JSON is nested deeper than 64 levels');
  expect(() => parseJson(nested(1_000_000))).toThrow(SyntaxError);
});
