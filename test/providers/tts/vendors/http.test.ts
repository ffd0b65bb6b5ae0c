import { afterEach, describe, expect, it } from 'vitest';
import type { VendorAccess } from '../../../../src/settings/vendor-settings.js';
import type { HttpTts } from '../../../../src/providers/tts/shared/http-tts.js';
import type { TtsRequest } from '../../../../src/providers/tts/tts.js';
import { dubverseTts } from '../../../../src/providers/tts/vendors/dubverse.js';
import { kokoroTts, openAiTts } from '../../../../src/providers/tts/vendors/openai.js';
import { DubverseDouble } from '../../../vendors/tts/dubverse.js';
import { OpenAiSpeechDouble } from '../../../vendors/tts/openai.js';
import { KEY, type SpeechDouble } from '../../../vendors/tts/speech-double.js';
import { codeOf, requestFor, speakAll } from '../requests.js';

const opened: { close: () => Promise<void> }[] = [];

afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.close();
});

async function open<Double extends SpeechDouble>(double: Double): Promise<Double> {
  opened.push(await double.open());
  return double;
}

function speaking(make: (access: VendorAccess) => HttpTts, { url }: SpeechDouble, apiKey: string | null = KEY) {
  const provider = make({ apiKey, baseUrl: url, region: null });
  opened.push(provider);
  return {
    provider,
    speak: (text: string, parts: Partial<TtsRequest> = {}) => speakAll(provider, requestFor(text, parts)),
  };
}

describe('openai', () => {
  it('asks for PCM with voice, model and settings', async () => {
    const double = await open(new OpenAiSpeechDouble());
    const { speak } = speaking(openAiTts, double);
    await speak('Hello.');
    await speak('Hello.', { voiceId: 'onyx', model: 'tts-1', settings: { speed: 1.5 } });
    await speak('Hello.', { voiceId: 'voice_1234', settings: { instructions: 'Whisper.' } });
    const usual = { model: 'gpt-4o-mini-tts', input: 'Hello.', voice: 'alloy', response_format: 'pcm' };
    expect(double.bodies).toEqual([
      usual,
      { ...usual, model: 'tts-1', voice: 'onyx', speed: 1.5 },
      // One of the account's own.
      { ...usual, voice: { id: 'voice_1234' }, instructions: 'Whisper.' },
    ]);
  });

  it('has warm-up report a refused key, and nothing else', async () => {
    const double = await open(new OpenAiSpeechDouble());
    expect(await codeOf(speaking(openAiTts, double, 'wrong').provider.warmUp())).toBe('PROVIDER_REFUSED');
    double.faults = { refuse: 500 };
    await speaking(openAiTts, double).provider.warmUp();
    await double.close();
    await speaking(openAiTts, double).provider.warmUp();
  });
});

describe('kokoro', () => {
  it('needs no key', async () => {
    const double = await open(new OpenAiSpeechDouble('kokoro'));
    // This double asks for one all the same, and says so.
    expect(await codeOf(speaking(kokoroTts, double, null).speak('Hi.'))).toBe('PROVIDER_REFUSED');
  });
});

describe('dubverse', () => {
  it('has speakers by their number', async () => {
    const double = await open(new DubverseDouble());
    const { speak, provider } = speaking(dubverseTts, double);
    await speak('Namaste.', { voiceId: '44' });
    expect(JSON.parse(double.requests[0]?.body ?? '')).toEqual({
      text: 'Namaste.',
      speaker_no: 44,
      config: { use_streaming_response: true },
    });
    expect(() => provider.checkSettings({}, 'anna')).toThrow('dubverse has no voice "anna"');
    expect(await codeOf(speak('Hi.', { voiceId: 'anna' }))).toBe('TTS_VOICE_UNKNOWN');
  });
});
