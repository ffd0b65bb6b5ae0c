import { randomUUID } from 'node:crypto';
import { nowUnixMs } from '../../../base/real-clock.js';
import type { VendorAccess } from '../../../settings/vendor-settings.js';
import { numberOf, objectOf, objectsOf, parseObject, textOf } from '../../wire/json.js';
import { socketUrl } from '../../wire/vendor-socket.js';
import type { VoiceListing } from '../shared/account-voices.js';
import { SocketTts, type SocketTtsOptions } from '../shared/socket-tts.js';
import type { SpeechEvent, TtsDialect } from '../shared/dialect.js';
import { withPhonemes } from '../text/spoken-words.js';
import type { TimedText } from '../text/word-aligner.js';
import type { VendorVoiceSettings } from '../shared/vendor-voice-settings.js';

const DEFAULT_VOICE = 'en-US-AvaMultilingualNeural';

/**
 * An utterance in Azure's markup. Source:
 * learn.microsoft.com/azure/ai-services/speech-service/speech-synthesis-markup-voice.
 */
export function ssmlOf(text: string, { voiceId, language, settings }: VendorVoiceSettings): string {
  const { rate, pitch, volume, style, styledegree } = settings;
  const prosody = [
    rate === undefined ? '' : ` rate="${String(rate)}"`,
    typeof pitch === 'number' ? ` pitch="${relative(pitch)}"` : '',
    volume === undefined ? '' : ` volume="${String(volume)}"`,
  ].join('');
  const degree = styledegree === undefined ? '' : ` styledegree="${String(styledegree)}"`;
  const words = withPhonemes(text, phoneme, escaped);
  const spoken = prosody === '' ? words : `<prosody${prosody}>${words}</prosody>`;
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

/** learn.microsoft.com/azure/ai-services/speech-service/speech-synthesis-markup-pronunciation */
function phoneme(word: string, ipa: string): string {
  return `<phoneme alphabet="ipa" ph="${escaped(ipa)}">${escaped(word)}</phoneme>`;
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

/**
 * Azure AI Speech over the WebSocket of Microsoft's own SDKs, which gives word times; the REST endpoint does not. One
 * utterance at a time per connection, with any voice.
 * Source: the published source of microsoft-cognitiveservices-speech-sdk 1.52.0 (common.speech/SynthesisAdapterBase,
 * SpeechSynthesisConnectionFactory, WebsocketMessageFormatter).
 */
export function azureTts(access: VendorAccess, options: Partial<SocketTtsOptions> = {}): SocketTts {
  return new SocketTts({
    name: 'azure',
    protocol: new AzureProtocol(access),
    settings: {
      rate: { type: 'number', least: 0.5, most: 2 },
      pitch: { type: 'number', least: 0.5, most: 1.5 },
      volume: { type: 'number', least: 0, most: 100 },
      style: { type: 'text' },
      styledegree: { type: 'number', least: 0.01, most: 2 },
    },
    wordTimes: true,
    secrets: access.apiKey === null ? [] : [access.apiKey],
    voices: ['Ava', 'Andrew', 'Emma', 'Brian'].map((name) => ({
      id: `en-US-${name}MultilingualNeural`,
      name: `${name}, multilingual`,
      language: 'en-US',
      sampleRateHz: SAMPLE_RATE_HZ,
    })),
    listing: listing(access),
    // The voice is all.
    hasModels: false,
    ...options,
  });
}

/** learn.microsoft.com/azure/ai-services/speech-service/rest-text-to-speech#get-a-list-of-voices */
function listing(access: VendorAccess): VoiceListing {
  const { apiKey } = access;
  return {
    http: {
      baseUrl: baseUrlOf(access),
      headers: { 'ocp-apim-subscription-key': apiKey ?? '' },
      secrets: apiKey === null ? [] : [apiKey],
    },
    path: '/cognitiveservices/voices/list',
    read: (page) => ({
      voices: objectsOf(page).map(({ ShortName, DisplayName, Locale }) => {
        const id = textOf(ShortName) ?? '';
        return { id, name: textOf(DisplayName) ?? id, language: textOf(Locale) };
      }),
    }),
  };
}

function baseUrlOf({ baseUrl, region }: VendorAccess): string {
  return baseUrl ?? `https://${region ?? ''}.tts.speech.microsoft.com`;
}

const SAMPLE_RATE_HZ = 24_000;
/** Offsets and lengths are counted in units of 100 ns. */
const TICKS_PER_MS = 10_000;

class AzureProtocol implements TtsDialect {
  readonly sampleRateHz = SAMPLE_RATE_HZ;
  readonly concurrent = 1;
  /** Azure cannot cancel: the rest of the utterance arrives and is dropped. */
  readonly cancelEnds = 'done';
  readonly #baseUrl: string;
  readonly #apiKey: string;

  constructor(access: VendorAccess) {
    this.#baseUrl = baseUrlOf(access);
    this.#apiKey = access.apiKey ?? '';
  }

  address(): string {
    return socketUrl(this.#baseUrl, '/tts/cognitiveservices/websocket/v1');
  }

  headers(): Record<string, string> {
    return { 'ocp-apim-subscription-key': this.#apiKey, 'x-connectionid': newId() };
  }

  takesPhonemes(): boolean {
    return true;
  }

  hello(): string[] {
    const context = { system: { name: 'parley', version: '0.1.0', build: 'node', lang: 'TypeScript' } };
    return [messageOf('speech.config', newId(), 'application/json', JSON.stringify({ context }))];
  }

  begin(_id: string, text: string, voice: VendorVoiceSettings): string[] {
    const id = newId();
    const metadataOptions = {
      wordBoundaryEnabled: true,
      punctuationBoundaryEnabled: false,
      sentenceBoundaryEnabled: false,
      bookmarkEnabled: false,
      visemeEnabled: false,
      sessionEndEnabled: true,
    };
    const audio = { metadataOptions, outputFormat: 'raw-24khz-16bit-mono-pcm' };
    const synthesis = { audio, language: { autoDetection: false } };
    return [
      messageOf('synthesis.context', id, 'application/json', JSON.stringify({ synthesis })),
      messageOf('ssml', id, 'application/ssml+xml', ssmlOf(text, voice)),
    ];
  }

  cancel(): string[] {
    return [];
  }

  read(message: string): SpeechEvent[] {
    const end = message.indexOf('\r\n\r\n');
    const path = pathOf(end < 0 ? message : message.slice(0, end));
    if (path === null) throw new Error('it has no path');
    if (path === 'turn.end') return [{ type: 'done' }];
    if (path !== 'audio.metadata') return [];
    const data = parseObject(message.slice(end + 4));
    if (data === null) throw new Error('its metadata is not a JSON object');
    const words = objectsOf(data['Metadata']).flatMap(wordOf);
    return words.length === 0 ? [] : [{ type: 'words', words }];
  }

  /** Two bytes with the length of the headers, the headers, the audio. */
  readBinary(data: Buffer): SpeechEvent[] {
    const length = data.length < 2 ? 0 : data.readUInt16BE(0);
    if (length === 0 || data.length < length + 2) throw new Error('its binary headers are missing');
    const path = pathOf(data.toString('latin1', 2, 2 + length));
    return path === 'audio' ? [{ type: 'audio', bytes: data.subarray(2 + length) }] : [];
  }
}

function wordOf(metadata: Readonly<Record<string, unknown>>): TimedText[] {
  const data = objectOf(metadata['Data']);
  const text = textOf(objectOf(data?.['text'])?.['Text']);
  const [offset, duration] = [numberOf(data?.['Offset']), numberOf(data?.['Duration'])];
  if (metadata['Type'] !== 'WordBoundary' || text === null || offset === null || duration === null) return [];
  return [{ text, startMs: offset / TICKS_PER_MS, endMs: (offset + duration) / TICKS_PER_MS }];
}

function messageOf(path: string, requestId: string, contentType: string, body: string): string {
  const headers = {
    Path: path,
    'X-RequestId': requestId,
    'X-Timestamp': new Date(nowUnixMs()).toISOString(),
    'Content-Type': contentType,
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${lines.join('')}\r\n${body}`;
}

function pathOf(headers: string): string | null {
  return /^path:\s*(\S+)\s*$/im.exec(headers)?.[1]?.toLowerCase() ?? null;
}

/** 32 hexadecimal digits. */
function newId(): string {
  return randomUUID().replaceAll('-', '');
}
