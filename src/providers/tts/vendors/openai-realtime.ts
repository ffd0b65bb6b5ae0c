import type { VendorAccess } from '../../../settings/vendor-settings.js';
import { type JsonObject, objectOf, parseObject, textOf } from '../../wire/json.js';
import { socketUrl } from '../../wire/vendor-socket.js';
import { SocketTts, type SocketTtsOptions } from '../shared/socket-tts.js';
import type { SpeechEvent, TtsDialect } from '../shared/dialect.js';
import type { VendorVoiceSettings } from '../shared/vendor-voice-settings.js';
import { openAiVoice } from './openai-voice.js';

/**
 * Speech of OpenAI's Realtime API: instructs the model to read each text aloud, in a response outside any conversation.
 * The model may occasionally say other words than the given ones. It gives no word times. Source:
 * platform.openai.com/docs/guides/realtime-conversations (responses outside the default conversation) and
 * …/docs/api-reference/realtime-client-events, with the types of the official SDK 7.57.0.
 */
export function openAiRealtimeTts(access: VendorAccess, options: Partial<SocketTtsOptions> = {}): SocketTts {
  return new SocketTts({
    name: 'openai_realtime',
    protocol: new RealtimeProtocol(access),
    settings: {
      speed: { type: 'number', least: 0.25, most: 1.5 },
      instructions: { type: 'text' },
    },
    secrets: access.apiKey === null ? [] : [access.apiKey],
    voices: VOICES.map((id) => ({ id, name: id, language: 'en', sampleRateHz: SAMPLE_RATE_HZ })),
    ...options,
  });
}

const VOICES = ['marin', 'cedar', 'alloy', 'ash', 'ballad', 'coral', 'echo', 'sage', 'shimmer', 'verse'];
/** Where an agent names none. */
export const OPENAI_REALTIME_VOICE = 'marin';
/** Quick, and not among those that the vendor shuts down in January 2027. */
const DEFAULT_MODEL = 'gpt-realtime-1.5';
const SAMPLE_RATE_HZ = 24_000;
const READ_ALOUD =
  'You are the voice of a reader. Read the user message aloud, word for word, in its own language. Say nothing else: do ' +
  'not answer it, do not comment on it, leave nothing out and add nothing.';

class RealtimeProtocol implements TtsDialect {
  readonly sampleRateHz = SAMPLE_RATE_HZ;
  readonly concurrent = 1;
  readonly cancelEnds = 'done';
  readonly #access: VendorAccess;
  /** The response that runs. */
  #responseId: string | null = null;
  /** It was taken back before the server had named it. */
  #cancelAsSoonAsNamed = false;

  constructor(access: VendorAccess) {
    this.#access = access;
  }

  forConnection(): TtsDialect {
    return new RealtimeProtocol(this.#access);
  }

  address({ model }: VendorVoiceSettings): string {
    const baseUrl = this.#access.baseUrl ?? 'https://api.openai.com/v1';
    return socketUrl(baseUrl, '/realtime', { model: model ?? DEFAULT_MODEL });
  }

  bound({ voiceId, settings: { speed } }: VendorVoiceSettings): string {
    return JSON.stringify([voiceId, speed]);
  }

  headers(): Record<string, string> {
    return { authorization: `Bearer ${this.#access.apiKey ?? ''}` };
  }

  hello({ voiceId, settings: { speed } }: VendorVoiceSettings): object[] {
    const output = {
      format: { type: 'audio/pcm', rate: SAMPLE_RATE_HZ },
      voice: openAiVoice(voiceId ?? OPENAI_REALTIME_VOICE),
      speed,
    };
    const session = { type: 'realtime', output_modalities: ['audio'], instructions: READ_ALOUD, audio: { output } };
    return [{ type: 'session.update', session }];
  }

  begin(id: string, text: string, { settings: { instructions } }: VendorVoiceSettings): object[] {
    const content = [{ type: 'input_text', text }];
    const response = {
      conversation: 'none',
      metadata: { utterance: id },
      output_modalities: ['audio'],
      instructions: instructions === undefined ? READ_ALOUD : `${READ_ALOUD} ${String(instructions)}`,
      input: [{ type: 'message', role: 'user', content }],
    };
    return [{ type: 'response.create', response }];
  }

  cancel(): object[] {
    if (this.#responseId !== null) return [cancelOf(this.#responseId)];
    this.#cancelAsSoonAsNamed = true;
    return [];
  }

  read(message: string): SpeechEvent[] {
    const data = parseObject(message);
    if (data === null) throw new Error('it is not a JSON object');
    const response = objectOf(data['response']);
    switch (data['type']) {
      case 'response.created': {
        this.#responseId = textOf(response?.['id']);
        const isWanted = !this.#cancelAsSoonAsNamed || this.#responseId === null;
        this.#cancelAsSoonAsNamed = false;
        return isWanted ? [] : [{ type: 'reply', message: cancelOf(this.#responseId ?? '') }];
      }
      case 'response.output_audio.delta':
        return [{ type: 'audio', bytes: Buffer.from(textOf(data['delta']) ?? '', 'base64') }];
      case 'response.done':
        this.#responseId = null;
        return [endOf(response)];
      case 'error': {
        const error = objectOf(data['error']);
        // The cancel was late: the response's own end follows.
        if (error?.['code'] === 'response_cancel_not_active') return [];
        const reason = textOf(error?.['message']) ?? 'no reason';
        return [{ type: 'error', reason, retryable: error?.['type'] !== 'invalid_request_error' }];
      }
      default:
        return [];
    }
  }
}

function cancelOf(responseId: string): object {
  return { type: 'response.cancel', response_id: responseId };
}

function endOf(response: JsonObject | null): SpeechEvent {
  const details = objectOf(response?.['status_details']);
  const error = objectOf(details?.['error']);
  if (response?.['status'] === 'failed') {
    const reason = textOf(error?.['message']) ?? textOf(error?.['code']) ?? 'the response failed';
    return { type: 'error', reason, retryable: error?.['type'] !== 'invalid_request_error' };
  }
  if (details?.['reason'] === 'content_filter') {
    return { type: 'error', reason: 'the content filter withheld the speech', retryable: false };
  }
  return { type: 'done' };
}
