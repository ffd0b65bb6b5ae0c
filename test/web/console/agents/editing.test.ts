import { describe, expect, it } from 'vitest';
import { type AgentConfig, agentConfigSchema } from '../../../../src/agent/agent.js';
import { wholeAgentConfig } from '../../../../src/agent/whole-agent.js';
import { openApiDocument } from '../../../../src/daemon/http/openapi.js';
import type { OpenApiDocument } from '../../../../src/web/docs/document.js';
import { diffLines, shortened } from '../../../../src/web/console/agents/diff.js';
import { valueAt, withoutUnset, withValue } from '../../../../src/web/console/draft.js';
import { Faults } from '../../../../src/web/console/forms/faults.js';
import { fieldKind } from '../../../../src/web/console/forms/field-kind.js';

describe('a configuration that is edited', () => {
  const config = { prompt: 'Be kind.', llm: { model: 'a' }, tools: [{ name: 'x' }, { name: 'y' }] };

  it('gets and loses values without the one before changing', () => {
    const before = JSON.stringify(config);
    expect(withValue(config, ['llm', 'model'], 'b')).toEqual({ ...config, llm: { model: 'b' } });
    expect(withValue(config, ['flow', 'interruption', 'allowed'], true)).toHaveProperty(
      'flow.interruption.allowed',
      true,
    );
    expect(withValue(config, ['tools', 1, 'name'], 'z')).toHaveProperty('tools', [{ name: 'x' }, { name: 'z' }]);
    expect(withValue(config, ['tools', 0], undefined)).toHaveProperty('tools', [{ name: 'y' }]);
    expect(withValue(config, ['tools', 2], { name: 'z' })).toHaveProperty('tools.2.name', 'z');
    expect(JSON.stringify(config)).toBe(before);
  });

  it('loses objects that are empty then, and no items', () => {
    expect(withValue(config, ['llm', 'model'], undefined)).not.toHaveProperty('llm');
    expect(withValue(config, ['tools', 0, 'name'], undefined)).toHaveProperty('tools', [{}, { name: 'y' }]);
    expect(withValue({ a: { b: 1 } }, ['a', 'b'], undefined)).toBeUndefined();
  });

  it('is read by place', () => {
    expect(valueAt(config, ['tools', 1, 'name'])).toBe('y');
    expect(valueAt(config, ['prompt', 'length', 'x'])).toBeUndefined();
    expect(valueAt(null, [])).toBeNull();
  });
});

describe('a configuration as the daemon answers it', () => {
  const { components } = openApiDocument(
    [
      {
        id: 'a',
        method: 'POST',
        path: '/a',
        tag: 'a',
        summary: 'a',
        body: agentConfigSchema,
        handle: () => null,
      },
    ],
    '/',
  ) as unknown as OpenApiDocument;
  const document = { info: { title: '', version: '' }, paths: {}, components };
  const schema = { $ref: '#/components/schemas/AgentConfig' };

  it.each<AgentConfig>([
    {},
    { prompt: '', vad_threshold: 0, tools: [{ name: 'a', description: '', params: [{ name: 'b' }] }] },
    { voice: { voice_id: 'v', settings: { speed: null, list: [] } }, switch_language: { languages: [] } },
    { session_data_webhook: { url: 'https://a.test' }, extra_prompt_webhook: 'https://a.test', knowledge_base: {} },
    { flow: { response_delay: { generic_delay: 1 }, voicemail: {}, call_transfer: { phones: [{ phone: '1' }] } } },
    { custom_vocabulary: { keywords: { cake: 1 } }, speech_to_text: { denoiser: { settings: { own: [] } } } },
  ])('is shown with what is set alone: %j', (config) => {
    expect(withoutUnset(wholeAgentConfig(config), schema, document)).toEqual(config);
  });
});

describe('faults of a 422', () => {
  const faults = new Faults([
    { loc: ['body', 'config', 'llm', 'model'], msg: 'Unknown.' },
    { loc: ['body', 'config', 'llm', 'model'], msg: 'Twice.' },
    { loc: ['body', 'name'], msg: 'Too long.' },
    { loc: ['body'], msg: 'No.' },
  ]);

  it('are at their fields, and known to the fields above', () => {
    expect(faults.at('llm.model')).toEqual(['Unknown.', 'Twice.']);
    expect(faults.isWithin('llm')).toBe(true);
    expect(faults.isWithin('ll')).toBe(false);
    expect(faults.count).toBe(3);
  });

  it('are listed with their places where no field shows them', () => {
    expect(faults.outside(new Set(['llm.model']))).toEqual(['name: Too long.', 'No.']);
  });
});

describe('what a version changed', () => {
  const apply = (lines: readonly { sign: string; text: string }[], sign: string): string[] =>
    lines.filter((line) => line.sign === ' ' || line.sign === sign).map(({ text }) => text);

  it.each([
    ['', ''],
    ['a', 'b'],
    ['a b c d e', 'a x c e f'],
    ['a b c', 'c b a'],
    ['', 'a b'],
    ['a a a b', 'a b a'],
  ])('leads from “%s” to “%s” and back', (from, to) => {
    const [before, after] = [from.split(' '), to.split(' ')];
    const lines = diffLines(before, after);
    expect(apply(lines, '-')).toEqual(before);
    expect(apply(lines, '+')).toEqual(after);
  });

  it('is shown with a bit around it', () => {
    const before = Array.from({ length: 20 }, (_, at) => String(at));
    const lines = shortened(diffLines(before, before.with(10, 'x')));
    expect(lines.map(({ sign, text }) => sign + text).join()).toBe(' …, 8, 9,-10,+x, 11, 12, …');
  });
});

describe('the field of a schema', () => {
  const document = {
    info: { title: '', version: '' },
    paths: {},
    components: { schemas: { Llm: { type: 'object', properties: { model: { type: 'string' } } } } },
  };
  const nullable = (schema: object): object => ({ anyOf: [schema, { type: 'null' }] });

  it.each([
    ['prompt', { type: ['string', 'null'] }, { kind: 'text', isLong: true }],
    ['model', nullable({ type: 'string', maxLength: 200 }), { kind: 'text', isLong: false }],
    [
      'max',
      nullable({ type: 'integer', minimum: 1, maximum: 9007199254740991 }),
      { kind: 'number', min: 1, max: undefined, isWhole: true },
    ],
    ['share', { type: 'number', minimum: 0, maximum: 1 }, { kind: 'number', min: 0, max: 1, isWhole: false }],
    ['on', nullable({ type: 'boolean' }), { kind: 'choice', choices: [true, false] }],
    ['method', nullable({ type: 'string', enum: ['GET', 'POST'] }), { kind: 'choice', choices: ['GET', 'POST'] }],
    ['llm', nullable({ $ref: '#/components/schemas/Llm' }), { kind: 'group', schema: document.components.schemas.Llm }],
    ['tools', nullable({ type: 'array', items: { type: 'string' } }), { kind: 'list', items: { type: 'string' } }],
    ['url', nullable({ anyOf: [{ type: 'string' }, { $ref: '#/components/schemas/Llm' }] }), { kind: 'json' }],
    ['any', { type: 'object', additionalProperties: {} }, { kind: 'json' }],
  ])('of %s', (name, schema, kind) => {
    expect(fieldKind(name, schema, document)).toEqual(kind);
  });
});
