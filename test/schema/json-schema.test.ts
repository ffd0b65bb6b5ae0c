import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkJson, type JsonSchema, schemaFault } from '../../src/schema/json-schema.js';

function problems(schema: JsonSchema, value: unknown): readonly string[] {
  const checked = checkJson(schema, value);
  return checked.ok ? [] : checked.problems;
}

const ORDER = {
  type: 'object',
  properties: {
    size: { enum: ['small', 'large'] },
    count: { type: 'integer', minimum: 1, maximum: 20, default: 1 },
    price: { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 100, multipleOf: 0.1 },
    code: { type: 'string', pattern: '^[A-Z]{2}\\d+$', minLength: 3, maxLength: 6 },
    when: { type: 'string', format: 'date' },
    kind: { const: 'pickup' },
    toppings: { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: 3, uniqueItems: true },
    at: { type: 'array', prefixItems: [{ type: 'number' }, { type: 'number' }] },
    address: {
      type: 'object',
      properties: { street: { type: 'string' }, country: { type: 'string', default: 'DE' } },
      required: ['street'],
      additionalProperties: false,
    },
    labels: { type: 'object', additionalProperties: { type: 'string' }, minProperties: 1, maxProperties: 2 },
    contact: { anyOf: [{ type: 'string', format: 'email' }, { type: 'integer' }] },
    pay: {
      oneOf: [
        { type: 'object', properties: { card: { type: 'string' } }, required: ['card'] },
        { type: 'object', properties: { cash: { const: true } }, required: ['cash'] },
      ],
    },
    note: { allOf: [{ type: 'string' }, { maxLength: 5 }], not: { enum: ['never'] }, examples: ['soon'] },
  },
  required: ['size'],
  additionalProperties: false,
};

describe('checkJson', () => {
  it('fills in defaults at every depth, and changes nothing else', () => {
    const address = { street: 'Main St' };
    expect(checkJson(ORDER, { size: 'small', address })).toEqual({
      ok: true,
      value: { size: 'small', address: { street: 'Main St', country: 'DE' }, count: 1 },
    });
    expect(address).toEqual({ street: 'Main St' });
  });

  it.each([
    [{ size: 'huge' }, 'size should be one of "small", "large".'],
    [{}, 'size is missing.'],
    [{ size: 'small', count: 0 }, 'count should be 1 or more.'],
    [{ size: 'small', count: 21 }, 'count should be 20 or less.'],
    [{ size: 'small', count: '2' }, 'count should be an integer.'],
    [{ size: 'small', count: 1.5 }, 'count should be an integer.'],
    [{ size: 'small', price: 0 }, 'price should be more than 0.'],
    [{ size: 'small', price: 100 }, 'price should be less than 100.'],
    [{ size: 'small', price: 0.25 }, 'price should be a multiple of 0.1.'],
    [{ size: 'small', code: 'ab1' }, 'code should match ^[A-Z]{2}\\d+$.'],
    [{ size: 'small', code: 'AB' }, 'code should have at least 3 characters. code should match ^[A-Z]{2}\\d+$.'],
    [{ size: 'small', code: 'AB12345' }, 'code should have at most 6 characters.'],
    [{ size: 'small', when: '2026-02-30' }, 'when should be a date such as 2026-11-30.'],
    [{ size: 'small', kind: 'delivery' }, 'kind should be "pickup".'],
    [{ size: 'small', toppings: [] }, 'toppings should have at least 1 items.'],
    [{ size: 'small', toppings: ['a', 'b', 'c', 'd'] }, 'toppings should have at most 3 items.'],
    [{ size: 'small', toppings: ['a', 'a'] }, 'toppings should have no item twice.'],
    [{ size: 'small', toppings: ['a', 2] }, 'toppings[1] should be a string.'],
    [{ size: 'small', at: [1, 'x'] }, 'at[1] should be a number.'],
    [{ size: 'small', address: {} }, 'address.street is missing.'],
    [{ size: 'small', address: { street: 'x', zip: 1 } }, 'There is no member "address.zip".'],
    [{ size: 'small', labels: {} }, 'labels should have at least 1 members.'],
    [{ size: 'small', labels: { a: 1 } }, 'labels.a should be a string.'],
    [{ size: 'small', labels: { a: '', b: '', c: '' } }, 'labels should have at most 2 members.'],
    [
      { size: 'small', contact: 'me' },
      'contact fits none of the 2 forms that it can have (contact should be an email address such as name@example.com).',
    ],
    [{ size: 'small', pay: { card: '1', cash: true } }, 'pay fits more than one of the forms that it can have.'],
    [{ size: 'small', note: 'longer' }, 'note should have at most 5 characters.'],
    [{ size: 'small', note: 'never' }, 'note has a form that is not allowed.'],
    [{ size: 'small', colour: 'red' }, 'There is no argument "colour".'],
    [[], 'The value should be an object.'],
  ])('says what is wrong with %j', (value, problem) => {
    expect(problems(ORDER, value).join(' ')).toBe(problem);
  });

  it('takes null for a member that is not known', () => {
    expect(checkJson(ORDER, { size: 'small', code: null })).toMatchObject({ ok: true, value: { size: 'small' } });
    expect(problems(ORDER, { size: null })).toEqual(['size is missing.']);
    const nullable = { type: 'object', properties: { a: { type: ['string', 'null'] } }, required: ['a'] };
    expect(checkJson(nullable, { a: null })).toEqual({ ok: true, value: { a: null } });
  });

  it('follows references, also those that lead back', () => {
    const tree = {
      $ref: '#/$defs/node',
      $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } } } },
    };
    expect(problems(tree, { next: { next: {} } })).toEqual([]);
    expect(problems(tree, { next: { next: 1 } })).toEqual(['next.next should be an object.']);
    expect(problems({ $ref: '#' }, 1)).toEqual(['The value is nested too deeply.']);
  });

  it('takes keywords that depend on the value', () => {
    const schema = {
      // An object literal with this member looks like a promise to the linter.
      ...(JSON.parse('{"then":{"required":["number"]}}') as object),
      if: { properties: { by: { const: 'phone' } }, required: ['by'] },
      else: { required: ['email'] },
      dependentRequired: { number: ['country'] },
      propertyNames: { maxLength: 8 },
    };
    expect(problems(schema, { by: 'phone', number: '1' })).toEqual(['country is missing: number needs it.']);
    expect(problems(schema, { by: 'phone' })).toEqual(['number is missing.']);
    expect(problems(schema, { by: 'mail' })).toEqual(['email is missing.']);
    expect(problems(schema, { email: '', averylongname: 1 })[0]).toContain('the name averylongname');
  });
});

describe('checkJson and ajv', () => {
  const leaf = fc.oneof(
    fc.record({ type: fc.constantFrom('string', 'number', 'integer', 'boolean', 'null') }),
    fc.record(
      { type: fc.constant('string'), minLength: fc.nat(3), maxLength: fc.integer({ min: 2, max: 5 }) },
      { requiredKeys: ['type'] },
    ),
    fc.record(
      {
        type: fc.constant('number'),
        minimum: fc.integer({ min: -2, max: 2 }),
        exclusiveMaximum: fc.integer({ min: 1, max: 4 }),
        multipleOf: fc.constantFrom(1, 2, 0.5),
      },
      { requiredKeys: ['type'] },
    ),
    fc.record({ enum: fc.uniqueArray(fc.constantFrom<unknown>(1, 2, 'a', true, null), { minLength: 1 }) }),
    fc.record({ const: fc.constantFrom<unknown>(1, 'a', [1], { a: 1 }) }),
    fc.record({ pattern: fc.constantFrom('^a', 'b$', '\\d') }),
  );
  const { schema } = fc.letrec((tie) => ({
    schema: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc.record(
        {
          type: fc.constant('object'),
          properties: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('schema')),
          required: fc.uniqueArray(fc.constantFrom('a', 'b')),
          additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
          minProperties: fc.nat(1),
          maxProperties: fc.integer({ min: 1, max: 3 }),
        },
        { requiredKeys: ['type'] },
      ),
      fc.record(
        {
          type: fc.constant('array'),
          items: tie('schema'),
          prefixItems: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
          minItems: fc.nat(1),
          maxItems: fc.integer({ min: 1, max: 3 }),
          uniqueItems: fc.boolean(),
        },
        { requiredKeys: ['type'] },
      ),
      fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
      fc.record({ allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }) }),
      fc.record({ not: tie('schema') }),
    ),
  }));
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.constantFrom<unknown>(0, 1, 2, -1, 0.5, 'a', 'b', 'abc', 'a1', '', true, false),
      fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), tie('value')),
      fc.array(tie('value'), { maxLength: 3 }),
    ),
  }));

  it('agree on what fits', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    let fitting = 0;
    fc.assert(
      fc.property(schema, value, (one, given) => {
        const expected = ajv.compile(one as object)(given);
        expect(checkJson(one as JsonSchema, given).ok, JSON.stringify([one, given])).toBe(expected);
        if (expected) fitting++;
      }),
      { numRuns: 250, seed: 26 },
    );
    expect(fitting).toBeGreaterThan(40);
  });
});

describe('schemaFault', () => {
  it.each([
    [
      { type: 'strin' },
      'type: it should be one of string, number, integer, boolean, array, object, null, or a list of them',
    ],
    [{ properties: { a: { pattern: '(' } } }, 'properties.a.pattern: it is not a regular expression'],
    [{ items: { enum: [] } }, 'items.enum: it should be a list of values'],
    [{ minimum: '1' }, 'minimum: it should be a number'],
    [{ multipleOf: 0 }, 'multipleOf: it should be a number above 0'],
    [{ anyOf: {} }, 'anyOf: it should be a list of schemas'],
    [{ anyOf: [1] }, 'anyOf[0]: it should be a schema'],
    [{ required: true }, 'required: it should be a list of names'],
    [
      { $ref: '#/$defs/x' },
      '$ref: there is no #/$defs/x; references lead to a place in the same schema, such as #/$defs/name',
    ],
    [7, 'it should be an object of JSON Schema keywords'],
  ])('of %j', (given, fault) => {
    expect(schemaFault(given)).toBe(fault);
  });

  it('is null for what can be used', () => {
    expect(schemaFault(ORDER)).toBeNull();
    expect(schemaFault({ 'x-own': 1, format: 'colour' })).toBeNull();
  });
});
