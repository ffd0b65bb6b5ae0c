import { describe, expect, it } from 'vitest';
import { functionSpec } from '../../src/tools/function-spec.js';

describe('functionSpec', () => {
  it('makes a JSON schema of the params, variables filled in', () => {
    const spec = functionSpec(
      {
        name: 'book',
        description: 'Books for {Name}.',
        params: [
          { name: 'when', required: true, type: 'string', description: 'Day, for {Name}' },
          { name: 'size', required: true, type: 'integer' },
          { name: 'price', type: 'float' },
          { name: 'outside', type: 'Boolean', required: false, description: null },
          { name: 'dishes', type: 'list', description: 'What they want' },
          { name: 'extra', type: 'object' },
          { name: 'mail', type: 'email', description: 'Where to write' },
          { name: 'day', type: 'date' },
          { name: 'note', type: null },
          { name: '__proto__' },
        ],
      },
      new Map([['Name', 'Ann']]),
    );
    expect(spec.name).toBe('book');
    expect(spec.description).toBe('Books for Ann.');
    expect(JSON.parse(JSON.stringify(spec.parameters))).toEqual(
      JSON.parse(`{
        "type": "object",
        "properties": {
          "when": { "type": "string", "description": "Day, for Ann" },
          "size": { "type": "integer" },
          "price": { "type": "number" },
          "outside": { "type": "boolean" },
          "dishes": { "type": "array", "items": {}, "description": "What they want" },
          "extra": { "type": "object" },
          "mail": { "type": "string", "description": "Where to write (email)" },
          "day": { "type": "string", "description": "(date)" },
          "note": { "type": "string" },
          "__proto__": { "type": "string" }
        },
        "required": ["when", "size"],
        "additionalProperties": false
      }`),
    );
  });

  it('has an empty schema where there are no params', () => {
    const spec = functionSpec({ name: 'end', description: '', params: null }, new Map());
    expect(spec.parameters).toEqual({ type: 'object', properties: {}, required: [], additionalProperties: false });
  });
});
