import { describe, expect, it } from 'vitest';
import { type AgentConfig, agentConfigSchema } from '../../src/agent/agent.js';
import { InvalidConfigError } from '../../src/schema/issues.js';
import { redactAgentConfig, restoreSecrets } from '../../src/agent/redact.js';
import { FULL } from './full-config.js';

const SECRETIVE: AgentConfig = {
  ...FULL,
  tools: [
    {
      name: 'book',
      description: 'Books.',
      webhook: 'https://desk.example/book?token=s3cret&from={FromPhone}&key={Key}',
      header: { Authorization: 'Bearer s3cret', 'X-Empty': '' },
    },
    { name: 'note', description: 'Notes.' },
  ],
  app_functions: [{ name: 'book_meeting_slot', credentials: { api_key: 's3cret', contact_method: 'email' } }],
  custom_llm_websocket: { url: 'wss://llm.example/?api_key=s3cret', headers: { 'X-Key': 's3cret' } },
  session_data_webhook: 'https://data.example/in?sig=s3cret#part',
  extra_prompt_webhook: { url: 'https://more.example/', headers: { cookie: 's3cret' } },
  call_settings: { background: { url: 'https://cdn.example/rain.mp3?X-Amz-Signature=s3cret', volume: 0.5 } },
};

describe('redactAgentConfig', () => {
  it('hides header values, credentials and secret parameters, and nothing else', () => {
    const shown = redactAgentConfig(SECRETIVE);
    expect(JSON.stringify(shown)).not.toContain('s3cret');
    expect(shown).toEqual({
      ...SECRETIVE,
      tools: [
        {
          name: 'book',
          description: 'Books.',
          webhook: 'https://desk.example/book?token=***&from={FromPhone}&key={Key}',
          header: { Authorization: '***', 'X-Empty': '' },
        },
        { name: 'note', description: 'Notes.' },
      ],
      app_functions: [{ name: 'book_meeting_slot', credentials: { api_key: '***', contact_method: '***' } }],
      custom_llm_websocket: { url: 'wss://llm.example/?api_key=***', headers: { 'X-Key': '***' } },
      session_data_webhook: 'https://data.example/in?sig=***#part',
      extra_prompt_webhook: { url: 'https://more.example/', headers: { cookie: '***' } },
      call_settings: { background: { url: 'https://cdn.example/rain.mp3?X-Amz-Signature=***', volume: 0.5 } },
    });
  });

  it('leaves the configuration itself as it is, and is valid', () => {
    const before = structuredClone(SECRETIVE);
    const shown = redactAgentConfig(SECRETIVE);
    expect(SECRETIVE).toEqual(before);
    expect(agentConfigSchema.parse(shown)).toEqual(shown);
    expect(redactAgentConfig({})).toEqual({});
    expect(redactAgentConfig(shown)).toEqual(shown);
  });
});

describe('restoreSecrets', () => {
  it('makes what was shown whole again', () => {
    expect(restoreSecrets(redactAgentConfig(SECRETIVE), SECRETIVE)).toEqual(SECRETIVE);
    expect(restoreSecrets(redactAgentConfig(FULL), FULL)).toEqual(FULL);
  });

  it('keeps what was changed: values, order, names, a path at the same host', () => {
    const [book, note] = redactAgentConfig(SECRETIVE).tools ?? [];
    const changed: AgentConfig = {
      tools: [note!, { ...book!, name: 'reserve', header: { authorization: '***', 'X-New': 'new' } }],
      session_data_webhook: { url: 'https://data.example/other?sig=***', headers: { 'X-New': 'new' } },
      app_functions: [{ name: 'book_meeting_slot', credentials: { api_key: 'changed', contact_method: '***' } }],
    };
    expect(restoreSecrets(changed, SECRETIVE)).toEqual({
      tools: [
        note,
        { ...SECRETIVE.tools?.[0], name: 'reserve', header: { authorization: 'Bearer s3cret', 'X-New': 'new' } },
      ],
      session_data_webhook: { url: 'https://data.example/other?sig=s3cret', headers: { 'X-New': 'new' } },
      app_functions: [{ name: 'book_meeting_slot', credentials: { api_key: 'changed', contact_method: 'email' } }],
    });
  });

  it('refuses what stands for nothing, naming each place', () => {
    const faults = faultsOf(() => restoreSecrets(redactAgentConfig(SECRETIVE), null, ['body']));
    expect(faults.map(({ loc }) => loc.join('.'))).toEqual([
      'body.tools.0.webhook',
      'body.tools.0.header.Authorization',
      'body.app_functions.0.credentials.api_key',
      'body.app_functions.0.credentials.contact_method',
      'body.call_settings.background.url',
      'body.custom_llm_websocket.url',
      'body.custom_llm_websocket.headers.X-Key',
      'body.session_data_webhook',
      'body.extra_prompt_webhook.headers.cookie',
    ]);
    expect(faults[0]?.msg).toContain('there is none');
  });

  it('gives no secret to another host, be it by a changed address or a borrowed name', () => {
    const stolen: AgentConfig = {
      tools: [{ name: 'book', description: '', webhook: 'https://evil.example/', header: { Authorization: '***' } }],
      extra_prompt_webhook: { url: 'https://evil.example/', headers: { cookie: '***' } },
      custom_llm_websocket: { url: 'ws://llm.example/?api_key=***' },
    };
    const faults = faultsOf(() => restoreSecrets(stolen, SECRETIVE));
    expect(faults.map(({ msg }) => msg)).toEqual(
      Array<string>(3).fill('*** stands for a value that was stored for another host: give it again'),
    );
  });
});

function faultsOf(act: () => unknown): InvalidConfigError['issues'] {
  try {
    act();
  } catch (error) {
    if (error instanceof InvalidConfigError) return error.issues;
    throw error;
  }
  throw new Error('nothing was refused');
}
