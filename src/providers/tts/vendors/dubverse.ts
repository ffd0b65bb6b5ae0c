import type { VendorAccess } from '../../../settings/vendor-settings.js';
import { ParleyError } from '../../../base/errors.js';
import { HttpTts, type HttpTtsOptions, type SpeechEndpoint } from '../shared/http-tts.js';
import type { VendorVoiceSettings } from '../shared/vendor-voice-settings.js';

/**
 * Dubverse's text-to-speech endpoint, whose reply streams. Voices are speaker numbers. It gives no word times.
 * Source: docs.dubverse.ai/first-call, which does not specify the format of streamed audio: WAV and raw PCM are both
 * supported.
 */
export function dubverseTts({ apiKey, baseUrl }: VendorAccess, more: Partial<HttpTtsOptions> = {}): HttpTts {
  return new HttpTts({
    name: 'dubverse',
    endpoint: new DubverseEndpoint(),
    http: {
      baseUrl: baseUrl ?? 'https://audio.dubverse.ai',
      headers: { 'x-api-key': apiKey ?? '' },
      secrets: apiKey === null ? [] : [apiKey],
    },
    settings: { instructions: { type: 'text' } },
    voices: [{ id: DEFAULT_SPEAKER, name: `Speaker ${DEFAULT_SPEAKER}`, language: 'en', sampleRateHz: SAMPLE_RATE_HZ }],
    hasModels: false,
    ...more,
  });
}

/** Its default; other rates are for some speakers only. */
const SAMPLE_RATE_HZ = 22_050;
const DEFAULT_SPEAKER = '1182';

class DubverseEndpoint implements SpeechEndpoint {
  readonly sampleRateHz = SAMPLE_RATE_HZ;
  readonly warmUpPath = '/';

  checkVoice(voiceId: string): void {
    if (/^\d{1,9}$/.test(voiceId)) return;
    const known = 'speakers by their number, such as 1182';
    throw new ParleyError('TTS_VOICE_UNKNOWN', { provider: 'dubverse', voice: voiceId.slice(0, 100), known });
  }

  request(text: string, { voiceId, settings }: VendorVoiceSettings) {
    const config = { use_streaming_response: true, ...settings };
    return {
      path: '/api/tts',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text, speaker_no: Number(voiceId ?? DEFAULT_SPEAKER), config }),
    };
  }
}
