/**
 * Soniox' real-time API, from https://soniox.com/docs/api-reference/stt/websocket-api,
 * https://soniox.com/docs/stt/real-time-API/manual-finalization and https://soniox.com/docs/guides/websocket-authentication
 * (read on 2026-11-22) and the types of @soniox/node 2.3.0 (16 September 2026).
 */
import { type DoubleConversation, type DoubleLine, type DoubleProtocol, typed } from './socket-double.js';
import { Ear, type HeardWord } from './spoken-words.js';

const START =
  'model audio_format sample_rate num_channels language_hints language_hints_strict context enable_endpoint_detection'.split(
    ' ',
  );

export function sonioxDouble(key: string): DoubleProtocol {
  return {
    refuses: ({ path, headers }) => {
      if (path !== '/transcribe-websocket') return [404, '{"error_message":"no such path"}'];
      // Until 15 January 2027 the key may come with the start request instead, as the SDK still has it.
      if (headers.authorization === `Bearer ${key}` || headers.authorization === undefined) return null;
      return [401, `{"error_code":401,"error_message":"Invalid API key: ${headers.authorization ?? ''}"}`];
    },
    converse: (line) => new RealTime(line, line.request.headers.authorization === undefined ? key : null),
  };
}

class RealTime implements DoubleConversation {
  readonly #line: DoubleLine;
  /** What the start request has to bring, null = nothing. */
  readonly #key: string | null;
  readonly #ear = new Ear();
  #isSet = false;
  /** Words that have been given as final. */
  #given = 0;
  #reported = 0;

  constructor(line: DoubleLine, key: string | null) {
    this.#line = line;
    this.#key = key;
  }

  binary(data: Buffer): void {
    if (!this.#isSet) this.#line.violation('audio before the start request');
    this.#ear.hear(data);
    if (this.#ear.heardMs - this.#reported < 120) return;
    this.#reported = this.#ear.heardMs;
    // All but the last two words are sure.
    const sure = Math.max(this.#given, this.#ear.words.length - 2);
    const final = this.#ear.words.slice(this.#given, sure);
    this.#given = sure;
    this.#result([...final.flatMap(tokens(true)), ...this.#ear.words.slice(sure).flatMap(tokens(false))]);
  }

  text(text: string): void {
    if (text === '') {
      this.#result([], { finished: true });
      this.#line.close(1000);
      return;
    }
    if (!this.#isSet) {
      this.#start(JSON.parse(text) as Record<string, unknown>);
      return;
    }
    const { type, trailing_silence_ms: silenceMs = 0 } = typed(text, this.#line);
    if (type === 'finalize') {
      if (!Number.isInteger(silenceMs) || Number(silenceMs) < 0) this.#line.violation('trailing_silence_ms');
      const final = this.#ear.words.slice(this.#given);
      this.#given = this.#ear.words.length;
      this.#result([...final.flatMap(tokens(true)), { text: '<fin>', is_final: true, confidence: 1 }]);
    } else if (type !== 'keepalive') this.#line.violation(`unknown message ${type}`);
  }

  #start(start: Record<string, unknown>): void {
    this.#isSet = true;
    const { api_key: apiKey = null, ...asked } = start;
    if (apiKey !== this.#key) this.#line.violation('api_key');
    for (const name of Object.keys(asked)) if (!START.includes(name)) this.#line.violation(`unknown field ${name}`);
    if (start['audio_format'] !== 'pcm_s16le' || start['sample_rate'] !== 16_000) this.#line.violation('audio_format');
    const context = (start['context'] ?? {}) as { terms?: string[] };
    this.#line.asked({
      model: String(start['model']),
      language: (start['language_hints'] as string[] | undefined)?.[0] ?? null,
      keywords: context.terms ?? [],
    });
  }

  #result(list: readonly object[], more: object = {}): void {
    const ms = Math.round(this.#ear.heardMs);
    this.#line.say({ tokens: list, final_audio_proc_ms: ms, total_audio_proc_ms: ms, ...more });
  }
}

/** A word comes as two tokens, the first with the space before it. */
function tokens(isFinal: boolean) {
  return ({ text, startMs, endMs }: HeardWord): object[] => {
    const middle = Math.round((startMs + endMs) / 2);
    const rest = { confidence: 0.95, is_final: isFinal };
    const head = { text: ` ${text.slice(0, 1)}`, start_ms: Math.round(startMs), end_ms: middle, ...rest };
    if (text.length === 1) return [{ ...head, end_ms: Math.round(endMs) }];
    return [head, { text: text.slice(1), start_ms: middle, end_ms: Math.round(endMs), ...rest }];
  };
}
