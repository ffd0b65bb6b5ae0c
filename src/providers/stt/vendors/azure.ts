import { randomUUID } from 'node:crypto';
import { HEARING_RATE_HZ } from '../../../audio/frame.js';
import { wavHeader } from '../../../audio/files/wav-format.js';
import { baseLanguage } from '../../../base/language.js';
import type { ParleyError } from '../../../base/errors.js';
import { type JsonObject, numberOf, objectsOf, parseObject, textOf } from '../../wire/json.js';
import { failed, refused } from '../../wire/vendor-error.js';
import type { SttOptions } from '../stt.js';
import type { SttDialect, VendorPiece, VendorWord } from '../shared/dialect.js';
import { favouredWords } from '../shared/keywords.js';
import { SocketSttProvider, type VendorSttOptions } from '../shared/socket-provider.js';
import { nowUnixMs } from '../../../base/real-clock.js';
import { socketUrl } from '../../wire/vendor-socket.js';

export interface AzureSttOptions extends VendorSttOptions {
  /** Such as `westeurope`; needed where there is no `baseUrl`. */
  region?: string | null;
}

/** Languages by their base. learn.microsoft.com/azure/ai-services/speech-service/language-support */
const LANGUAGES = new Set(
  (
    'af am ar as az bg bn bs ca cs cy da de el en es et eu fa fi fr ga gl gu he hi hr hu hy id is it ja jv ka kk km kn ' +
    'ko lo lt lv mk ml mn mr ms mt my ne nl no or pa pl ps pt ro ru si sk sl so sq sr su sv sw ta te th tr uk ur uz vi ' +
    'zh zu'
  ).split(' '),
);

/** Azure counts time in steps of 100 ns. */
const TICKS_PER_MS = 10_000;
const BYTES_PER_MS = (HEARING_RATE_HZ * 2) / 1000;

/** Errors by recognition status. A turn without words is not an error. */
const PROBLEMS: Readonly<Record<string, () => ParleyError>> = {
  Error: () => failed('azure', 'it could not recognise the speech'),
  TooManyRequests: () => failed('azure', 'too many requests; wait, or ask the vendor for a higher limit'),
  BadRequest: () => refused('azure', 'it rejects a parameter of the request; check the language and the endpoint'),
  Forbidden: () => refused('azure', 'the key or its quota does not allow the request; check both'),
};

/**
 * Azure AI Speech over the WebSocket protocol of Microsoft's SDKs, which is published as their source alone
 * (github.com/microsoft/cognitive-services-speech-sdk-js). Each stretch of speech that our VAD finds is one Azure turn:
 * an empty audio message ends it, and its phrases are final with `turn.end`.
 */
export function azureStt(options: AzureSttOptions): SocketSttProvider {
  const baseUrl = options.baseUrl ?? `https://${options.region ?? ''}.stt.speech.microsoft.com`;
  return new SocketSttProvider(
    {
      name: 'azure',
      abilities: { understands: (language) => LANGUAGES.has(baseLanguage(language)) },
      dialect: (stream) => azureDialect(stream, baseUrl, options.apiKey ?? ''),
    },
    options,
  );
}

/** Azure's locale for a language: `de` is `de-DE`. */
function localeOf(language: string): string {
  if (language === 'no' || language === 'nn') return 'nb-NO';
  if (language === 'es-419') return 'es-MX';
  if (language === 'ar') return 'ar-EG';
  const { language: base, region } = new Intl.Locale(language).maximize();
  return `${base}-${region ?? ''}`;
}

/** The `speech.context` message that begins each turn: phrases to favour and the output format. */
function speechContext(locale: string, hints: SttOptions['hints']): object {
  const items = favouredWords(hints, 500).map((text) => ({ text }));
  return {
    dgi: items.length > 0 ? { groups: [{ type: 'Generic', items }], bias: 1 } : undefined,
    phraseDetection: { language: locale, mode: 'CONVERSATION' },
    phraseOutput: {
      format: 'Detailed',
      detailed: { options: ['WordTimings'] },
      interimResults: { resultType: 'Auto' },
    },
  };
}

function azureDialect({ language, hints }: SttOptions, baseUrl: string, apiKey: string): SttDialect {
  const locale = localeOf(language);
  const query = new URLSearchParams({ language: locale, format: 'detailed', wordLevelTimestamps: 'true' });
  const context = speechContext(locale, hints);
  /** Where each turn began, in milliseconds of audio sent. */
  const turns = new Map<string, number>();
  let requestId: string | null = null;
  let sentMs = 0;
  let key = 0;
  return {
    address: {
      url: socketUrl(baseUrl, '/speech/recognition/conversation/cognitiveservices/v1', query),
      headers: { 'ocp-apim-subscription-key': apiKey, 'x-connectionid': newId() },
    },
    sampleRateHz: HEARING_RATE_HZ,
    chunkMs: 60,
    leadMs: 300,
    greeting: () => [
      textMessage('speech.config', newId(), {
        context: { system: { name: 'parley', version: '1' }, os: { platform: process.platform, name: 'Node.js' } },
      }),
    ],
    audio: (pcm) => {
      const startMs = sentMs;
      sentMs += pcm.length / BYTES_PER_MS;
      if (requestId !== null) return audioMessage(requestId, pcm);
      requestId = newId();
      turns.set(requestId, startMs);
      for (const old of [...turns.keys()].slice(0, -8)) turns.delete(old);
      const header = Buffer.from(wavHeader({ sampleRateHz: HEARING_RATE_HZ, channels: 1, encoding: 'pcm16' }, 0));
      return [
        textMessage('speech.context', requestId, context),
        audioMessage(requestId, header),
        audioMessage(requestId, pcm),
      ];
    },
    finalize: () => {
      if (requestId === null) return [];
      const last = audioMessage(requestId, Buffer.alloc(0));
      requestId = null;
      return [last];
    },
    read: (text, tell) => {
      const message = readMessage(text);
      if (message === null) return false;
      const { path, body } = message;
      const fromMs = turns.get(message.requestId) ?? 0;
      switch (path) {
        case 'speech.hypothesis':
        case 'speech.fragment': {
          const said = textOf(body['Text']);
          if (said === null) return false;
          tell.piece(key, { text: said, isFinal: false });
          return true;
        }
        case 'speech.phrase': {
          const status = textOf(body['RecognitionStatus']);
          const problem = PROBLEMS[status ?? ''];
          if (problem !== undefined) tell.failed(problem());
          const phrase = status === 'Success' ? readPhrase(body, fromMs) : null;
          if (phrase !== null) tell.piece(key++, phrase);
          return status !== null;
        }
        case 'turn.end':
          tell.finalized();
          return true;
        default:
          return /^(turn|speech|audio)\./.test(path);
      }
    },
  };
}

/** The best reading of a phrase; null where it has no text. */
function readPhrase(body: Readonly<Record<string, unknown>>, fromMs: number): VendorPiece | null {
  const best = objectsOf(body['NBest'])[0];
  const text = textOf(best?.['Display']) ?? textOf(body['DisplayText']);
  if (text === null) return null;
  const words = objectsOf(best?.['Words']).flatMap((word) => readWord(word, fromMs));
  return { text, isFinal: true, confidence: numberOf(best?.['Confidence']), words };
}

function readWord(word: Readonly<Record<string, unknown>>, fromMs: number): VendorWord[] {
  const text = textOf(word['Word']);
  const offset = numberOf(word['Offset']);
  const duration = numberOf(word['Duration']);
  if (text === null || offset === null || duration === null) return [];
  const startMs = fromMs + offset / TICKS_PER_MS;
  return [{ text, startMs, endMs: startMs + duration / TICKS_PER_MS, confidence: null }];
}

/** An id in Azure's format: a UUID without dashes. */
function newId(): string {
  return randomUUID().replaceAll('-', '');
}

/** The messages of Azure's speech sockets: headers like HTTP's, an empty line, a body. */
export interface AzureMessage {
  /** What it is about, in lower case. */
  path: string;
  requestId: string;
  body: JsonObject;
}

export function textMessage(path: string, requestId: string, body: object): string {
  return `${headersOf(path, requestId, 'application/json')}\r\n${JSON.stringify(body)}`;
}

/** The length of the headers in two bytes, the headers, and the audio. Empty audio = the end. */
export function audioMessage(requestId: string, audio: Buffer): Buffer {
  const headers = Buffer.from(headersOf('audio', requestId, audio.length === 0 ? null : 'audio/x-wav'), 'ascii');
  const length = Buffer.alloc(2);
  length.writeUInt16BE(headers.length);
  return Buffer.concat([length, headers, audio]);
}

/** Null = not a message. */
export function readMessage(text: string): AzureMessage | null {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return null;
  const headers = new Map<string, string>();
  for (const line of text.slice(0, end).split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  const path = headers.get('path');
  const rest = text.slice(end + 4).trim();
  const body = rest === '' ? {} : parseObject(rest);
  if (path === undefined || body === null) return null;
  return { path: path.toLowerCase(), requestId: headers.get('x-requestid') ?? '', body };
}

function headersOf(path: string, requestId: string, contentType: string | null): string {
  return (
    `Path: ${path}\r\nX-RequestId: ${requestId}\r\nX-Timestamp: ${new Date(nowUnixMs()).toISOString()}\r\n` +
    (contentType === null ? '' : `Content-Type: ${contentType}\r\n`)
  );
}
