/**
 * Deepgram's live streaming (nova) and Flux, from
 * https://developers.deepgram.com/reference/speech-to-text/listen-streaming, /docs/finalize, /docs/keep-alive,
 * https://developers.deepgram.com/reference/speech-to-text/listen-flux, /docs/flux/state, /docs/flux/force-end-turn
 * (read on 2026-11-21) and the types of @deepgram/sdk 5.13.0.
 */
import { type DoubleConversation, type DoubleLine, type DoubleProtocol, typed, unknownIn } from './socket-double.js';
import { Ear, type HeardWord } from './spoken-words.js';

const NOVA_PARAMETERS = (
  'model encoding sample_rate channels language interim_results punctuate smart_format endpointing no_delay keyterm ' +
  'keywords mip_opt_out tag dictation diarize numerals vad_events filler_words profanity_filter utterance_end_ms'
).split(' ');
const FLUX_PARAMETERS =
  'model encoding sample_rate eager_eot_threshold eot_threshold eot_timeout_ms keyterm language_hint mip_opt_out tag'.split(
    ' ',
  );

export function deepgramDouble(key: string): DoubleProtocol {
  return {
    refuses: ({ path, query, headers }) => {
      if (headers.authorization !== `Token ${key}`) {
        return [401, `{"err_code":"INVALID_AUTH","err_msg":"Invalid credentials: ${headers.authorization ?? ''}"}`];
      }
      if (path !== '/v1/listen' && path !== '/v2/listen') return [404, '{"err_msg":"no such path"}'];
      const isFlux = (query.get('model') ?? '').startsWith('flux');
      if (isFlux !== (path === '/v2/listen')) return [400, '{"err_msg":"No such model/version combination found."}'];
      const strange = unknownIn(query, isFlux ? FLUX_PARAMETERS : NOVA_PARAMETERS);
      if (strange !== null) return [400, `{"err_msg":"${strange}"}`];
      if (query.get('encoding') !== 'linear16' || query.get('sample_rate') !== '16000') {
        return [400, '{"err_msg":"encoding and sample_rate are required for raw audio"}'];
      }
      return null;
    },
    converse: (line) => {
      const { query, path } = line.request;
      line.asked({
        model: query.get('model') ?? '',
        language: query.get('language') ?? query.get('language_hint'),
        keywords: [...query.getAll('keyterm'), ...query.getAll('keywords')],
      });
      return path === '/v2/listen' ? new Flux(line) : new Nova(line);
    },
  };
}

/** Gives what it has heard since its last final result; long stretches become final by themselves. */
class Nova implements DoubleConversation {
  readonly #line: DoubleLine;
  readonly #ear = new Ear();
  #fromMs = 0;
  #reported = 0;

  constructor(line: DoubleLine) {
    this.#line = line;
  }

  binary(data: Buffer): void {
    this.#ear.hear(data);
    if (this.#ear.heardMs - this.#reported < 100) return;
    this.#reported = this.#ear.heardMs;
    const isLong = this.#ear.heardMs - this.#fromMs > 2000 && this.#ear.quietMs > 0;
    this.#result(isLong, false);
  }

  text(text: string): void {
    const { type } = typed(text, this.#line);
    if (type === 'Finalize') {
      // Nothing comes where nothing is buffered.
      if (this.#ear.heardMs > this.#fromMs) this.#result(true, true);
    } else if (type === 'CloseStream') {
      this.#line.say({ type: 'Metadata', request_id: 'r', duration: this.#ear.heardMs / 1000, channels: 1 });
      this.#line.close(1000);
    } else if (type !== 'KeepAlive') this.#line.violation(`unknown message ${type}`);
  }

  #result(isFinal: boolean, fromFinalize: boolean): void {
    const words = this.#ear.words.filter(({ startMs }) => startMs >= this.#fromMs);
    this.#line.say({
      type: 'Results',
      channel_index: [0, 1],
      start: this.#fromMs / 1000,
      duration: (this.#ear.heardMs - this.#fromMs) / 1000,
      is_final: isFinal,
      speech_final: false,
      from_finalize: fromFinalize,
      channel: {
        alternatives: [
          {
            transcript: words.map(({ text }) => text).join(' '),
            confidence: words.length === 0 ? 0 : 0.98,
            words: words.map((word) => ({ ...timed(word), punctuated_word: word.text })),
          },
        ],
      },
      metadata: {
        request_id: 'r',
        model_uuid: 'm',
        model_info: { name: 'general-nova-3', version: 'v', arch: 'nova-3' },
      },
    });
    if (isFinal) this.#fromMs = this.#ear.heardMs;
  }
}

type TurnState = 'initial' | 'ongoing' | 'awaiting';

/** Turns: an eager end after 300 ms of silence, the end after 900. */
class Flux implements DoubleConversation {
  readonly #line: DoubleLine;
  readonly #ear = new Ear();
  #sequence = 0;
  #turn = 0;
  #fromMs = 0;
  #reported = 0;
  #state: TurnState = 'initial';
  #words = 0;

  constructor(line: DoubleLine) {
    this.#line = line;
    line.say({ type: 'Connected', request_id: 'r', sequence_id: this.#sequence++ });
  }

  binary(data: Buffer): void {
    this.#ear.hear(data);
    const words = this.#turnWords().length;
    if (this.#state === 'initial' && words > 0) this.#tell('StartOfTurn', 'ongoing');
    else if (this.#state === 'awaiting' && words > this.#words) this.#tell('TurnResumed', 'ongoing');
    else if (this.#state === 'ongoing' && this.#ear.quietMs >= 300) this.#tell('EagerEndOfTurn', 'awaiting');
    else if (this.#state === 'awaiting' && this.#ear.quietMs >= 900) this.#end('model');
    else if (this.#ear.heardMs - this.#reported >= 240) this.#tell('Update', this.#state);
    this.#words = this.#turnWords().length;
  }

  text(text: string): void {
    const { type } = typed(text, this.#line);
    if (type === 'ForceEndTurn') {
      if (this.#state !== 'initial') this.#end('manual');
    } else if (type === 'CloseStream') this.#line.close(1000);
    else this.#line.violation(`unknown message ${type}`);
  }

  #turnWords(): HeardWord[] {
    return this.#ear.words.filter(({ startMs }) => startMs >= this.#fromMs);
  }

  #end(trigger: string): void {
    this.#tell('EndOfTurn', 'initial', { trigger });
    this.#turn++;
    this.#fromMs = this.#ear.heardMs;
  }

  #tell(event: string, state: TurnState, more: object = {}): void {
    this.#state = state;
    this.#reported = this.#ear.heardMs;
    const words = this.#turnWords();
    this.#line.say({
      type: 'TurnInfo',
      request_id: 'r',
      sequence_id: this.#sequence++,
      event,
      turn_index: this.#turn,
      audio_window_start: this.#fromMs / 1000,
      audio_window_end: this.#ear.heardMs / 1000,
      transcript: words.map(({ text }) => text).join(' '),
      words: words.map(timed),
      end_of_turn_confidence: state === 'ongoing' ? 0.1 : 0.8,
      ...more,
    });
  }
}

function timed({ text, startMs, endMs }: HeardWord): object {
  return { word: text, start: startMs / 1000, end: endMs / 1000, confidence: 0.97 };
}
