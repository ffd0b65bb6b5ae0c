import { describe, expect, it } from 'vitest';
import type { AgentConfig } from '../../src/agent/agent.js';
import { resolveAgent } from '../../src/agent/resolve.js';

describe('resolveAgent', () => {
  it('applies the defaults of what is null or left out', () => {
    const expected = {
      status: 'active',
      language: 'en-US',
      timezone: 'UTC',
      prompt: '',
      metadata: {},
      includeMetadataInPrompt: false,
      variables: new Map(),
      vadThreshold: 0.5,
      voice: { provider: 'flite', voiceId: null, model: null, settings: {} },
      llm: { model: 'scripted', temperature: 0 },
      stt: { provider: 'embedded', model: null, multilingual: false },
      customLlm: null,
      switchLanguage: null,
      privacy: { optOut: false, doNotCall: false },
      keywords: new Map(),
      tools: [],
      serviceFunctions: [],
      appFunctions: [],
      sound: { recording: false, background: null, denoise: null },
      knowledge: { fileIds: [], messages: [] },
      memoryUser: null,
      webhooks: { extraPrompt: null, sessionData: null },
      flow: {
        opening: { firstMessage: null, userStarts: false, userStartTimeoutMs: 8000 },
        interruption: {
          allowed: true,
          keepMessage: true,
          openingAllowed: true,
          maxHoldMs: 2000,
          wordsAfterStopMs: 500,
        },
        endpointing: {
          responseDelayMs: 0,
          numberInputDelayMs: 0,
          minSilenceMs: 240,
          maxSilenceMs: 1800,
          finalTranscriptMs: 1200,
          stuckMs: 12_000,
        },
        filler: { afterMs: null, messages: [] },
        endCall: { enabled: false, instruction: null, messages: [] },
        voicemail: null,
        transfer: null,
        keypad: { enabled: false, instruction: null },
        inactivity: null,
      },
      limits: { maxDurationMs: 3_600_000, maxIdleMs: null, message: null },
      history: { messageLimit: null, toolResultLimit: null },
    };
    expect(resolveAgent({})).toMatchObject(expected);
    expect(resolveAgent({ voice: null, flow: null, llm: null, tools: null, session_timeout: null })).toEqual(
      resolveAgent({}),
    );
    const emptyParts: AgentConfig = {
      prompt: '',
      first_message: '',
      flow: {
        interruption: {},
        response_delay: {},
        agent_terminate_call: {},
        inactivity_handling: {},
        voicemail: { message: '', continue_on_voice_activity: false, detection_phrases: [''] },
        call_transfer: { phone: '', phones: [], messages: [] },
        dtmf_dial: {},
      },
      session_timeout: {},
      speech_to_text: {},
    };
    expect(resolveAgent(emptyParts)).toEqual(resolveAgent({}));
  });

  it('reads voicemail, transfer and keys, their variables filled in', () => {
    const agent = resolveAgent(
      {
        flow: {
          voicemail: { action: 'message', message: 'Hi {Name}, call back.', detection_phrases: ['{Name} is out', ' '] },
          call_transfer: {
            phone: '+2',
            phones: [
              { phone: '+1', description: 'for {Name}' },
              { phone: '+2', description: 'sales' },
              { phone: '+1', description: 'again' },
              { phone: ' {Desk}' },
              { phone: '' },
            ],
            messages: ['One moment, {Name}.'],
          },
          dtmf_dial: { enabled: true, instruction: 'Press 1 for {Name}.' },
        },
      },
      {
        metadata: { Name: 'Tom', Desk: 'sip:desk@example.com' },
        extensions: { transfer: { attended: { enabled: true, briefing: '{Name}: {summary}' } } },
      },
    );
    expect(agent.flow.voicemail).toMatchObject({
      action: 'message',
      message: 'Hi Tom, call back.',
      continueOnVoiceActivity: false,
      detectionPhrases: ['Tom is out'],
    });
    expect(agent.flow.transfer).toMatchObject({
      targets: [
        { phone: '+1', description: 'for Tom' },
        { phone: '+2', description: 'sales' },
        { phone: 'sip:desk@example.com', description: null },
      ],
      instruction: null,
      messages: ['One moment, Tom.'],
      attended: {
        briefing: 'Tom: {summary}',
        confirm: true,
        ringMs: 30_000,
        holdSound: 'music',
        holdMessages: [],
      },
    });
    expect(agent.flow.keypad).toMatchObject({ enabled: true, instruction: 'Press 1 for Tom.' });
  });

  it.each([
    [{ voicemail: { action: 'hangup' } }, 'hangup'],
    [{ voicemail: { message: 'Hi.' } }, 'hangup'],
    [{ voicemail: { continue_on_voice_activity: true } }, 'hangup'],
    [{ voicemail: { detection_phrases: ['x'] } }, 'hangup'],
  ] as const)('takes %j for a wish', (flow, action) => {
    expect(resolveAgent({ flow } as AgentConfig).flow.voicemail?.action).toBe(action);
  });

  it('puts a phone of its own before the others', () => {
    const { transfer } = resolveAgent({ flow: { call_transfer: { phone: '+1', phones: [{ phone: '+2' }] } } }).flow;
    expect(transfer?.targets.map(({ phone }) => phone)).toEqual(['+1', '+2']);
  });

  it('turns every unit into milliseconds and says so in the name', () => {
    const agent = resolveAgent({
      flow: {
        response_delay: { generic_delay: 300, number_input_delay: 700 },
        auto_fill_responses: { response_gap_threshold: 1_500 },
        inactivity_handling: { idle_time: 7.5, message: 'Hello?' },
      },
      session_timeout: { max_duration: 90, max_idle: 30, message: 'Bye.' },
      llm: {
        model: 'm',
        temperature: 0.7,
        history_settings: { history_message_limit: 9, history_tool_result_limit: 0 },
      },
    });
    expect(agent.flow.endpointing).toMatchObject({ responseDelayMs: 300, numberInputDelayMs: 700 });
    expect(agent.flow.filler).toMatchObject({ afterMs: 1_500, messages: [] });
    expect(agent.flow.inactivity).toMatchObject({ idleMs: 7_500, message: 'Hello?' });
    expect(agent.limits).toEqual({ maxDurationMs: 90_000, maxIdleMs: 30_000, message: 'Bye.' });
    expect(agent.llm).toEqual({ model: 'm', temperature: 0.7 });
    expect(agent.history).toEqual({ messageLimit: 9, toolResultLimit: 0 });
  });

  it('takes response_delay as a number, too, and a filler without a threshold as one at once', () => {
    const agent = resolveAgent({ flow: { response_delay: 250, auto_fill_responses: {} } });
    expect(agent.flow.endpointing).toMatchObject({ responseDelayMs: 250, numberInputDelayMs: 0 });
    expect(agent.flow.filler.afterMs).toBe(0);
  });

  it("keeps what the configuration says over the operator's defaults", () => {
    const defaults = {
      llmModel: 'gpt-4o',
      sttProvider: 's',
      voiceProvider: 'espeak-ng',
      voiceId: 'en',
      language: 'de',
      timezone: 'Asia/Tokyo',
      maxDurationS: 60,
    } as const;
    expect(resolveAgent({}, { defaults })).toMatchObject({
      llm: { model: 'gpt-4o' },
      stt: { provider: 's' },
      voice: { provider: 'espeak-ng', voiceId: 'en' },
      language: 'de',
      timezone: 'Asia/Tokyo',
      limits: { maxDurationMs: 60_000 },
    });
    const config: AgentConfig = {
      llm: { model: 'scripted' },
      speech_to_text: { provider: 'embedded', model: 'x' },
      voice: { provider: 'flite', voice_id: 'slt', model: 'y', settings: { rate: 1.2 } },
      language: 'fr',
      timezone: 'UTC',
      session_timeout: { max_duration: 5 },
      vad_threshold: 0,
      custom_vocabulary: { keywords: { gnocchi: 5, __: -1 } },
      status: 'disabled',
    };
    expect(resolveAgent(config, { defaults })).toMatchObject({
      llm: { model: 'scripted' },
      stt: { provider: 'embedded', model: 'x' },
      voice: { provider: 'flite', voiceId: 'slt', model: 'y', settings: { rate: 1.2 } },
      language: 'fr',
      timezone: 'UTC',
      limits: { maxDurationMs: 5_000 },
      vadThreshold: 0,
      keywords: new Map([
        ['gnocchi', 5],
        ['__', -1],
      ]),
      status: 'disabled',
    });
    expect(resolveAgent({ voice: { voice_id: 'de' } }, { defaults }).voice).toMatchObject({
      provider: 'espeak-ng',
      voiceId: 'de',
    });
  });

  it('fills the variables into everything that is said or asked', () => {
    const config: AgentConfig = {
      prompt: 'Call {Name}',
      first_message: 'Hi {Name} on {FromPhone}',
      flow: {
        auto_fill_responses: { messages: ['Well, {Name}.', ' '] },
        agent_terminate_call: { enabled: true, instruction: 'When {Name} is done', messages: ['Bye {Name}'] },
        inactivity_handling: { idle_time: 5, message: '{Name}?' },
      },
      session_timeout: { message: 'Time, {Unknown}' },
    };
    const agent = resolveAgent(config, { metadata: { Name: 'Ann' }, fromPhone: '+15550001' });
    expect(agent.prompt).toBe('Call Ann');
    expect(agent.flow.opening.firstMessage).toBe('Hi Ann on +15550001');
    expect(agent.flow.filler.messages).toEqual(['Well, Ann.']);
    expect(agent.flow.endCall).toMatchObject({ enabled: true, instruction: 'When Ann is done', messages: ['Bye Ann'] });
    expect(agent.flow.inactivity?.message).toBe('Ann?');
    expect(agent.limits.message).toBe('Time, {Unknown}');
    expect(agent.metadata).toEqual({ Name: 'Ann' });
  });

  it('carries interruption and opening over', () => {
    const agent = resolveAgent({
      flow: {
        user_start_first: true,
        interruption: { allowed: false, keep_interruption_message: false, first_messsage: false },
      },
    });
    expect(agent.flow.opening.userStarts).toBe(true);
    expect(agent.flow.interruption).toMatchObject({ allowed: false, keepMessage: false, openingAllowed: false });
  });
});
