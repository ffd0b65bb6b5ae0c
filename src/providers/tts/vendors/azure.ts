import type { VendorAccess } from '../../../config/vendor-settings.js';
import { HttpTts, type HttpTtsOptions, type SpeechEndpoint } from '../http-tts.js';
import type { VendorVoiceSettings } from '../vendor-voice.js';

/**
 * Azure AI Speech over its REST endpoint, whose reply streams. It tells no times of words: the WebSocket that does is
 * published as the source of Microsoft's SDKs alone.
 * Source: learn.microsoft.com/azure/ai-services/speech-service/rest-text-to-speech and …/speech-synthesis-markup-voice.
 */
export function azureTts({ apiKey, baseUrl, region }: VendorAccess, more: Partial<HttpTtsOptions> = {}): HttpTts {
  return new HttpTts({
    name: 'azure',
    endpoint: new AzureEndpoint(),
    http: {
      baseUrl: baseUrl ?? `https://${region ?? ''}.tts.speech.microsoft.com`,
      headers: { 'ocp-apim-subscription-key': apiKey ?? '' },
      secrets: apiKey === null ? [] : [apiKey],
    },
    settings: {
      rate: { type: 'number', least: 0.5, most: 2 },
      pitch: { type: 'number', least: 0.5, most: 1.5 },
      volume: { type: 'number', least: 0, most: 100 },
      style: { type: 'text' },
      styledegree: { type: 'number', least: 0.01, most: 2 },
    },
    voices: ['Ava', 'Andrew', 'Emma', 'Brian'].map((name) => ({
      ...{ id: `en-US-${name}MultilingualNeural`, name: `${name}, multilingual` },
      ...{ language: 'en-US', sampleRateHz: SAMPLE_RATE_HZ },
    })),
    // The voice is all.
    hasModels: false,
    ...more,
  });
}

const SAMPLE_RATE_HZ = 24_000;
const DEFAULT_VOICE = 'en-US-AvaMultilingualNeural';

class AzureEndpoint implements SpeechEndpoint {
  readonly sampleRateHz = SAMPLE_RATE_HZ;
  /** Not to be read, but whoever asks has a connection. */
  readonly warmUpPath = '/cognitiveservices/v1';

  request(text: string, voice: VendorVoiceSettings) {
    return {
      path: '/cognitiveservices/v1',
      headers: {
        'content-type': 'application/ssml+xml',
        'x-microsoft-outputformat': 'raw-24khz-16bit-mono-pcm',
      },
      body: ssmlOf(text, voice),
    };
  }
}

function ssmlOf(text: string, { voiceId, language, settings }: VendorVoiceSettings): string {
  const { rate, pitch, volume, style, styledegree } = settings;
  const prosody = [
    rate === undefined ? '' : ` rate="${String(rate)}"`,
    typeof pitch === 'number' ? ` pitch="${relative(pitch)}"` : '',
    volume === undefined ? '' : ` volume="${String(volume)}"`,
  ].join('');
  const degree = styledegree === undefined ? '' : ` styledegree="${String(styledegree)}"`;
  const spoken = prosody === '' ? escaped(text) : `<prosody${prosody}>${escaped(text)}</prosody>`;
  const styled =
    style === undefined
      ? spoken
      : `<mstts:express-as style="${escaped(String(style))}"${degree}>${spoken}</mstts:express-as>`;
  return (
    '<speak version="1.0" xmlns="http://www.w3.org/2001/10/synthesis" xmlns:mstts="https://www.w3.org/2001/mstts" ' +
    `xml:lang="${language === 'multi' ? 'en-US' : language}">` +
    `<voice name="${escaped(voiceId ?? DEFAULT_VOICE)}">${styled}</voice></speak>`
  );
}

/** 1.1 is `+10%`. */
function relative(factor: number): string {
  const percent = Math.round((factor - 1) * 100);
  return `${percent < 0 ? '' : '+'}${String(percent)}%`;
}

function escaped(text: string): string {
  const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replace(/[&<>"]/g, (character) => entities[character] ?? '');
}
