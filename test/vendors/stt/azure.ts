/**
 * Azure AI Speech's recognition socket, from the source of microsoft-cognitiveservices-speech-sdk 1.52.0
 * (28 September 2026; distrib/lib/src/common.speech; read on 2026-11-22), which is where Microsoft publishes the protocol.
 * Given a host, it takes this path for continuous recognition by itself; a second version of the endpoint, universal/v2, is
 * there on request.
 */
import type { DoubleConversation, DoubleLine, DoubleProtocol } from './socket-double.js';
import { Ear } from './spoken-words.js';

const PATH = '/speech/recognition/conversation/cognitiveservices/v1';
const TICKS_PER_MS = 10_000;
/** Silence that ends a phrase. */
const PHRASE_MS = 600;

interface Context {
  phraseDetection?: { language?: string };
  dgi?: { groups?: { items?: { text: string }[] }[] };
}

export function azureDouble(key: string): DoubleProtocol {
  return {
    refuses: ({ path, query, headers }) => {
      const given = String(headers['ocp-apim-subscription-key']);
      if (given !== key) return [401, `Access denied due to invalid subscription key ${given}`];
      if (path !== PATH) return [404, 'no such path'];
      if (!/^[a-z]{2,3}-[A-Z]{2}$/.test(query.get('language') ?? '')) return [400, 'language'];
      return query.get('format') === 'detailed' ? null : [400, 'format'];
    },
    converse: (line) => new Recognition(line),
  };
}

/** A turn is a request: a context, audio with a WAVE header, an empty piece of audio. */
class Recognition implements DoubleConversation {
  readonly #line: DoubleLine;
  #requestId = '';
  #isSet = false;
  #ear = new Ear();
  #hasHeader = false;
  #given = 0;
  #reported = 0;

  constructor(line: DoubleLine) {
    this.#line = line;
  }

  text(text: string): void {
    const [headers, body] = this.#read(text);
    const path = headers.get('path') ?? '';
    if (path === 'speech.config') this.#isSet = true;
    else if (path === 'speech.context') this.#begin(headers.get('x-requestid') ?? '', JSON.parse(body) as Context);
    else if (path !== 'telemetry') this.#line.violation(`unknown message ${path}`);
  }

  binary(data: Buffer): void {
    const length = data.readUInt16BE(0);
    const [headers] = this.#read(`${data.subarray(2, 2 + length).toString('ascii')}\r\n`);
    const audio = data.subarray(2 + length);
    if (headers.get('path') !== 'audio') this.#line.violation(`unknown message ${headers.get('path') ?? ''}`);
    if (headers.get('x-requestid') !== this.#requestId) this.#line.violation('audio of another turn');
    if (audio.length === 0) this.#end();
    else if (!this.#hasHeader) this.#header(audio);
    else this.#hear(audio);
  }

  #begin(requestId: string, context: Context): void {
    if (!this.#isSet) this.#line.violation('speech.context before speech.config');
    if (!/^[0-9A-Fa-f]{32}$/.test(requestId)) this.#line.violation(`X-RequestId ${requestId}`);
    this.#requestId = requestId;
    this.#ear = new Ear();
    this.#hasHeader = false;
    this.#given = 0;
    this.#reported = 0;
    const { language } = context.phraseDetection ?? {};
    if (language !== this.#line.request.query.get('language')) this.#line.violation(`language ${language ?? ''}`);
    this.#line.asked({
      model: 'none',
      language: this.#line.request.query.get('language'),
      keywords: (context.dgi?.groups ?? []).flatMap(({ items }) => (items ?? []).map(({ text }) => text)),
    });
    this.#say('turn.start', { context: { serviceTag: 's' } });
  }

  #header(audio: Buffer): void {
    this.#hasHeader = true;
    if (audio.toString('ascii', 0, 4) !== 'RIFF' || audio.readUInt32LE(24) !== 16_000) this.#line.violation('no WAVE');
    if (audio.length > 44) this.#hear(audio.subarray(44));
  }

  #hear(audio: Buffer): void {
    this.#ear.hear(audio);
    const words = this.#ear.words.slice(this.#given);
    if (words.length > this.#reported) {
      this.#reported = words.length;
      this.#say('speech.hypothesis', {
        Text: words.map(({ text }) => text).join(' '),
        Offset: (words[0]?.startMs ?? 0) * TICKS_PER_MS,
        Duration: 1,
      });
    }
    if (words.length > 0 && this.#ear.quietMs >= PHRASE_MS) this.#phrase();
  }

  #phrase(): void {
    const words = this.#ear.words.slice(this.#given);
    this.#given = this.#ear.words.length;
    this.#reported = 0;
    const text = words.map((word) => word.text).join(' ');
    const [first, last] = [words[0]?.startMs ?? 0, words.at(-1)?.endMs ?? 0];
    this.#say('speech.phrase', {
      RecognitionStatus: 'Success',
      Offset: first * TICKS_PER_MS,
      Duration: (last - first) * TICKS_PER_MS,
      NBest: [
        {
          Confidence: 0.9,
          Lexical: text,
          ITN: text,
          MaskedITN: text,
          Display: `${text}.`,
          Words: words.map(({ text: Word, startMs, endMs }) => ({
            Word,
            Offset: startMs * TICKS_PER_MS,
            Duration: (endMs - startMs) * TICKS_PER_MS,
          })),
        },
      ],
    });
  }

  #end(): void {
    if (this.#ear.words.length > this.#given) this.#phrase();
    else if (this.#given === 0)
      this.#say('speech.phrase', { RecognitionStatus: 'InitialSilenceTimeout', Offset: 0, Duration: 0 });
    this.#say('turn.end', {});
  }

  #read(text: string): [headers: Map<string, string>, body: string] {
    const end = text.indexOf('\r\n\r\n');
    if (end < 0) this.#line.violation(`no headers: ${text.slice(0, 100)}`);
    const headers = new Map(
      text
        .slice(0, end)
        .split('\r\n')
        .map((line): [string, string] => {
          const colon = line.indexOf(':');
          return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
        }),
    );
    if (Number.isNaN(Date.parse(headers.get('x-timestamp') ?? ''))) this.#line.violation('X-Timestamp');
    return [headers, text.slice(end + 4)];
  }

  #say(path: string, body: object): void {
    this.#line.text(
      `X-RequestId:${this.#requestId}\r\nContent-Type:application/json; charset=utf-8\r\nPath:${path}\r\n\r\n${JSON.stringify(body)}`,
    );
  }
}
