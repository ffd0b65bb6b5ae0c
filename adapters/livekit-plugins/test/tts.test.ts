import { TTS as CartesiaTts } from '@livekit/agents-plugin-cartesia';
import { TTS as DeepgramTts } from '@livekit/agents-plugin-deepgram';
import { TTS as ElevenLabsTts } from '@livekit/agents-plugin-elevenlabs';
import { RealClock, type TtsAudio, type TtsRequest } from '@parley-voice/parley';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CartesiaDouble } from '../../../test/vendors/tts/cartesia.js';
import { DeepgramDouble } from '../../../test/vendors/tts/deepgram.js';
import { ElevenLabsDouble } from '../../../test/vendors/tts/elevenlabs.js';
import { madeSpeech } from '../../../test/vendors/tts/made-speech.js';
import { KEY, type SpeechDouble } from '../../../test/vendors/tts/speech-double.js';
import { LiveKitTts, type LiveKitTtsOptions } from '../src/index.js';

const TEXT = 'A table for two, tonight at eight.';

const CASES = [
  {
    name: '@livekit/agents-plugin-cartesia',
    open: () => new CartesiaDouble(),
    make:
      (baseUrl: string, apiKey: string): LiveKitTtsOptions['tts'] =>
      ({ voiceId }) =>
        new CartesiaTts({ apiKey, baseUrl, model: 'sonic-3', ...(voiceId !== null && { voice: voiceId }) }),
    keepsConnections: true,
    refusal: { code: 'PROVIDER_REFUSED', retryable: false, details: { status: 401 } },
  },
  {
    name: '@livekit/agents-plugin-deepgram',
    open: () => new DeepgramDouble(),
    make:
      (baseUrl: string, apiKey: string): LiveKitTtsOptions['tts'] =>
      ({ voiceId }) =>
        new DeepgramTts({ apiKey, baseUrl, ...(voiceId !== null && { model: voiceId }) }),
    keepsConnections: false,
    refusal: { code: 'PROVIDER_REFUSED', retryable: false, details: { status: 401 } },
  },
  {
    name: '@livekit/agents-plugin-elevenlabs',
    open: () => new ElevenLabsDouble(),
    make:
      (url: string, apiKey: string): LiveKitTtsOptions['tts'] =>
      ({ voiceId }) =>
        new ElevenLabsTts({ apiKey, baseURL: `${url}/v1`, ...(voiceId !== null && { voiceId }) }),
    keepsConnections: true,
    // The plug-in keeps the reason to itself.
    refusal: { code: 'PROVIDER_FAILED' },
  },
];

function request(changes: Partial<TtsRequest> = {}): TtsRequest {
  return {
    text: TEXT,
    language: 'en-US',
    voiceId: null,
    model: null,
    settings: {},
    clock: new RealClock(),
    signal: new AbortController().signal,
    ...changes,
  };
}

async function collect(audio: AsyncIterable<TtsAudio>): Promise<TtsAudio[]> {
  const all: TtsAudio[] = [];
  for await (const piece of audio) all.push(piece);
  return all;
}

describe.each(CASES)('$name', ({ open, make, keepsConnections, refusal }) => {
  let double: SpeechDouble;
  let tts: LiveKitTts;

  beforeEach(async () => {
    double = await open().open();
    tts = new LiveKitTts({ tts: make(double.url, KEY), secrets: [KEY], firstAudioMs: 1500, gapMs: 1500 });
  });

  afterEach(async () => {
    await tts.close();
    await tts.close();
    await double.close();
  });

  it('speaks the text, without silence around it, and gives each word once', async () => {
    const all = await collect(tts.synthesize(request()));
    const rateHz = all[0]!.sampleRateHz;
    const ms = (all.reduce((sum, { samples }) => sum + samples.length, 0) / rateHz) * 1000;
    const { letters } = madeSpeech(TEXT, rateHz);
    const spokenMs = letters.at(-1)!.endMs - letters[0]!.startMs;
    expect(Math.abs(ms - spokenMs)).toBeLessThan(60);
    expect(all.flatMap(({ words = [] }) => words.map(({ text }) => text)).join(' ')).toBe(TEXT);
    expect(double.spoken.join(' ').trim()).toBe(TEXT);
    expect(double.violations).toEqual([]);
  });

  it('speaks one after another and several at once', async () => {
    await collect(tts.synthesize(request()));
    const before = double.connections;
    await collect(tts.synthesize(request({ text: 'Thank you.' })));
    expect(double.connections - before).toBe(keepsConnections ? 0 : 1);
    const both = await Promise.all(
      ['Yes, we have.', 'No, we have none.'].map((text) => collect(tts.synthesize(request({ text })))),
    );
    expect(both.map((all) => all.flatMap(({ words = [] }) => words.map(({ text }) => text)).join(' '))).toEqual([
      'Yes, we have.',
      'No, we have none.',
    ]);
    expect(double.violations).toEqual([]);
  });

  it('ends at once when it is aborted, and speaks again', async () => {
    double.faults = { stopAfter: 'stall', pieces: 6 };
    const controller = new AbortController();
    const audio = tts.synthesize(request({ signal: controller.signal }));
    await audio.next();
    const next = audio.next();
    controller.abort(new Error('interrupted'));
    await expect(next).rejects.toThrow('interrupted');
    double.faults = {};
    expect((await collect(tts.synthesize(request()))).length).toBeGreaterThan(0);
  });

  it('fails in time where nothing comes, and where it stops in the middle', async () => {
    double.faults = { stall: true };
    await expect(collect(tts.synthesize(request()))).rejects.toMatchObject({ code: 'PROVIDER_TIMEOUT' });
    double.faults = { stopAfter: 'stall' };
    await expect(collect(tts.synthesize(request()))).rejects.toMatchObject({ code: 'PROVIDER_TIMEOUT' });
  });

  it('names a refused key, without it', async () => {
    double.faults = { refuse: 401 };
    const error: unknown = await collect(tts.synthesize(request())).catch((reason: unknown) => reason);
    expect(error).toMatchObject(refusal);
    expect(JSON.stringify([(error as Error).message, error])).not.toContain(KEY);
  });

  it('fails, worth another try, where the connection breaks', async () => {
    double.faults = { stopAfter: 'drop' };
    await expect(collect(tts.synthesize(request()))).rejects.toMatchObject({
      code: 'PROVIDER_FAILED',
      retryable: true,
    });
  });
});
