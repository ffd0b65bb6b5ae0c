import type { IncomingMessage } from 'node:http';
import { Parser } from 'htmlparser2';
import type { WebSocket } from 'ws';
import * as z from 'zod';
import { cutAnywhere, madeSpeech } from './made-speech.js';
import { KEY, SpeechDouble } from './speech-double.js';
import { azureVoices } from './voice-lists.js';

/**
 * Azure AI Speech's WebSocket for voices, strict about what it is sent. Written from the published source of
 * microsoft-cognitiveservices-speech-sdk 1.52.0 (common.speech/SynthesisAdapterBase, SynthesisContext,
 * WebsocketMessageFormatter; read 2026-11-21) and, for the markup,
 * learn.microsoft.com/azure/ai-services/speech-service/speech-synthesis-markup-voice. `test/vendors/sdk` drives it by that
 * SDK.
 */
const ELEMENTS: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  speak: {
    version: /^1\.0$/,
    xmlns: /^http:\/\/www\.w3\.org\/2001\/10\/synthesis$/,
    'xmlns:mstts': /^https?:\/\/www\.w3\.org\/2001\/mstts$/,
    'xmlns:emo': /^http:/,
    'xml:lang': /^[a-z]{2,3}(-[A-Za-z]+)*$/,
  },
  voice: { name: /^[a-z]{2}-[A-Z]{2}-\w+$/ },
  phoneme: { alphabet: /^ipa$/, ph: /^[\p{L}\p{M}ˈˌː.]+$/u },
  prosody: { rate: /^[0-2](\.\d+)?$/, pitch: /^[+-]\d+%$/, volume: /^\d+(\.\d+)?$/ },
  'mstts:express-as': { style: /^[a-z-]+$/, styledegree: /^[\d.]+$/ },
};

const contextSchema = z.strictObject({
  synthesis: z.strictObject({
    audio: z.strictObject({
      metadataOptions: z.record(z.string(), z.union([z.boolean(), z.stringbool()])),
      outputFormat: z.enum(['raw-24khz-16bit-mono-pcm', 'raw-16khz-16bit-mono-pcm']),
    }),
    language: z.strictObject({ autoDetection: z.boolean() }),
    input: z.unknown().exactOptional(),
  }),
});
const TICKS_PER_MS = 10_000;

export class AzureDouble extends SpeechDouble {
  override readonly voiceList = azureVoices;
  /** Documents that were to be spoken. */
  readonly documents: string[] = [];
  #dead = 0;

  protected override connectProblem({ url = '', headers }: IncomingMessage) {
    const { pathname } = new URL(url, 'http://double');
    if (headers['ocp-apim-subscription-key'] !== KEY) return { status: 401, reason: 'Access denied' };
    if (pathname !== '/tts/cognitiveservices/websocket/v1') return { status: 404, reason: 'not found' };
    const isId = /^[0-9a-f]{32}$/i.test(String(headers['x-connectionid']));
    return isId ? null : { status: 400, reason: 'X-ConnectionId' };
  }

  protected override onLine(line: WebSocket): void {
    let isConfigured = false;
    let context: z.infer<typeof contextSchema> | null = null;
    let stop: (() => void) | null = null;
    line.on('close', () => stop?.());
    line.on('message', (data: Buffer, isBinary: boolean) => {
      const { path, id, type, body } = readMessage(data.toString('utf8'));
      if (isBinary || !/^[0-9a-f]{32}$/i.test(id)) this.violation(`X-RequestId ${id} of ${path}`);
      if (path === 'speech.config' && type.startsWith('application/json')) {
        isConfigured = z
          .looseObject({ context: z.looseObject({ system: z.looseObject({}) }) })
          .safeParse(JSON.parse(body)).success;
        if (!isConfigured) this.violation(`speech.config ${body}`);
      } else if (path === 'synthesis.context' && type.startsWith('application/json')) {
        const parsed = contextSchema.safeParse(JSON.parse(body));
        context = parsed.data ?? null;
        if (!parsed.success) this.violation(`synthesis.context ${body}: ${parsed.error.message}`);
      } else if (path === 'ssml' && type.startsWith('application/ssml+xml')) {
        if (!isConfigured || context === null) this.violation('ssml before speech.config and synthesis.context');
        if (stop !== null) this.violation('two utterances at once');
        const { text, fault } = readSsml(body);
        this.documents.push(body);
        if (fault === null && context !== null) {
          stop = this.#speak(line, id, text, context, () => (stop = null));
          return;
        }
        this.violation(`${fault ?? ''} in ${body.slice(0, 300)}`);
        line.close(1007, 'Ssml should have at least one voice');
      } else this.violation(`${path} of ${type}`);
    });
  }

  #speak(
    line: WebSocket,
    id: string,
    text: string,
    { synthesis: { audio } }: z.infer<typeof contextSchema>,
    ended: () => void,
  ): () => void {
    this.spoken.push(text);
    this.changed();
    if (this.#dead < (this.faults.deadConnections ?? 0)) {
      this.#dead++;
      line.terminate();
      return () => undefined;
    }
    const streamId = 'A'.repeat(32);
    const say = (path: string, body: object): void => {
      const headers = `X-RequestId:${id}\r\nContent-Type:application/json; charset=utf-8\r\nPath:${path}\r\n\r\n`;
      if (line.readyState === line.OPEN) line.send(headers + JSON.stringify(body));
    };
    const play = (piece: Buffer): void => {
      const headers = Buffer.from(`X-RequestId:${id}\r\nX-StreamId:${streamId}\r\nPath:audio\r\n`);
      const length = Buffer.alloc(2);
      length.writeUInt16BE(headers.length);
      if (line.readyState === line.OPEN) line.send(Buffer.concat([length, headers, piece]));
    };
    const rateHz = audio.outputFormat.includes('24khz') ? 24_000 : 16_000;
    const { bytes, words } = madeSpeech(text, rateHz);
    const pieces = cutAnywhere(bytes).map((piece) => () => play(piece));
    const times = words.map(
      (word) => () =>
        say('audio.metadata', {
          Metadata: [
            {
              Type: 'WordBoundary',
              Data: {
                Offset: Math.round(word.startMs * TICKS_PER_MS),
                Duration: Math.round((word.endMs - word.startMs) * TICKS_PER_MS),
                text: {
                  Text: word.text.replace(/[.,?!]$/, ''),
                  Length: word.text.length,
                  BoundaryType: 'WordBoundary',
                },
              },
            },
          ],
        }),
    );
    say('turn.start', { context: { serviceTag: 'a' } });
    say('response', { context: { serviceTag: 'a' }, audio: { type: 'inline', streamId } });
    const wantsWords = audio.metadataOptions['wordBoundaryEnabled'] === true;
    return this.pour(
      wantsWords ? [...times.slice(0, 1), ...pieces.slice(0, 2), ...times.slice(1), ...pieces.slice(2)] : pieces,
      {
        send: (step) => step(),
        drop: () => line.terminate(),
        error: () => line.close(1011, `Internal server error with ${KEY}`),
        garbage: () => line.send(Buffer.of(9)),
      },
      () => {
        ended();
        say('turn.end', {});
      },
    );
  }
}

/** A text message: headers, an empty line, the body. */
function readMessage(message: string): { path: string; id: string; type: string; body: string } {
  const end = message.indexOf('\r\n\r\n');
  const headers = new Map(
    message
      .slice(0, Math.max(0, end))
      .split('\r\n')
      .map((header) => {
        const colon = header.indexOf(':');
        return [header.slice(0, colon).trim().toLowerCase(), header.slice(colon + 1).trim()] as const;
      }),
  );
  return {
    path: headers.get('path')?.toLowerCase() ?? '',
    id: headers.get('x-requestid') ?? '',
    type: headers.get('content-type') ?? '',
    body: message.slice(end + 4),
  };
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
  if (!/^<speak version=["']1\.0["']/.test(ssml) || !ssml.includes('<voice name=')) fault ??= 'no speak with a voice';
  return { text, fault };
}
