/**
 * AssemblyAI's Universal-Streaming v3, from https://www.assemblyai.com/docs/streaming/message-sequence and
 * https://assemblyai.com/docs/api-reference/streaming-api/streaming-api (read on 2026-11-21),
 * https://assemblyai.com/docs/streaming/universal-3-pro/u3-pro-message-sequence (2026-11-22) and the types of the
 * package assemblyai 4.41.5.
 */
import { type DoubleConversation, type DoubleLine, type DoubleProtocol, typed, unknownIn } from './socket-double.js';
import { Ear } from './spoken-words.js';

const PARAMETERS = 'speech_model sample_rate encoding format_turns keyterms_prompt token continuous_partials'.split(
  ' ',
);

export function assemblyAiDouble(key: string): DoubleProtocol {
  return {
    refuses: ({ path, query, headers }) => {
      if (path !== '/v3/ws') return [404, '{"error":"no such path"}'];
      if (headers.authorization !== key) return [401, `{"error":"Not authorized: ${headers.authorization ?? ''}"}`];
      const strange = unknownIn(query, PARAMETERS);
      if (strange !== null) return [400, JSON.stringify({ error: strange })];
      const model = query.get('speech_model') ?? '';
      if (!/^(universal-|u3-)/.test(model)) return [400, '{"error":"speech_model is required"}'];
      if (isPro(model) === query.has('format_turns') || isPro(model) !== query.has('continuous_partials'))
        return [400, '{"error":"format_turns is for Universal-Streaming, continuous_partials for Universal-3"}'];
      return query.get('encoding') === 'pcm_s16le' ? null : [400, '{"error":"encoding"}'];
    },
    converse: (line) => {
      const { query } = line.request;
      line.asked({
        model: query.get('speech_model') ?? '',
        language: null,
        keywords: JSON.parse(query.get('keyterms_prompt') ?? '[]') as string[],
      });
      return new Streaming(line);
    },
  };
}

/** Universal-3, which punctuates at once. */
function isPro(model: string): boolean {
  return /^(u3|universal-3)/.test(model);
}

class Streaming implements DoubleConversation {
  readonly #line: DoubleLine;
  readonly #ear = new Ear();
  #turn = 0;
  #fromMs = 0;
  #reported = '';

  constructor(line: DoubleLine) {
    this.#line = line;
    line.say({ type: 'Begin', id: 'b', expires_at: 4_000_000_000 });
  }

  binary(data: Buffer): void {
    const ms = data.length / 32;
    if (ms < 50 || ms > 1000) {
      const error = `Input Duration Error: Input duration of ${String(ms)} ms`;
      this.#line.violation(error);
      this.#line.say({ type: 'Error', error_code: 3007, error });
      this.#line.close(3007, 'Audio chunk duration violation');
      return;
    }
    this.#ear.hear(data);
    if (this.#said() !== this.#reported) this.#tell(false, false);
    if (this.#said() !== '' && this.#ear.quietMs >= 1280) this.#end(0.6);
  }

  text(text: string): void {
    const { type } = typed(text, this.#line);
    if (type === 'ForceEndpoint') {
      // There is no turn to end before anything was said.
      if (this.#said() !== '') this.#end(0);
    } else if (type === 'Terminate') {
      const seconds = this.#ear.heardMs / 1000;
      this.#line.say({ type: 'Termination', audio_duration_seconds: seconds, session_duration_seconds: seconds });
      this.#line.close(1000);
    } else if (type !== 'KeepAlive') this.#line.violation(`unknown message ${type}`);
  }

  #said(): string {
    return this.#words()
      .map(({ text }) => text)
      .join(' ');
  }

  #words() {
    return this.#ear.words.filter(({ startMs }) => startMs >= this.#fromMs);
  }

  #end(confidence: number): void {
    if (!isPro(this.#line.request.query.get('speech_model') ?? '')) this.#tell(true, false, confidence);
    this.#tell(true, true, confidence);
    this.#turn++;
    this.#fromMs = this.#ear.heardMs;
    this.#reported = '';
  }

  #tell(isOver: boolean, isFormatted: boolean, confidence = 0.1): void {
    this.#reported = this.#said();
    const words = this.#words();
    const isFinal = (at: number): boolean => isOver || at < words.length - 1;
    const text = words
      .filter((_, at) => isFinal(at))
      .map((word) => word.text)
      .join(' ');
    this.#line.say({
      type: 'Turn',
      turn_order: this.#turn,
      turn_is_formatted: isFormatted,
      end_of_turn: isOver,
      transcript: isFormatted ? `${text.charAt(0).toUpperCase()}${text.slice(1)}.` : text,
      end_of_turn_confidence: confidence,
      words: words.map((word, at) => ({
        start: word.startMs,
        end: word.endMs,
        text: word.text,
        confidence: 0.96,
        word_is_final: isFinal(at),
      })),
    });
  }
}
