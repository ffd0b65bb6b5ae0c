import { afterEach, describe, expect, it } from 'vitest';
import type { VendorAccess } from '../../../../src/config/vendor-settings.js';
import type { HttpTts } from '../../../../src/providers/tts/http-tts.js';
import type { TtsRequest } from '../../../../src/providers/tts/tts.js';
import { azureTts } from '../../../../src/providers/tts/vendors/azure.js';
import { dubverseTts } from '../../../../src/providers/tts/vendors/dubverse.js';
import { kokoroTts, openAiTts } from '../../../../src/providers/tts/vendors/openai.js';
import { AzureDouble } from '../../../vendors/tts/azure.js';
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
    await speak('Hello.', { settings: { instructions: 'Whisper.' } });
    const usual = { model: 'gpt-4o-mini-tts', input: 'Hello.', voice: 'alloy', response_format: 'pcm' };
    expect(double.bodies).toEqual([
      usual,
      { ...usual, model: 'tts-1', voice: 'onyx', speed: 1.5 },
      { ...usual, instructions: 'Whisper.' },
    ]);
  });

  it('has a refused key told by warm-up, and nothing else', async () => {
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

describe('azure', () => {
  it('escapes what is said, and puts language, voice and settings into the markup', async () => {
    const double = await open(new AzureDouble());
    const { speak } = speaking(azureTts, double);
    await speak('Fish & chips for "two" at <7>?', { language: 'en-GB' });
    const settings = { rate: 1.2, pitch: 0.9, volume: 80, style: 'cheerful', styledegree: 1.5 };
    await speak('Hallo.', { voiceId: 'de-DE-KatjaNeural', language: 'de', settings });
    expect(double.spoken).toEqual(['Fish & chips for "two" at 7?', 'Hallo.']);
    expect(double.requests[0]?.body).toContain('xml:lang="en-GB"><voice name="en-US-AvaMultilingualNeural">Fish');
    expect(double.requests[1]?.body).toContain(
      '<voice name="de-DE-KatjaNeural"><mstts:express-as style="cheerful" styledegree="1.5">' +
        '<prosody rate="1.2" pitch="-10%" volume="80">Hallo.</prosody></mstts:express-as></voice>',
    );
  });

  it('finds its address by the region', async () => {
    const provider = azureTts({ apiKey: KEY, baseUrl: null, region: 'nowhere.invalid/' });
    opened.push(provider);
    expect(await codeOf(speakAll(provider, requestFor('Hi.')))).toBe('PROVIDER_FAILED');
  });
});

describe('dubverse', () => {
  it('has speakers by their number', async () => {
    const double = await open(new DubverseDouble());
    const { speak, provider } = speaking(dubverseTts, double);
    await speak('Namaste.', { voiceId: '44' });
    expect(JSON.parse(double.requests[0]?.body ?? '')).toEqual({
      ...{ text: 'Namaste.', speaker_no: 44, config: { use_streaming_response: true } },
    });
    expect(() => provider.checkSettings({}, 'anna')).toThrow('dubverse has no voice called "anna"');
    expect(await codeOf(speak('Hi.', { voiceId: 'anna' }))).toBe('TTS_VOICE_UNKNOWN');
  });
});
