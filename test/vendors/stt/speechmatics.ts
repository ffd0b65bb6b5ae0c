/**
 * Speechmatics' real-time API v2, from https://docs.speechmatics.com/api-ref/realtime-transcription-websocket and
 * https://docs.speechmatics.com/speech-to-text/realtime/turn-detection (read on 2026-11-22; the repository speechmatics/docs
 * has the schema, spec/realtime.yaml) and the types of @speechmatics/real-time-client 8.5.1 (7 August 2026).
 */
import type { DoubleConversation, DoubleLine, DoubleProtocol } from './socket-double.js';
import { Ear, type HeardWord } from './spoken-words.js';

const CONFIG = 'language model enable_partials max_delay max_delay_mode output_locale additional_vocab'.split(' ');

interface Start {
  audio_format?: { type?: string; encoding?: string; sample_rate?: number };
  transcription_config?: { language?: string; model?: string; additional_vocab?: { content: string }[] };
}

export function speechmaticsDouble(key: string): DoubleProtocol {
  return {
    refuses: ({ path, query, headers }) => {
      if (path !== '/v2') return [404, '{"detail":"no such path"}'];
      // Where headers cannot be set, a temporary key comes as `jwt`.
      if (headers.authorization === `Bearer ${key}` || query.get('jwt') === key) return null;
      return [401, `{"detail":"Not authorised: ${headers.authorization ?? ''}"}`];
    },
    converse: (line) => new Recognition(line),
  };
}

class Recognition implements DoubleConversation {
  readonly #line: DoubleLine;
  readonly #ear = new Ear();
  #isSet = false;
  #sequence = 0;
  #final = 0;
  #finalMs = 0;
  #reported = 0;

  constructor(line: DoubleLine) {
    this.#line = line;
  }

  binary(data: Buffer): void {
    if (!this.#isSet) this.#line.violation('audio before StartRecognition');
    this.#ear.hear(data);
    this.#line.say({ message: 'AudioAdded', seq_no: ++this.#sequence });
    // Words are final at the latest two seconds after they were said.
    const old = this.#ear.words.filter(({ endMs }) => endMs < this.#ear.heardMs - 2000).length;
    if (old > this.#final) this.#transcript(old);
    if (this.#ear.words.length > this.#reported) {
      this.#reported = this.#ear.words.length;
      this.#say('AddPartialTranscript', this.#ear.words.slice(this.#final));
    }
  }

  text(text: string): void {
    const message = JSON.parse(text) as Record<string, unknown>;
    switch (message['message']) {
      case 'StartRecognition':
        this.#start(message);
        break;
      case 'ForceEndOfUtterance':
        this.#force(message['timestamp']);
        break;
      case 'EndOfStream':
        if (message['last_seq_no'] !== this.#sequence)
          this.#line.violation(`last_seq_no ${String(message['last_seq_no'])}`);
        this.#line.say({ message: 'EndOfTranscript' });
        this.#line.close(1000);
        break;
      default:
        this.#line.violation(`unknown message ${text}`);
    }
  }

  #force(timestamp: unknown): void {
    const heardS = this.#ear.heardMs / 1000;
    // Left out, it is now.
    if (timestamp !== undefined && (typeof timestamp !== 'number' || timestamp < 0 || timestamp > heardS + 0.001)) {
      this.#line.violation(`timestamp ${JSON.stringify(timestamp)}`);
    }
    this.#transcript(this.#ear.words.length, { forced: true });
    this.#line.say({ message: 'EndOfUtterance', forced: true, metadata: { end_time: heardS } });
  }

  #start({ audio_format: format = {}, transcription_config: config = {} }: Start): void {
    this.#isSet = true;
    for (const name of Object.keys(config)) if (!CONFIG.includes(name)) this.#line.violation(`unknown field ${name}`);
    if (format.type !== 'raw' || format.encoding !== 'pcm_s16le' || format.sample_rate !== 16_000) {
      this.#line.violation('audio_format');
    }
    // The third model, melia-1, is not the real-time API's.
    if (config.model !== 'enhanced' && config.model !== 'standard') this.#line.violation(`model ${config.model ?? ''}`);
    this.#line.asked({
      model: config.model ?? '',
      language: config.language ?? null,
      keywords: (config.additional_vocab ?? []).map(({ content }) => content),
    });
    this.#line.say({ message: 'RecognitionStarted', id: 'i', language_pack_info: { word_delimiter: ' ' } });
  }

  #transcript(count: number, more: object = {}): void {
    const words = this.#ear.words.slice(this.#final, count);
    this.#final = count;
    this.#say('AddTranscript', words, more);
    this.#finalMs = this.#ear.heardMs;
  }

  #say(message: string, words: readonly HeardWord[], more: object = {}): void {
    const transcript = words.length === 0 ? '' : `${words.map(({ text }) => text).join(' ')}. `;
    this.#line.say({
      message,
      format: '2.9',
      ...more,
      metadata: { start_time: this.#finalMs / 1000, end_time: this.#ear.heardMs / 1000, transcript },
      results: words.flatMap((word, at) => [
        result('word', word.text, word.startMs, word.endMs),
        ...(at === words.length - 1 ? [result('punctuation', '.', word.endMs, word.endMs)] : []),
      ]),
    });
  }
}

function result(type: string, content: string, startMs: number, endMs: number): object {
  const rest = type === 'punctuation' ? { attaches_to: 'previous', is_eos: true } : {};
  const alternatives = [{ content, confidence: 0.9, language: 'en' }];
  return { type, start_time: startMs / 1000, end_time: endMs / 1000, alternatives, ...rest };
}
