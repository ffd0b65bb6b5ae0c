import { afterEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../../src/base/virtual-clock.js';
import type { TtsProvider, TtsRequest } from '../../../../src/providers/tts/tts.js';
import { azureTts } from '../../../../src/providers/tts/vendors/azure.js';
import { cartesiaTts } from '../../../../src/providers/tts/vendors/cartesia.js';
import { deepgramTts } from '../../../../src/providers/tts/vendors/deepgram.js';
import { elevenLabsTts } from '../../../../src/providers/tts/vendors/elevenlabs.js';
import { openAiRealtimeTts } from '../../../../src/providers/tts/vendors/openai-realtime.js';
import { rimeTts } from '../../../../src/providers/tts/vendors/rime.js';
import { AzureDouble } from '../../../vendors/tts/azure.js';
import { CartesiaDouble } from '../../../vendors/tts/cartesia.js';
import { DeepgramDouble } from '../../../vendors/tts/deepgram.js';
import { ElevenLabsDouble } from '../../../vendors/tts/elevenlabs.js';
import { RealtimeDouble } from '../../../vendors/realtime/double.js';
import { RimeDouble } from '../../../vendors/tts/rime.js';
import { KEY, type SpeechDouble } from '../../../vendors/tts/speech-double.js';
import { requestFor, speakAll } from '../requests.js';

const opened: { close: () => Promise<void> }[] = [];

afterEach(async () => {
  for (const one of opened.splice(0).toReversed()) await one.close();
});

async function open<Double extends SpeechDouble>(double: Double): Promise<Double> {
  opened.push(await double.open());
  return double;
}

function speaking(make: typeof elevenLabsTts, { url }: SpeechDouble, options: Parameters<typeof make>[1] = {}) {
  const provider: TtsProvider = make({ apiKey: KEY, baseUrl: url, region: null }, options);
  opened.push(provider);
  return {
    provider,
    speak: (text: string, parts: Partial<TtsRequest> = {}) => speakAll(provider, requestFor(text, parts)),
  };
}

describe('elevenlabs', () => {
  it('names voice, model and language in the address, and settings with the context', async () => {
    const double = await open(new ElevenLabsDouble());
    const { speak } = speaking(elevenLabsTts, double);
    const settings = { stability: 0.4, use_speaker_boost: false, style: null };
    await speak('Hallo.', { voiceId: 'v 1', language: 'de', settings });
    await speak('Hello.', { model: 'eleven_multilingual_v2' });
    await speak('Hi.', { language: 'multi' });
    expect(double.addresses.map(({ pathname }) => decodeURIComponent(pathname.split('/')[3] ?? ''))).toEqual([
      'v 1',
      'JBFqnCBsd6RMkjVDRZzb',
      'JBFqnCBsd6RMkjVDRZzb',
    ]);
    const queries = double.addresses.map(({ searchParams }) => Object.fromEntries(searchParams));
    expect(queries[0]).toEqual({
      model_id: 'eleven_flash_v2_5',
      output_format: 'pcm_24000',
      auto_mode: 'true',
      inactivity_timeout: '180',
      language_code: 'de',
    });
    expect(queries[1]).toMatchObject({ model_id: 'eleven_multilingual_v2' });
    expect(queries[1]).not.toHaveProperty('language_code');
    expect(queries[2]).not.toHaveProperty('language_code');
    expect(double.voiceSettings).toEqual([{ stability: 0.4, use_speaker_boost: false }, null, null]);
  });

  it('keeps to five contexts on a connection, those counted that nobody listens to any more', async () => {
    const double = await open(new ElevenLabsDouble());
    const { provider, speak } = speaking(elevenLabsTts, double);
    double.faults = { stopAfter: 'stall', pieces: 3 };
    const leave = async (): Promise<void> => {
      for await (const _ of provider.synthesize(requestFor('One that is interrupted.'))) break;
    };
    await Promise.all(Array.from({ length: 5 }, leave));
    double.faults = {};
    await speak('The next.');
    expect([double.connections, double.violations]).toEqual([2, []]);
  });

  it('keeps a quiet connection, and closes one that has no work for long', async () => {
    const double = await open(new ElevenLabsDouble());
    const clock = new VirtualClock();
    const { provider } = speaking(elevenLabsTts, double, { clock, idleMs: 200_000 });
    await provider.warmUp();
    for (let i = 0; i < 14; i++) {
      await clock.advanceBy(10_000);
      await double.until(() => double.keepAlives >= Math.floor((i + 1) / 6), 'a sign of life');
    }
    expect([double.keepAlives, double.standing]).toEqual([2, 1]);
    for (let i = 0; i < 7; i++) await clock.advanceBy(10_000);
    await double.until(() => double.standing === 0, 'the end');
    expect(clock.pending).toBe(0);
  });

  it('says which languages it speaks', async () => {
    const { provider } = speaking(elevenLabsTts, await open(new ElevenLabsDouble()));
    const speaks = (code: string): Promise<boolean> => provider.speaks?.(code) ?? Promise.resolve(true);
    expect(await Promise.all(['de', 'en-GB', 'multi', 'sw'].map(speaks))).toEqual([true, true, true, false]);
  });
});

describe('azure', () => {
  it('escapes what is said, and puts language, voice and settings into the markup', async () => {
    const double = await open(new AzureDouble());
    const { speak } = speaking(azureTts, double);
    await speak('Fish & chips for "two" at <7>?', { language: 'en-GB' });
    const settings = { rate: 1.2, pitch: 0.9, volume: 80, style: 'cheerful', styledegree: 1.5 };
    await speak('Pesce & Co.', { voiceId: 'de-DE-KatjaNeural', language: 'it', settings });
    expect(double.spoken).toEqual(['Fish and chips for "two" at seven?', 'Pesce & Co.']);
    expect(double.documents[0]).toContain('xml:lang="en-GB"><voice name="en-US-AvaMultilingualNeural">Fish');
    expect(double.documents[1]).toContain(
      '<voice name="de-DE-KatjaNeural"><mstts:express-as style="cheerful" styledegree="1.5">' +
        '<prosody rate="1.2" pitch="-10%" volume="80">Pesce &amp; Co.</prosody></mstts:express-as></voice>',
    );
  });

  it('finds its address by the region, and has one connection for all voices', async () => {
    const provider = azureTts({ apiKey: KEY, baseUrl: null, region: 'nowhere.invalid/' });
    opened.push(provider);
    await expect(speakAll(provider, requestFor('Hi.'))).rejects.toMatchObject({ code: 'PROVIDER_FAILED' });
    const double = await open(new AzureDouble());
    const { speak } = speaking(azureTts, double);
    await speak('One.');
    await speak('Zwei.', { voiceId: 'de-DE-KatjaNeural', language: 'de' });
    expect(double.connections).toBe(1);
  });
});

describe('cartesia', () => {
  it('puts voice, model, language and settings into the message, on one connection for all voices', async () => {
    const double = await open(new CartesiaDouble());
    const { speak } = speaking(cartesiaTts, double);
    await speak('Bonjour.', {
      voiceId: 'anne',
      model: 'sonic-3',
      language: 'fr',
      settings: { speed: 0.8, emotion: 'calm' },
    });
    await speak('Hello.', { language: 'multi' });
    expect(double.requests).toMatchObject([
      {
        model_id: 'sonic-3',
        voice: { mode: 'id', id: 'anne' },
        language: 'fr',
        transcript: 'Bonjour.',
        generation_config: { speed: 0.8, emotion: 'calm' },
        continue: false,
        add_timestamps: true,
      },
      { model_id: 'sonic-3.5' },
    ]);
    expect(double.requests[1]).not.toHaveProperty('language');
    expect(double.connections).toBe(1);
  });
});

describe('phonemes of the dictionary', () => {
  const pronunciation = { words: [{ word: 'Siobhan', ipa: 'ʃɪˈvɔːn' }] };
  const text = 'Ask Siobhan & me.';

  it('are SSML for Azure, whose words stay those of the text', async () => {
    const double = await open(new AzureDouble());
    const { speak } = speaking(azureTts, double);
    await speak(text, { pronunciation });
    expect(double.documents[0]).toContain(
      '>Ask <phoneme alphabet="ipa" ph="ʃɪˈvɔːn">Siobhan</phoneme> and me.</voice>',
    );
  });

  it('are SSML for the models of ElevenLabs that read it, letters for others', async () => {
    const double = await open(new ElevenLabsDouble());
    const { speak } = speaking(elevenLabsTts, double);
    await speak(text, { pronunciation, model: 'eleven_flash_v2' });
    await speak(text, { pronunciation });
    expect(double.spoken).toEqual([
      'Ask <phoneme alphabet="ipa" ph="ʃɪˈvɔːn">Siobhan</phoneme> and me.',
      'Ask shi-vawn and me.',
    ]);
    expect(double.addresses.map(({ searchParams }) => searchParams.get('enable_ssml_parsing'))).toEqual(['true', null]);
  });

  it('are in the notations of Cartesia and Deepgram', async () => {
    const cartesia = await open(new CartesiaDouble());
    await speaking(cartesiaTts, cartesia).speak(text, { pronunciation });
    expect(cartesia.requests).toMatchObject([{ transcript: 'Ask <<ʃ|ɪ|ˈ|v|ɔ|n>> and me.' }]);
    const deepgram = await open(new DeepgramDouble());
    const { speak } = speaking(deepgramTts, deepgram);
    await speak(text, { pronunciation });
    await speak('Siobhan.', { pronunciation, language: 'de' });
    expect(deepgram.spoken).toEqual([
      String.raw`Ask \{"word": "Siobhan", "pronounce": "ʃɪˈvɔːn"\} and me.`,
      'schi-wohn.',
    ]);
  });
});

describe('deepgram', () => {
  it('has the voice of the language where none is named', async () => {
    const double = await open(new DeepgramDouble());
    const { speak } = speaking(deepgramTts, double);
    await speak('Hola.', { language: 'es' });
    await speak('Hi.', { voiceId: 'aura-2-orion-en', settings: { speed: 1.25 } });
    expect(double.addresses.map(({ searchParams }) => searchParams.get('model'))).toEqual([
      'aura-2-celeste-es',
      'aura-2-orion-en',
    ]);
    expect(double.addresses[1]?.searchParams.get('speed')).toBe('1.25');
  });

  it('asks a connection no more often than Deepgram allows', async () => {
    const double = await open(new DeepgramDouble());
    const { speak } = speaking(deepgramTts, double);
    for (let i = 0; i < 25; i++) await speak('Yes.');
    expect([double.connections, double.violations]).toEqual([2, []]);
  });

  it('uses a connection again only when Deepgram has confirmed the clear', async () => {
    const double = await open(new DeepgramDouble());
    const { provider, speak } = speaking(deepgramTts, double);
    for (let i = 0; i < 3; i++) {
      for await (const _ of provider.synthesize(requestFor('This one is interrupted.'))) break;
      await double.until(() => double.cancelled === i + 1, 'the clear');
      expect((await speak(`It goes on ${'x'.repeat(i)}.`)).words.length).toBeGreaterThanOrEqual(3);
    }
    expect(double.violations).toEqual([]);
    expect(double.connections).toBeLessThan(5);
  });
});

describe('openai_realtime', () => {
  it('has a session for each voice, and asks for each text outside any conversation', async () => {
    const double = await open(new RealtimeDouble());
    const { speak } = speaking(openAiRealtimeTts, double);
    await speak('One.');
    await speak('Two.', { settings: { instructions: 'Slowly.' } });
    await speak('Three.', { voiceId: 'cedar', settings: { speed: 1.2 } });
    expect(double.received.map(({ type }) => type)).toEqual([
      'session.update',
      'response.create',
      'response.create',
      'session.update',
      'response.create',
    ]);
    expect(double.received[3]).toMatchObject({ session: { audio: { output: { voice: 'cedar', speed: 1.2 } } } });
    expect(double.received[2]).toMatchObject({
      response: { conversation: 'none', instructions: expect.stringMatching(/word for word.* Slowly\.$/) as string },
    });
    expect(double.connections).toBe(2);
  });
});

describe('rime', () => {
  it('writes languages in three letters, and settings into the address', async () => {
    const double = await open(new RimeDouble());
    const { speak } = speaking(rimeTts, double);
    await speak('Guten Tag.', { language: 'de', voiceId: 'lea', model: 'arcana', settings: { speedAlpha: 1.1 } });
    expect(Object.fromEntries(double.addresses[0]?.searchParams ?? [])).toEqual({
      speaker: 'lea',
      modelId: 'arcana',
      audioFormat: 'pcm',
      samplingRate: '24000',
      lang: 'ger',
      segment: 'bySentence',
      speedAlpha: '1.1',
    });
  });
});
