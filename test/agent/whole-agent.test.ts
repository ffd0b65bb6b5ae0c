import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { agentConfigSchema } from '../../src/agent/agent.js';
import { withoutUnsetMembers, withUnsetMembers } from '../../src/agent/whole-agent.js';

const whole = (config: z.input<typeof agentConfigSchema>) => withUnsetMembers(agentConfigSchema, config);

describe('members that are not set', () => {
  it('are there, as null or []', () => {
    const empty = whole({}) as Record<string, unknown>;
    expect(Object.keys(empty)).toEqual(Object.keys(agentConfigSchema.shape));
    const arrays = ['tools', 'service_functions', 'app_functions'];
    for (const [name, value] of Object.entries(empty)) expect(value).toEqual(arrays.includes(name) ? [] : null);
  });

  it('are there within what is given: in objects, in the objects of arrays, in the object of a choice', () => {
    expect(whole({ voice: { voice_id: 'v' } }).voice).toEqual({
      provider: null,
      voice_id: 'v',
      model: null,
      settings: null,
    });
    expect(whole({ flow: { call_transfer: { phones: [{ phone: '+1' }] } } }).flow?.call_transfer).toMatchObject({
      phone: null,
      phones: [{ phone: '+1', description: null }],
      instruction: null,
      messages: [],
    });
    expect(whole({ flow: { response_delay: { generic_delay: 5 } } }).flow?.response_delay).toMatchObject({
      generic_delay: 5,
      number_input_delay: null,
    });
    expect(whole({ session_data_webhook: { url: 'https://a.test' } }).session_data_webhook).toEqual({
      url: 'https://a.test',
      headers: null,
    });
  });

  it('are not made up where there is no object: numbers, addresses and the keys of records stay', () => {
    const config = whole({
      flow: { response_delay: 5 },
      extra_prompt_webhook: 'https://a.test',
      voice: { voice_id: 'v', settings: { rate: 1 } },
      custom_vocabulary: { keywords: { cake: 3 } },
      speech_to_text: { denoiser: { settings: { own: [1] } } },
    });
    expect(config.flow?.response_delay).toBe(5);
    expect(config.extra_prompt_webhook).toBe('https://a.test');
    expect(config.voice?.settings).toEqual({ rate: 1 });
    expect(config.custom_vocabulary?.keywords).toEqual({ cake: 3 });
    expect(config.speech_to_text?.denoiser?.settings).toEqual({ strength: null, applies_to: null, own: [1] });
  });

  it('are null where an array may not be empty, and stay out where the schema takes neither', () => {
    const schema = z.object({
      some: z.array(z.string()).min(1).nullish(),
      only: z.string().optional(),
      must: z.string(),
    });
    expect(withUnsetMembers(schema, { must: 'x' })).toEqual({ some: null, must: 'x' });
  });

  it('are taken away again, and what is set stays', () => {
    const config = {
      voice: { voice_id: 'v', settings: { rate: null, list: [] } },
      tools: [{ name: 'ask', description: '', params: [{ name: 'a' }] }],
      switch_language: { languages: [] },
      knowledge_base: {},
      session_data_webhook: { url: 'https://a.test' },
      speech_to_text: { provider: '', denoiser: { settings: { own: [] } } },
    };
    expect(withoutUnsetMembers(agentConfigSchema, whole(config))).toEqual(config);
  });

  it('change nothing the second time, and nothing that is set', () => {
    const config = { prompt: '', tools: [], language: 'de' as const, vad_threshold: 0 };
    const once = whole(config);
    expect(once).toMatchObject(config);
    expect(whole(once)).toEqual(once);
    expect(agentConfigSchema.parse(once)).toEqual(once);
  });
});
