import * as fc from 'fast-check';
import { describe, expect, expectTypeOf, it } from 'vitest';
import * as z from 'zod';
import { agentConfigSchema, type AgentConfig, VOICE_PROVIDERS } from '../../src/agent/agent.js';
import { InvalidConfigError, type ValidationIssue } from '../../src/schema/issues.js';
import { LANGUAGES } from '../../src/agent/language.js';
import { resolveAgent } from '../../src/agent/resolve.js';
import { parseAgentConfig } from '../../src/agent/parse.js';
import { FULL } from './full-config.js';

function issuesIn(value: unknown, rules: Parameters<typeof parseAgentConfig>[1] = {}): readonly ValidationIssue[] {
  try {
    parseAgentConfig(value, rules);
  } catch (error) {
    if (error instanceof InvalidConfigError) return error.issues;
    throw error;
  }
  return [];
}

describe('parseAgentConfig', () => {
  it('takes a configuration with every field and gives it back as it was', () => {
    expect(parseAgentConfig(FULL)).toEqual(FULL);
    expect(Object.keys(FULL).sort()).toEqual(Object.keys(agentConfigSchema.shape).sort());
  });

  it('takes an empty one, and one of nothing but nulls', () => {
    expect(parseAgentConfig({})).toEqual({});
    const nulls = Object.fromEntries(Object.keys(agentConfigSchema.shape).map((key) => [key, null]));
    expect(parseAgentConfig(nulls)).toEqual(nulls);
  });

  it('has the fields of the interface and no others', () => {
    expect(Object.keys(agentConfigSchema.shape)).toHaveLength(23);
    expect(LANGUAGES).toHaveLength(128);
    expect(VOICE_PROVIDERS).toHaveLength(13);
  });

  it('has types', () => {
    expectTypeOf<AgentConfig['prompt']>().toEqualTypeOf<string | null | undefined>();
    expectTypeOf<NonNullable<AgentConfig['status']>>().toEqualTypeOf<'active' | 'disabled'>();
    expectTypeOf<NonNullable<AgentConfig['voice']>['voice_id']>().toEqualTypeOf<string>();
    expectTypeOf<NonNullable<NonNullable<AgentConfig['tools']>[number]['timeout']>>().toEqualTypeOf<number>();
    expectTypeOf({ prompt: 1 }).not.toExtend<AgentConfig>();
    expectTypeOf({ language: 'xx' }).not.toExtend<AgentConfig>();
    expectTypeOf<NonNullable<AgentConfig['session_data_webhook']>>().toEqualTypeOf<
      string | { url: string; headers?: Record<string, string> | null | undefined }
    >();
  });

  it.each([
    [{ promt: 'x' }, ['promt'], 'extra_forbidden'],
    [{ flow: { interruption: { first_message: true } } }, ['flow', 'interruption', 'first_message'], 'extra_forbidden'],
    [{ tools: [{ ...FULL.tools?.[0], url: 'x' }] }, ['tools', 0, 'url'], 'extra_forbidden'],
    [{ flow: { response_delay: { delay: 1 } } }, ['flow', 'response_delay', 'delay'], 'extra_forbidden'],
    [{ session_data_webhook: { url: 'https://a.example', x: 1 } }, ['session_data_webhook', 'x'], 'extra_forbidden'],
    [{ tools: [{ name: 'a' }] }, ['tools', 0, 'description'], 'missing'],
    [{ llm: {} }, ['llm', 'model'], 'missing'],
    [{ voice: {} }, ['voice', 'voice_id'], 'missing'],
    [{ privacy_settings: {} }, ['privacy_settings', 'opt_out_data_collection'], 'missing'],
    [{ prompt: 5 }, ['prompt'], 'string_type'],
    [{ vad_threshold: '0.5' }, ['vad_threshold'], 'float_type'],
    [{ flow: { user_start_first: 'true' } }, ['flow', 'user_start_first'], 'bool_type'],
    [{ flow: { user_start_first: 1 } }, ['flow', 'user_start_first'], 'bool_type'],
    [{ tools: {} }, ['tools'], 'list_type'],
    [{ flow: [] }, ['flow'], 'dict_type'],
    [{ tools: ['x'] }, ['tools', 0], 'dict_type'],
    [{ flow: { response_delay: '300' } }, ['flow', 'response_delay'], 'union_type'],
    [{ flow: { response_delay: 1.5 } }, ['flow', 'response_delay'], 'int_from_float'],
    [{ flow: { response_delay: -1 } }, ['flow', 'response_delay'], 'greater_than_equal'],
    [{ flow: { response_delay: { generic_delay: 'x' } } }, ['flow', 'response_delay', 'generic_delay'], 'float_type'],
    [{ session_data_webhook: 7 }, ['session_data_webhook'], 'union_type'],
    [{ session_data_webhook: 'example.com' }, ['session_data_webhook'], 'url_parsing'],
    [{ session_data_webhook: 'http://u:p@example.com' }, ['session_data_webhook'], 'url_parsing'],
    [{ session_data_webhook: 'https://{Host}/x' }, ['session_data_webhook'], 'url_parsing'],
    [{ custom_llm_websocket: 'https://example.com' }, ['custom_llm_websocket'], 'url_parsing'],
    [{ session_data_webhook: {} }, ['session_data_webhook', 'url'], 'missing'],
    [{ language: 'xx' }, ['language'], 'enum'],
    [{ language: 'EN-us' }, ['language'], 'enum'],
    [{ switch_language: { languages: ['de', 'xx'] } }, ['switch_language', 'languages', 1], 'enum'],
    [{ status: 'paused' }, ['status'], 'enum'],
    [{ flow: { voicemail: { action: 'Hangup' } } }, ['flow', 'voicemail', 'action'], 'enum'],
    [{ timezone: 'Europe/Nowhere' }, ['timezone'], 'timezone'],
    [{ timezone: '+02:00' }, ['timezone'], 'timezone'],
    [{ vad_threshold: 1.01 }, ['vad_threshold'], 'less_than_equal'],
    [{ llm: { model: 'm', temperature: 2.5 } }, ['llm', 'temperature'], 'less_than_equal'],
    [{ session_timeout: { max_duration: -1 } }, ['session_timeout', 'max_duration'], 'greater_than_equal'],
    [
      { call_settings: { background: { url: 'https://a.example', volume: 3 } } },
      ['call_settings', 'background', 'volume'],
      'less_than_equal',
    ],
    [{ custom_vocabulary: { keywords: { a: 1.5 } } }, ['custom_vocabulary', 'keywords', 'a'], 'int_from_float'],
    [{ custom_vocabulary: { keywords: { '': 1 } } }, ['custom_vocabulary', 'keywords', ''], 'key_error'],
    [{ tools: [{ name: 'a b', description: '' }] }, ['tools', 0, 'name'], 'string_pattern_mismatch'],
    [{ tools: [{ name: 'a', description: '', timeout: 0 }] }, ['tools', 0, 'timeout'], 'greater_than_equal'],
    [{ tools: [{ name: 'a', description: '', timeout: 1.5 }] }, ['tools', 0, 'timeout'], 'int_from_float'],
    [{ tools: [{ name: 'a', description: '', method: 'TRACE' }] }, ['tools', 0, 'method'], 'string_pattern_mismatch'],
    [{ tools: [{ name: 'a', description: '', header: { Host: 'x' } }] }, ['tools', 0, 'header', 'Host'], 'value_error'],
    [
      { tools: [{ name: 'a', description: '', header: { a: 'b\nc' } }] },
      ['tools', 0, 'header', 'a'],
      'string_pattern_mismatch',
    ],
    [
      {
        tools: [
          { name: 'a', description: '' },
          { name: 'a', description: '' },
        ],
      },
      ['tools', 1, 'name'],
      'value_error',
    ],
    [
      { tools: [{ name: 'a', description: '', params: [{ name: 'p' }, { name: 'p' }] }] },
      ['tools', 0, 'params', 1, 'name'],
      'value_error',
    ],
    [{ first_message: 'x'.repeat(2_001) }, ['first_message'], 'string_too_long'],
    [{ prompt: 'x'.repeat(100_001) }, ['prompt'], 'string_too_long'],
    [null, [], 'dict_type'],
    [undefined, [], 'dict_type'],
    ['text', [], 'dict_type'],
    [[], [], 'dict_type'],
    [JSON.parse('{"__proto__":{"prompt":"x"}}'), ['__proto__'], 'extra_forbidden'],
    [
      JSON.parse('{"voice":{"voice_id":"v","settings":{"__proto__":1}}}'),
      ['voice', 'settings', '__proto__'],
      'extra_forbidden',
    ],
    [{ constructor: 1 }, ['constructor'], 'extra_forbidden'],
  ])('refuses %j at %j with %s', (value, loc, type) => {
    expect(issuesIn(value)).toEqual([{ loc, msg: expect.stringMatching(/\S/) as string, type }]);
  });

  it('names every fault at once, with where it lies', () => {
    const value = { a: 1, flow: { b: 1, response_delay: { c: 1, generic_delay: -1 } }, language: 7 };
    const found = issuesIn(value, { location: ['body', 'agent_config'] }).map(
      ({ loc, type }) => `${loc.join('.')} ${type}`,
    );
    expect(found.sort()).toEqual([
      'body.agent_config.a extra_forbidden',
      'body.agent_config.flow.b extra_forbidden',
      'body.agent_config.flow.response_delay.c extra_forbidden',
      'body.agent_config.flow.response_delay.generic_delay greater_than_equal',
      'body.agent_config.language enum',
    ]);
  });

  it('says in one sentence what is wrong, and no more than five things', () => {
    const value = { tools: [{ name: 5, description: 'x' }] };
    expect(() => parseAgentConfig(value)).toThrow(
      'The configuration is not valid: tools[0].name: Input should be a string',
    );
    const many = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`field${String(index)}`, 1]));
    expect(() => parseAgentConfig(many)).toThrow(/field4: Unknown field: field4; and 45 more$/);
  });

  it('survives nesting that would exhaust the stack', () => {
    let settings: unknown = {};
    for (let depth = 0; depth < 100_000; depth++) settings = [settings];
    expect(issuesIn({ voice: { voice_id: 'v', settings: { settings } } })).toMatchObject([{ type: 'recursion_loop' }]);
  });

  it('checks names against what this installation knows, where that is given', () => {
    const rules = { voiceProviders: ['flite'], sttProviders: ['embedded'], llmModels: ['scripted'] };
    const named = (provider: string, stt: string, model: string): AgentConfig => ({
      voice: { provider, voice_id: 'v' },
      speech_to_text: { provider: stt },
      llm: { model },
    });
    expect(issuesIn(named('x', 'y', 'z'))).toEqual([]);
    expect(issuesIn(named('flite', 'gladia', 'scripted'), rules)).toEqual([]);
    expect(issuesIn(named('flute', 'x', 'gpt-9'), rules)).toEqual([
      {
        loc: ['voice', 'provider'],
        msg: expect.stringMatching(/flite, azure, .*sesame\. Did you mean flite\?$/) as string,
        type: 'enum',
      },
      { loc: ['speech_to_text', 'provider'], msg: expect.stringMatching(/embedded, deepgram/) as string, type: 'enum' },
      { loc: ['llm', 'model'], msg: 'Input should be one of: scripted', type: 'enum' },
    ]);
    expect(issuesIn({ prompt: 'abc' }, { maxPromptChars: 2 })).toMatchObject([{ type: 'string_too_long' }]);
  });

  it('never throws anything but an InvalidConfigError, whatever it is given', () => {
    const key = fc.oneof(fc.constantFrom(...Object.keys(agentConfigSchema.shape)), fc.string());
    fc.assert(
      fc.property(fc.oneof(fc.dictionary(key, fc.jsonValue()), fc.jsonValue()), (value) => {
        for (const issue of issuesIn(value)) {
          expect(issue.msg).not.toBe('');
          expect(issue.type).toMatch(/^[a-z_]+$/);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('what dashboards send for nothing', () => {
  it('is taken: empty texts, 0, and settings of a denoiser that are not known', () => {
    const config = {
      language: '',
      timezone: '',
      first_message: '',
      prompt: '',
      custom_llm_websocket: '',
      session_data_webhook: '',
      extra_prompt_webhook: { url: '', headers: {} },
      speech_to_text: { provider: '', model: '', denoiser: { settings: { level: 'high', strength: 0.5 } } },
      tools: [{ name: 'note', description: '', webhook: '', method: '' }],
      session_timeout: { max_duration: 0, max_idle: 0, message: '' },
      flow: { inactivity_handling: { idle_time: 0, message: '' } },
      call_settings: { background: { url: '' } },
    };
    const parsed = parseAgentConfig(config, { sttProviders: ['embedded'] });
    expect(parsed).toEqual(config);
    const agent = resolveAgent(parsed, { defaults: { language: 'de', timezone: 'Europe/Berlin', maxDurationS: 60 } });
    expect(agent).toMatchObject({
      language: 'de',
      timezone: 'Europe/Berlin',
      customLlm: null,
      flow: { inactivity: null },
      webhooks: { extraPrompt: null, sessionData: null },
      stt: { provider: 'embedded', model: null },
      limits: { maxDurationMs: 60_000, maxIdleMs: null },
      sound: { background: null },
    });
  });
});

describe('the schema as a document', () => {
  const document = z.toJSONSchema(agentConfigSchema, { io: 'input' }) as {
    $ref: string;
    $defs: Record<string, { additionalProperties?: boolean; properties?: Record<string, { description?: string }> }>;
  };

  it('can be written as JSON schema, closed and with a description of each field', () => {
    expect(document.$ref).toBe('#/$defs/AgentConfig');
    for (const [name, { properties, additionalProperties }] of Object.entries(document.$defs)) {
      if (properties === undefined) continue;
      // The denoiser's settings are a free object of the interface.
      if (name !== 'DenoiserSettings') expect(additionalProperties, name).toBe(false);
      for (const [key, field] of Object.entries(properties)) expect(field.description, `${name}.${key}`).toBeTruthy();
    }
  });
});
