import { afterEach, describe, expect, it } from 'vitest';
import { VOICE_PROVIDERS } from '../../src/agent/agent.js';
import { RealtimeDouble } from '../vendors/realtime/double.js';
import { ElevenLabsDouble } from '../vendors/tts/elevenlabs.js';
import { KEY } from '../vendors/tts/speech-double.js';
import { OpenAiDouble, sendError, textChunk, finishChunk, stream, usageChunk } from '../providers/llm/openai-double.js';
import { MADE_MODELS } from '../providers/local/made-models.js';
import { parley } from './support.js';

const opened: { close: () => Promise<void> }[] = [];

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

describe('parley providers', () => {
  it('lists every voice provider of the interface, and what it needs', async () => {
    const { code, out } = await parley(['providers'], {
      env: { CARTESIA_API_KEY: 'c', KOKORO_BASE_URL: 'http://b/v1' },
    });
    expect(code).toBe(0);
    for (const name of VOICE_PROVIDERS) expect(out).toMatch(new RegExp(`^  [+-] ${name} `, 'm'));
    expect(out).toMatch(/^ {2}\+ cartesia +ready; \d+ languages; words' own times; models$/m);
    expect(out).toMatch(/^ {2}- elevenlabs +not here: ELEVENLABS_API_KEY is not set; .*words' own times/m);
    expect(out).toMatch(/^ {2}\+ kokoro +ready/m);
    expect(out).toMatch(/^ {2}- playht +not here: PlayHT shut its API down/m);
    expect(out).toMatch(/^ {2}\+ embedded +ready/m);
    expect(out).toMatch(/^ {2}\+ scripted +ready/m);
  });

  it('lists the language models that there are not, and what they need', async () => {
    const none = (await parley(['providers'])).out;
    expect(none).toMatch(/^ {2}- openai +not here: OPENAI_API_KEY is not set; gpt-4o; /m);
    expect(none).toMatch(/^ {2}- openai_realtime +not here: OPENAI_API_KEY is not set; hear and speak themselves; /m);
    expect(none).toMatch(/^ {2}- anthropic +not here: ANTHROPIC_API_KEY is not set; claude-/m);
    expect(none).toMatch(/^ {2}- ollama +not here: no Ollama with a model at http:\/\/127\.0\.0\.1:9 \(OLLAMA_HOST\)/m);
    expect(none).toMatch(/^ {2}- openai-compatible +not here: models in the settings file names none/m);
    const keyed = (await parley(['providers'], { env: { OPENAI_API_KEY: 'a', ANTHROPIC_API_KEY: 'b' } })).out;
    expect(keyed).toMatch(/^ {2}\+ openai at api\.openai\.com +ready; gpt-4o; /m);
    expect(keyed).toMatch(/^ {2}\+ anthropic at api\.anthropic\.com +ready; claude-/m);
    expect(keyed).not.toMatch(/(OPENAI|ANTHROPIC)_API_KEY is not set; (gpt-4o|claude|hear)/);
  });

  it('lists the models on this machine, and tries one', async () => {
    const none = await parley(['providers'], { env: { PARLEY_MODELS_DIR: '/nowhere' } });
    expect(none.out).toMatch(/^ {2}- sherpa +not here: there is no model of it \(parley models pull NAME\)$/m);
    const env = { PARLEY_MODELS_DIR: MADE_MODELS, PARLEY_STT_MODEL: 'made-streaming' };
    const { out } = await parley(['providers'], { env });
    expect(out).toMatch(/^ {2}\+ sherpa +ready; made-streaming; made-transducer; made-whisper \(en\)$/m);
    expect(out).toMatch(/^ {2}\+ sherpa +ready; made-voice \(en\)$/m);
    const spoken = await parley(['providers', 'test', 'sherpa', '--kind', 'tts', '--voice', 'made-voice:1'], { env });
    expect(spoken).toMatchObject({ code: 0, err: '' });
    expect(spoken.out).toMatch(/first audio +\d+ ms\n/);
    const unknown = await parley(['providers', 'test', 'sherpa', '--kind', 'stt', '--model', 'nonsense'], { env });
    expect(unknown.out).toContain('[MODEL_UNKNOWN]');
  });

  it('lists as JSON', async () => {
    const { out } = await parley(['providers', 'list', '--json']);
    expect(JSON.parse(out)).toContainEqual({
      kind: 'tts',
      name: 'dubverse',
      needs: 'DUBVERSE_API_KEY',
      usable: false,
      missing: 'DUBVERSE_API_KEY is not set',
      supports: expect.any(Array) as string[],
    });
  });

  it('tries the embedded ones: a sentence spoken, and recognised', async () => {
    const spoken = await parley(['providers', 'test', 'flite']);
    expect(spoken).toMatchObject({ code: 0, err: '' });
    expect(spoken.out).toMatch(/first audio +\d+ ms\n {2}all of it +\d+ ms\n.*length.*\n.*11, the vendor's\n$/);
    const { out } = await parley(['providers', 'test', 'embedded', '--json']);
    const [{ facts }] = JSON.parse(out) as [{ facts: Record<string, unknown> }];
    expect(facts['final, after the end of speech']).toEqual(expect.any(Number));
    expect(String(facts['heard']).toLowerCase()).toContain('table for two');
  });

  it('tries a vendor', async () => {
    const double = await new ElevenLabsDouble().open();
    opened.push(double);
    const env = { ELEVENLABS_API_KEY: KEY, ELEVENLABS_BASE_URL: double.url };
    const test = ['providers', 'test', 'elevenlabs', '--kind', 'tts', '--voice', 'anne', '--language', 'de'];
    const { code, out } = await parley(test, { env });
    expect(out).toMatch(/first audio +\d+ ms/);
    expect(code).toBe(0);
    expect(double.addresses[0]?.pathname).toContain('/anne/');
    double.faults = { refuse: 401 };
    const refused = await parley(test, { env });
    expect(refused.code).toBe(1);
    expect(refused.out).toMatch(
      /failed: elevenlabs refused the request: HTTP 401.*\[PROVIDER_REFUSED\]\n {2}remedy: .*ELEVENLABS_API_KEY\n$/,
    );
    expect(refused.out + refused.err).not.toContain(KEY);
    expect(double.violations).toEqual([]);
  });

  it('tries a language model', async () => {
    const double = new OpenAiDouble();
    opened.push(double);
    const env = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: await double.listen() };
    double.answer = (response) => stream(response, [textChunk('ready'), finishChunk('stop'), usageChunk]);
    const { code, out } = await parley(['providers', 'test', 'gpt-4o'], { env });
    expect(code).toBe(0);
    expect(out).toMatch(/first token +\d+ ms\n.*12 in, 5 out\n.*all of it +\d+ ms\n.*answered +ready\n/);
    double.answer = (response) => sendError(response, 429, 'slow down');
    expect((await parley(['providers', 'test', 'openai', '--kind', 'llm'], { env })).out).toContain(
      'temporary: try again',
    );
  });

  it('talks to a model that hears and speaks itself, and lets its voice read', async () => {
    const double = await new RealtimeDouble().open();
    opened.push(double);
    double.hears = ['We have a table for two.'];
    const env = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: double.url };
    const { out: list } = await parley(['providers'], { env });
    expect(list).toMatch(/ {2}\+ openai_realtime at .*ready; hear and speak themselves; gpt-4o-realtime-preview;/);
    const { code, out } = await parley(['providers', 'test', 'openai_realtime'], { env });
    expect(out).toMatch(/connection and session +\d+ ms\n.*first audio, after speech +\d+ ms\n/);
    expect(out).toMatch(/tokens +\d+ in, \d+ out\n.*audio tokens +\d+ in, \d+ out\n/);
    expect(out).toMatch(/answered +You said: We have a table for two\.\.\n/);
    expect(out).toMatch(/heard +We have a table for two\.\n/);
    expect(out).toMatch(/words with times +\d+, estimated\n$/);
    expect([code, double.violations]).toEqual([0, []]);
    double.faults = { refuse: 401 };
    const refused = await parley(['providers', 'test', 'gpt-realtime'], { env });
    expect(refused.out).toContain('[PROVIDER_REFUSED]');
    expect(refused.out + refused.err).not.toContain(KEY);
  });

  it('says what to do about a vendor that cannot be reached', async () => {
    const trial = async (env: Record<string, string>): Promise<string> =>
      (await parley(['providers', 'test', 'azure', '--kind', 'tts'], { env: { AZURE_SPEECH_KEY: KEY, ...env } })).out;
    expect(await trial({ AZURE_SPEECH_BASE_URL: 'http://127.0.0.1:9' })).toMatch(
      /ECONNREFUSED.*\n {2}remedy: no server listens there: .*AZURE_SPEECH_BASE_URL or AZURE_SPEECH_REGION\n$/,
    );
    expect(await trial({ AZURE_SPEECH_BASE_URL: 'http://nowhere.invalid' })).toMatch(
      /remedy: the host name cannot be resolved/,
    );
  });

  it('says what is wrong with what it was asked', async () => {
    expect((await parley(['providers', 'test', 'cartesia'])).out).toContain(
      'set CARTESIA_API_KEY (in the library: EngineOptions.vendors.cartesia) [PROVIDER_NOT_CONFIGURED]',
    );
    expect(await parley(['providers', 'test', 'nobody'])).toMatchObject({
      code: 1,
      err: expect.stringContaining('[PROVIDER_UNKNOWN]') as string,
    });
    for (const args of [['test'], ['nonsense'], ['test', 'a', 'b'], ['test', 'a', '--kind', 'x']]) {
      expect((await parley(['providers', ...args])).code).toBe(2);
    }
  });
});
