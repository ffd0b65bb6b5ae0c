import type { IncomingMessage, ServerResponse } from 'node:http';
import { Parser } from 'htmlparser2';
import { HttpSpeechDouble } from './http-speech.js';
import { KEY } from './speech-double.js';

/**
 * Azure AI Speech's REST endpoint, strict about what it is sent. Written from
 * learn.microsoft.com/azure/ai-services/speech-service/rest-text-to-speech and
 * learn.microsoft.com/azure/ai-services/speech-service/speech-synthesis-markup-voice (read 2026-11-21).
 */
const ELEMENTS: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  speak: {
    version: /^1\.0$/,
    xmlns: /^http:\/\/www\.w3\.org\/2001\/10\/synthesis$/,
    'xmlns:mstts': /^https:\/\/www\.w3\.org\/2001\/mstts$/,
    'xml:lang': /^[a-z]{2,3}(-[A-Za-z]+)*$/,
  },
  voice: { name: /^[a-z]{2}-[A-Z]{2}-\w+$/ },
  prosody: { rate: /^[0-2](\.\d+)?$/, pitch: /^[+-]\d+%$/, volume: /^\d+(\.\d+)?$/ },
  'mstts:express-as': { style: /^[a-z-]+$/, styledegree: /^[\d.]+$/ },
};

export class AzureDouble extends HttpSpeechDouble {
  protected override onHttp({ method, url, headers }: IncomingMessage, body: string, response: ServerResponse): void {
    if (headers['ocp-apim-subscription-key'] !== KEY) this.refuse(response, 401, 'Access denied');
    else if (url !== '/cognitiveservices/v1') this.refuse(response, 404, 'Resource not found');
    else if (method !== 'POST') this.refuse(response, 405, '');
    else {
      const wrong = [
        headers['content-type'] === 'application/ssml+xml' ? '' : 'content-type',
        headers['x-microsoft-outputformat'] === 'raw-24khz-16bit-mono-pcm' ? '' : 'x-microsoft-outputformat',
        headers['user-agent'] === undefined ? 'user-agent' : '',
      ].join('');
      const { text, fault } = readSsml(body);
      this.requests.push({ headers, body });
      if (wrong === '' && fault === null) this.answer(response, text, 24_000, 'pcm');
      else {
        this.violation(`${wrong} ${fault ?? ''} in ${body.slice(0, 300)}`);
        this.refuse(response, 400, '');
      }
    }
  }
}

/** The text of a document, and what is wrong with it. */
function readSsml(ssml: string): { text: string; fault: string | null } {
  const path: string[] = [];
  let text = '';
  let fault: string | null = null;
  const parser = new Parser(
    {
      onopentag: (name, attributes) => {
        const known = ELEMENTS[name];
        for (const [key, value] of Object.entries(attributes)) {
          if (known?.[key]?.test(value) !== true) fault ??= `${name} ${key}=${value}`;
        }
        if (known === undefined) fault ??= `element ${name}`;
        path.push(name);
      },
      ontext: (piece) => (text += piece),
      onclosetag: (name) => {
        if (path.pop() !== name) fault ??= `end of ${name}`;
      },
    },
    { xmlMode: true, decodeEntities: true },
  );
  parser.end(ssml);
  if (!ssml.startsWith('<speak version="1.0"') || !ssml.includes('<voice name=')) fault ??= 'no speak with a voice';
  return { text, fault };
}
