import { describe, expect, it } from 'vitest';
import type { AgentConfig } from '../../src/config/agent.js';
import { agentConfigReference } from '../../src/config/reference.js';
import { refuseUnsupported, UNSUPPORTED_FIELDS, unsupportedFields } from '../../src/config/unsupported.js';
import { FULL } from './full-config.js';

describe('unsupportedFields', () => {
  it('names each field that this version does not act on', () => {
    const all = UNSUPPORTED_FIELDS.map(({ path, when }) => (when === undefined ? path : `${path}.${when}`));
    expect(unsupportedFields(FULL)).toEqual(all.filter((path) => path !== 'speech_to_text.denoiser'));
    expect(() => {
      refuseUnsupported({ app_functions: FULL.app_functions ?? [] });
    }).toThrow('This version of parley does not act on app_functions yet');
  });

  it('lets pass what is supported', () => {
    const { flow, language, llm, prompt, session_timeout, status, timezone, tools, voice } = FULL;
    const config = { flow, language, llm, prompt, session_timeout, status, timezone, tools, voice };
    expect(unsupportedFields(config)).toEqual([]);
    refuseUnsupported(config);
  });

  it('lets pass values that ask for nothing', () => {
    const config: AgentConfig = {
      service_functions: [],
      app_functions: null,
      custom_llm_websocket: null,
      privacy_settings: { opt_out_data_collection: false, do_not_call_detection: false },
      switch_language: { languages: [] },
      knowledge_base: { files: [], messages: ['One moment.'] },
      speech_to_text: { multilingual: false, denoise: false, denoiser: { settings: {} } },
      call_settings: { enable_recording: false, background: null },
      memory: { user_identifier_key: '' },
    };
    expect(unsupportedFields(config)).toEqual([]);
  });

  it('lists only fields that there are', () => {
    const paths = agentConfigReference().map(({ path }) => path);
    for (const { path, when } of UNSUPPORTED_FIELDS) {
      expect(paths).toContain(path);
      if (when !== undefined) expect(paths).toContain(`${path}.${when}`);
    }
  });
});
