import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { detectProviders, type Detection, type Probe } from '../../src/settings/detect.js';
import { knownModels, modelRoutes, ollamaUrl } from '../../src/settings/models.js';
import { DEFAULT_SETTINGS, type Settings } from '../../src/settings/settings.js';

const settingsWith = (more: Partial<Settings> = {}): Settings => ({ ...DEFAULT_SETTINGS, dataDir: '/tmp/x', ...more });

const NOTHING: Probe = {
  json: () => Promise.reject(new Error('nobody there')),
  hasCommand: () => Promise.resolve(false),
};

function detect(settings: Settings, probe: Probe = NOTHING): Promise<Detection> {
  return detectProviders(settings, { probe, clock: new VirtualClock(), signal: new AbortController().signal });
}

const lines = (detection: Detection): string[] => detection.findings.map(({ line }) => line);
const ollamaWith = (...names: string[]): Probe => ({
  ...NOTHING,
  json: (url) =>
    url === 'http://127.0.0.1:11434/api/tags'
      ? Promise.resolve({ models: names.map((name) => ({ name, size: 1 })) })
      : Promise.reject(new Error('wrong address')),
});

describe('detectProviders', () => {
  it('runs the embedded engines where there is nothing else', async () => {
    const detection = await detect(settingsWith());
    expect(lines(detection)).toEqual([
      'no OPENAI_API_KEY',
      'no Ollama at http://127.0.0.1:11434',
      'no espeak-ng on the PATH: English voices only',
    ]);
    expect(detection.choices).toEqual([
      'voice activity: silero',
      'speech recognition: embedded',
      'language model: scripted',
      'voice: flite',
    ]);
    expect(detection.voiceProviders).toEqual(['flite']);
    expect([...detection.models.keys()]).toEqual(['scripted']);
  });

  it("makes OpenAI's models usable where there is a key, and one of them the default", async () => {
    const detection = await detect(settingsWith({ openaiApiKey: 'sk-secret' }), ollamaWith('llama3.2:3b'));
    expect(detection.defaults.llmModel).toBe('gpt-4o-mini');
    expect(detection.models.get('gpt-4o')).toEqual({
      provider: 'openai',
      baseUrl: 'https://api.openai.com/v1',
      apiKey: 'sk-secret',
      model: 'gpt-4o',
    });
    expect(lines(detection)[0]).toMatch(/^found OPENAI_API_KEY: gpt-4o, .* through https:\/\/api\.openai\.com$/);
    expect(JSON.stringify([detection.findings, detection.choices])).not.toContain('secret');
  });

  it('uses a local Ollama, with the first model that can talk', async () => {
    const detection = await detect(settingsWith(), ollamaWith('nomic-embed-text', 'llama3.2:3b', 'qwen3:4b'));
    expect(detection.defaults.llmModel).toBe('llama3.2:3b');
    expect(detection.models.get('qwen3:4b')).toEqual({
      provider: 'openai',
      baseUrl: 'http://127.0.0.1:11434/v1',
      apiKey: null,
      model: 'qwen3:4b',
    });
    expect(lines(detection)).toContain(
      'found Ollama at http://127.0.0.1:11434: nomic-embed-text, llama3.2:3b, qwen3:4b',
    );
  });

  it('says so where Ollama has no models, and does not take anything else for an Ollama', async () => {
    expect(lines(await detect(settingsWith(), ollamaWith()))[1]).toMatch(/which has no models: not used$/);
    for (const answer of [null, 'Ollama is running', { models: 'x' }, { models: [{ name: 5 }] }, []]) {
      const detection = await detect(settingsWith(), { ...NOTHING, json: () => Promise.resolve(answer) });
      expect(lines(detection)[1]).toBe('no Ollama at http://127.0.0.1:11434');
      expect(detection.defaults.llmModel).toBe('scripted');
    }
  });

  it("keeps to the operator's choice, and says when it names an unknown model", async () => {
    const settings = settingsWith({
      openaiApiKey: 'k',
      llmModel: 'mine',
      stt: 's',
      tts: 't',
      voiceId: 'v',
      vad: 'webrtc',
    });
    const detection = await detect(settings);
    expect(detection.choices).toEqual([
      'voice activity: webrtc',
      'speech recognition: s',
      'language model: mine (unknown: sessions will fail)',
      'voice: t, v',
    ]);
    expect(detection.defaults).toMatchObject({ llmModel: 'mine', sttProvider: 's', voiceProvider: 't', voiceId: 'v' });
    const known = await detect({ ...settings, models: { mine: { baseUrl: 'http://10.0.0.1/v1' } } });
    expect(known.choices[2]).toBe('language model: mine');
  });

  it('finds espeak-ng', async () => {
    const probe: Probe = { ...NOTHING, hasCommand: (name) => Promise.resolve(name === 'espeak-ng') };
    const detection = await detect(settingsWith(), probe);
    expect(detection.voiceProviders).toEqual(['flite', 'espeak-ng']);
    expect(detection.findings[2]).toEqual({
      name: 'espeak-ng',
      found: true,
      used: true,
      line: 'found espeak-ng: voices of its languages',
    });
  });

  it('says what keys and addresses of vendors are good for', async () => {
    const vendors = {
      elevenlabs: { apiKey: 'e-secret' },
      azure: { apiKey: 'a-secret' },
      kokoro: { baseUrl: 'http://box:8880/v1/' },
    };
    const detection = await detect(settingsWith({ vendors, openaiApiKey: 'o-secret' }));
    expect(detection.findings.slice(3)).toEqual([
      {
        name: 'azure',
        found: true,
        used: false,
        line: 'found Azure AI Speech, not used: AZURE_SPEECH_REGION or AZURE_SPEECH_BASE_URL is not set',
      },
      expect.objectContaining({ name: 'elevenlabs', used: true }),
      expect.objectContaining({ name: 'kokoro', used: true }),
    ]);
    expect(detection.voiceProviders).toEqual(['flite', 'elevenlabs', 'kokoro', 'openai', 'openai_realtime']);
    expect(detection.vendors.kokoro).toEqual({ apiKey: null, baseUrl: 'http://box:8880/v1', region: null });
    expect(JSON.stringify([detection.findings, detection.choices])).not.toContain('secret');
  });

  it('waits no longer than its deadline for an address that says nothing', async () => {
    const clock = new VirtualClock();
    const signals: AbortSignal[] = [];
    const silent: Probe = {
      json: (_url, signal) => {
        signals.push(signal);
        return new Promise(() => undefined);
      },
      hasCommand: () => new Promise(() => undefined),
    };
    const pending = detectProviders(settingsWith(), {
      probe: silent,
      clock,
      signal: new AbortController().signal,
      deadlineMs: 300,
    });
    await clock.advanceBy(299);
    expect(signals[0]?.aborted).toBe(false);
    await clock.advanceBy(1);
    expect((await pending).findings.map(({ found }) => found)).toEqual([false, false, false]);
    expect(signals[0]?.aborted).toBe(true);
    expect(clock.pending).toBe(0);
  });

  it("rejects with the signal's reason", async () => {
    const controller = new AbortController();
    const clock = new VirtualClock();
    const probe: Probe = { ...NOTHING, json: () => new Promise(() => undefined) };
    const outcome = expect(
      detectProviders(settingsWith(), { probe, clock, signal: controller.signal }),
    ).rejects.toThrow('stopping');
    controller.abort(new Error('stopping'));
    await outcome;
    expect(clock.pending).toBe(0);
  });
});

describe('ollamaUrl', () => {
  it.each([
    ['http://127.0.0.1:11434', 'http://127.0.0.1:11434'],
    ['127.0.0.1', 'http://127.0.0.1:11434'],
    ['box', 'http://box:11434'],
    ['box:80', 'http://box'],
    ['0.0.0.0', 'http://127.0.0.1:11434'],
    ['0.0.0.0:9999', 'http://127.0.0.1:9999'],
    ['[::]:9999', 'http://[::1]:9999'],
    ['https://box/ollama/', 'https://box:11434/ollama'],
    ['not a host', 'http://127.0.0.1:11434'],
  ])('reads %s as %s', (host, expected) => {
    expect(ollamaUrl(host)).toBe(expected);
  });
});

describe('modelRoutes', () => {
  it("has Anthropic's models where there is a key, which goes to Anthropic alone", async () => {
    const settings = settingsWith({
      vendors: { anthropic: { apiKey: 'ant' } },
      models: {
        opus: { provider: 'anthropic', model: 'claude-opus-5-5' },
        other: { provider: 'anthropic', baseUrl: 'http://b' },
      },
    });
    const routes = modelRoutes(settings);
    const own = { provider: 'anthropic', baseUrl: 'https://api.anthropic.com', apiKey: 'ant' };
    expect(routes.get('claude-haiku-5-5')).toEqual({ ...own, model: 'claude-haiku-5-5' });
    expect(routes.get('opus')).toEqual({ ...own, model: 'claude-opus-5-5' });
    expect(routes.get('other')).toMatchObject({ baseUrl: 'http://b', apiKey: null });
    expect((await detect(settings)).defaults.llmModel).toBe('claude-haiku-5-5');
  });

  it("gives a key only to the server that it is for, and lets the operator's entries stand first", () => {
    const routes = modelRoutes(
      settingsWith({
        openaiApiKey: 'openai',
        models: {
          elsewhere: { baseUrl: 'https://other.example/v1' },
          keyed: { baseUrl: 'https://other.example/v1', apiKey: 'own', model: 'big', provider: 'p' },
          alias: { model: 'gpt-4o' },
          'gpt-4o': { model: 'gpt-4o-2024' },
        },
      }),
    );
    expect(routes.get('elsewhere')).toMatchObject({ apiKey: null, model: 'elsewhere', provider: 'openai' });
    expect(routes.get('keyed')).toMatchObject({ apiKey: 'own', model: 'big', provider: 'p' });
    expect(routes.get('alias')).toMatchObject({
      apiKey: 'openai',
      model: 'gpt-4o',
      baseUrl: 'https://api.openai.com/v1',
    });
    expect(routes.get('gpt-4o')?.model).toBe('gpt-4o-2024');
    expect(knownModels(routes)).toEqual(expect.arrayContaining(['deepseek-v3', 'scripted', 'keyed']));
  });
});
