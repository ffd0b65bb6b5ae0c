/**
 * ElevenLabs' Scribe in real time, from
 * https://elevenlabs.io/docs/api-reference/speech-to-text/v-1-speech-to-text-realtime and
 * https://elevenlabs.io/docs/eleven-api/guides/how-to/speech-to-text/realtime/transcripts-and-commit-strategies (read on
 * 2026-11-21) and the package @elevenlabs/elevenlabs-js 2.73.0. That times count from the first sample of the session is
 * read out of the SDK's examples; the pages do not say it.
 */
import { type DoubleConversation, type DoubleLine, type DoubleProtocol, unknownIn } from './socket-double.js';
import { Ear } from './spoken-words.js';

const PARAMETERS =
  'model_id audio_format commit_strategy include_timestamps language_code keyterms enable_logging include_language_detection'.split(
    ' ',
  );
/** Less audio than this cannot be committed. */
const MIN_COMMIT_MS = 300;

export function elevenLabsDouble(key: string): DoubleProtocol {
  return {
    refuses: ({ path, query, headers }) => {
      if (path !== '/v1/speech-to-text/realtime') return [404, '{"detail":"no such path"}'];
      const given = String(headers['xi-api-key']);
      if (given !== key)
        return [401, JSON.stringify({ detail: { status: 'invalid_api_key', message: `no: ${given}` } })];
      const strange = unknownIn(query, PARAMETERS);
      if (strange !== null) return [400, JSON.stringify({ detail: strange })];
      if (query.get('audio_format') !== 'pcm_16000') return [400, '{"detail":"audio_format"}'];
      if (query.getAll('keyterms').some((term) => term.length > 20)) return [400, '{"detail":"keyterms"}'];
      return query.get('model_id') === null ? [400, '{"detail":"model_id"}'] : null;
    },
    converse: (line) => {
      const { query } = line.request;
      line.asked({
        model: query.get('model_id') ?? '',
        language: query.get('language_code'),
        keywords: query.getAll('keyterms'),
      });
      return new Scribe(line);
    },
  };
}

class Scribe implements DoubleConversation {
  readonly #line: DoubleLine;
  readonly #ear = new Ear();
  #committedMs = 0;
  #reported = 0;

  constructor(line: DoubleLine) {
    this.#line = line;
    line.say({ message_type: 'session_started', session_id: 's', config: { sample_rate: 16_000 } });
  }

  binary(): void {
    this.#line.violation('a binary message');
  }

  text(text: string): void {
    const message = JSON.parse(text) as Record<string, unknown>;
    if (message['message_type'] !== 'input_audio_chunk' || message['sample_rate'] !== 16_000) {
      this.#line.violation(`unknown message ${text.slice(0, 100)}`);
    }
    this.#ear.hear(Buffer.from(String(message['audio_base_64']), 'base64'));
    const words = this.#words();
    if (words.length !== this.#reported && words.length > 0) {
      this.#line.say({ message_type: 'partial_transcript', text: words.map((word) => word.text).join(' ') });
    }
    this.#reported = words.length;
    if (message['commit'] === true) this.#commit();
  }

  #words() {
    return this.#ear.words.filter(({ startMs }) => startMs >= this.#committedMs);
  }

  #commit(): void {
    if (this.#ear.heardMs - this.#committedMs < MIN_COMMIT_MS) {
      this.#line.say({
        message_type: 'commit_throttled',
        error: 'Commit request ignored: only 0.1s of uncommitted audio.',
      });
      return;
    }
    const words = this.#words();
    const text = words.map((word) => word.text).join(' ');
    this.#committedMs = this.#ear.heardMs;
    this.#reported = 0;
    this.#line.say({ message_type: 'committed_transcript', text });
    this.#line.say({
      message_type: 'committed_transcript_with_timestamps',
      text,
      language_code: 'en',
      words: words.flatMap((word, at) => [
        ...(at === 0 ? [] : [{ text: ' ', type: 'spacing', start: word.startMs / 1000, end: word.startMs / 1000 }]),
        { text: word.text, type: 'word', start: word.startMs / 1000, end: word.endMs / 1000, logprob: -0.1 },
      ]),
    });
  }
}
