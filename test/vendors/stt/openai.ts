/**
 * OpenAI's realtime transcription sessions, from
 * https://developers.openai.com/api/docs/guides/realtime-transcription and
 * https://developers.openai.com/api/reference/resources/realtime/client-events (read on 2026-11-22) and the types of
 * the package openai 7.57.0 (13 November 2026).
 */
import { type DoubleConversation, type DoubleLine, type DoubleProtocol, typed } from './socket-double.js';
import { Ear } from './spoken-words.js';

interface Session {
  type?: unknown;
  audio?: {
    input?: {
      format?: { type?: unknown; rate?: unknown };
      turn_detection?: unknown;
      transcription?: { model?: string; language?: string; keywords?: string[]; prompt?: string };
    };
  };
}

export function openAiRealtimeDouble(key: string): DoubleProtocol {
  return {
    refuses: ({ path, query, headers }) => {
      if (headers.authorization !== `Bearer ${key}`) {
        const message = `Incorrect API key provided: ${(headers.authorization ?? '').replace('Bearer ', '')}.`;
        return [401, JSON.stringify({ error: { message, type: 'invalid_request_error', code: 'invalid_api_key' } })];
      }
      if (path !== '/realtime') return [404, '{"error":{"message":"no such path"}}'];
      return query.get('intent') === 'transcription' ? null : [400, '{"error":{"message":"intent"}}'];
    },
    converse: (line) => new Transcription(line),
  };
}

class Transcription implements DoubleConversation {
  readonly #line: DoubleLine;
  #ear = new Ear(24_000);
  #bytes = 0;
  #item = 0;
  #reported = 0;
  #isSet = false;

  constructor(line: DoubleLine) {
    this.#line = line;
    this.#say('session.created', { session: { type: 'transcription', object: 'realtime.transcription_session' } });
  }

  binary(): void {
    this.#line.violation('a binary message');
  }

  text(text: string): void {
    const message = typed(text, this.#line);
    switch (message.type) {
      case 'session.update':
        this.#update(message['session'] ?? {});
        break;
      case 'input_audio_buffer.append':
        this.#append(Buffer.from(String(message['audio']), 'base64'));
        break;
      case 'input_audio_buffer.commit':
        this.#commit();
        break;
      case 'input_audio_buffer.clear':
        this.#clear();
        this.#say('input_audio_buffer.cleared', {});
        break;
      default:
        this.#line.violation(`unknown message ${message.type}`);
    }
  }

  #update(session: Session): void {
    const input = session.audio?.input ?? {};
    const { model = '', language = null, keywords = [], prompt } = input.transcription ?? {};
    if (session.type !== 'transcription') this.#line.violation('session.type');
    if (input.format?.type !== 'audio/pcm' || input.format.rate !== 24_000) this.#line.violation('audio.input.format');
    if (input.turn_detection !== null) this.#line.violation('turn_detection');
    // Models of these names are all that there are.
    if (!/^(gpt-(live-)?transcribe|gpt-realtime-whisper|gpt-4o-(mini-)?transcribe|whisper-1)/.test(model)) {
      this.#line.violation(`model ${model}`);
    }
    if (prompt !== undefined && model.startsWith('gpt-realtime-whisper')) this.#line.violation('prompt');
    if (keywords.length > 0 && !/^gpt-(live-)?transcribe/.test(model)) this.#line.violation('keywords');
    this.#isSet = true;
    this.#line.asked({ model, language, keywords: prompt === undefined ? keywords : prompt.split(', ') });
    this.#say('session.updated', { session });
  }

  #append(audio: Buffer): void {
    if (!this.#isSet) this.#line.violation('audio before the session was set up');
    this.#bytes += audio.length;
    this.#ear.hear(audio);
    for (const { text } of this.#ear.words.slice(this.#reported)) {
      const delta = this.#reported === 0 ? text : ` ${text}`;
      this.#say('conversation.item.input_audio_transcription.delta', { ...this.#itemId(), content_index: 0, delta });
      this.#reported++;
    }
  }

  #commit(): void {
    const ms = this.#bytes / 48;
    if (ms < 100) {
      const error = {
        type: 'invalid_request_error',
        code: 'input_audio_buffer_commit_empty',
        message: `Error committing input audio buffer: buffer too small. Expected at least 100ms of audio, but buffer only has ${ms.toFixed(2)}ms of audio.`,
      };
      this.#line.violation(error.message);
      this.#say('error', { error });
      return;
    }
    const previous = this.#item === 0 ? null : `item_${String(this.#item - 1)}`;
    const transcript = this.#ear.words.map(({ text }) => text).join(' ');
    this.#say('input_audio_buffer.committed', { ...this.#itemId(), previous_item_id: previous });
    this.#say('conversation.item.added', { previous_item_id: previous, item: { id: this.#itemId().item_id } });
    this.#say('conversation.item.input_audio_transcription.completed', {
      ...this.#itemId(),
      content_index: 0,
      transcript,
      usage: { type: 'duration', seconds: ms / 1000 },
    });
    this.#item++;
    this.#clear();
  }

  #clear(): void {
    this.#ear = new Ear(24_000);
    this.#bytes = 0;
    this.#reported = 0;
  }

  #itemId() {
    return { item_id: `item_${String(this.#item)}` };
  }

  #say(type: string, more: object): void {
    this.#line.say({ type, event_id: 'event_1', ...more });
  }
}
