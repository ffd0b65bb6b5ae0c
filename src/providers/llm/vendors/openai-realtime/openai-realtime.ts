import { raceAbort, waitAtMost } from '../../../../base/deadlines.js';
import type { Clock } from '../../../../base/clock.js';
import { ParleyError, errorOf } from '../../../../base/errors.js';
import { Deadlines } from '../../../deadlines.js';
import type { LlmPiece, LlmProvider, LlmRequest, SpeechModel, SpeechModelVoice, SpeechSession } from '../../llm.js';
import type { TtsProvider } from '../../../tts/tts.js';
import { OPENAI_REALTIME_VOICE, openAiRealtimeTts } from '../../../tts/vendors/openai-realtime.js';
import { failed } from '../../../wire/vendor-error.js';
import { socketUrl, type VendorSocketEvents } from '../../../wire/vendor-socket.js';
import { RealtimeAnswer } from './answer.js';
import { RealtimeSocket } from './realtime-socket.js';
import { baseLanguage } from '../../../../base/language.js';
import type { SttOptions, SttProvider } from '../../../stt/stt.js';
import type { SttDialect } from '../../../stt/shared/dialect.js';
import { favouredWords } from '../../../stt/shared/keywords.js';
import { OPENAI_HEARS, openAiDialect } from '../../../stt/vendors/openai.js';
import { SocketSttProvider } from '../../../stt/shared/socket-provider.js';
import { textOf } from '../../../wire/json.js';
import type { RealtimeSettings } from './session-settings.js';

export interface OpenAiRealtimeOptions {
  /** Includes the version: `https://api.openai.com/v1`. */
  baseUrl: string;
  apiKey: string;
  /** The server's name of a model id. Default: the id. */
  modelName?: (id: string) => string;
  /** Timeout for setting up a session. Default 5000 ms. */
  connectTimeoutMs?: number;
  /** Timeout for the first piece of an answer. Default 12,000 ms. */
  firstPieceMs?: number;
  /** Timeout between two pieces. Default 8000 ms. */
  gapMs?: number;
  /** A session is replaced at this age. Default 55 min: the vendor ends it after 60. */
  renewAfterMs?: number;
  /** Clock for connections; requests bring their own. */
  clock: Clock;
}

const NAME = 'openai_realtime';
const DEFAULTS = { connectTimeoutMs: 5000, firstPieceMs: 12_000, gapMs: 8000, renewAfterMs: 55 * 60_000 };
/** If the server does not confirm a cancellation within this time, the connection is not used for another answer. */
const CANCEL_MS = 2000;

/**
 * OpenAI's Realtime API for speech-to-speech models. One of our sessions is one of theirs, over one WebSocket. Turn
 * taking stays ours: their turn detection is off, and their conversation is kept in sync with our history. A text
 * request (`complete` without a session) uses a connection of its own. Sources, read on 2026-11-22:
 * developers.openai.com/api/reference/resources/realtime/client-events and …/server-events,
 * /api/docs/guides/realtime-vad, and the types of the package openai 7.57.0 (resources/realtime/realtime.d.ts).
 */
export class OpenAiRealtime implements LlmProvider {
  readonly name = NAME;
  readonly virtualTime = false;
  readonly speech: SpeechModel;
  readonly #options: Required<OpenAiRealtimeOptions>;
  readonly #reader: TtsProvider;
  readonly #lines = new Set<RealtimeSocket>();

  constructor(options: OpenAiRealtimeOptions) {
    this.#options = { modelName: (id) => id, ...DEFAULTS, ...options };
    this.#reader = openAiRealtimeTts({ apiKey: options.apiKey, baseUrl: options.baseUrl, region: null });
    this.speech = {
      voiceProvider: NAME,
      reader: this.#reader,
      readerModel: (model) => this.#options.modelName(model),
      open: (model, voice) => this.#open(model, voice),
    };
  }

  /** Loads the socket library only: each session opens its own connection. */
  async warmUp(): Promise<void> {
    await import('ws');
  }

  async *complete(request: LlmRequest): AsyncGenerator<LlmPiece, void, undefined> {
    const line = this.#line(request.model, null);
    try {
      yield* new RealtimeLlm(this.#options, line, '').complete(request);
    } finally {
      await this.#leave(line);
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#reader.close(), ...[...this.#lines].map((line) => this.#leave(line))]);
  }

  #open(model: string, voice: SpeechModelVoice | null): SpeechSession {
    const { apiKey, clock } = this.#options;
    const line = this.#line(model, voice);
    const { instructions = '' } = voice?.settings ?? {};
    const llm = new RealtimeLlm(this.#options, line, typeof instructions === 'string' ? instructions : '');
    return {
      stt: realtimeStt({ name: NAME, line, secrets: [apiKey], clock }),
      llm,
      close: () => this.#leave(line),
    };
  }

  #line(model: string, voice: SpeechModelVoice | null): RealtimeSocket {
    const { baseUrl, apiKey, modelName, clock, connectTimeoutMs, renewAfterMs } = this.#options;
    const speed = voice?.settings['speed'];
    const line = new RealtimeSocket({
      provider: NAME,
      secrets: [apiKey],
      clock,
      connectTimeoutMs,
      renewAfterMs,
      url: socketUrl(baseUrl, '/realtime', { model: modelName(model) }),
      headers: { authorization: `Bearer ${apiKey}` },
      settings: {
        voice: voice && {
          id: voice.voiceId ?? OPENAI_REALTIME_VOICE,
          speed: typeof speed === 'number' ? speed : undefined,
        },
        transcription: null,
        instructions: '',
        tools: [],
      },
    });
    this.#lines.add(line);
    return line;
  }

  async #leave(line: RealtimeSocket): Promise<void> {
    this.#lines.delete(line);
    await line.close();
  }
}

/** The LLM of one conversation: requests one answer at a time over its socket. */
class RealtimeLlm implements LlmProvider {
  readonly name = NAME;
  readonly virtualTime = false;
  readonly #options: Required<OpenAiRealtimeOptions>;
  readonly #line: RealtimeSocket;
  /** Speaking style, added to the agent's instructions. */
  readonly #manner: string;
  #count = 0;
  /** The response in progress. */
  #running: RealtimeAnswer | null = null;
  #onOver: () => void = () => undefined;

  constructor(options: Required<OpenAiRealtimeOptions>, line: RealtimeSocket, manner: string) {
    this.#options = options;
    this.#line = line;
    this.#manner = manner;
    line.isAnswering = () => this.#running !== null;
  }

  async warmUp(): Promise<void> {
    await this.#line.ready();
  }

  /** If the connection is lost before the first piece, retries once on a new one. */
  async *complete(request: LlmRequest): AsyncGenerator<LlmPiece, void, undefined> {
    for (let isAgain = false; ; isAgain = true) {
      let hasBegun = false;
      try {
        for await (const piece of this.#ask(request)) {
          hasBegun = true;
          yield piece;
        }
        return;
      } catch (error) {
        request.signal.throwIfAborted();
        const isLost = error instanceof ParleyError && error.code === 'PROVIDER_FAILED' && !this.#line.isReady;
        if (hasBegun || isAgain || !isLost) throw error;
      }
    }
  }

  /** The session closes the socket. */
  async close(): Promise<void> {
    this.#running?.cancel();
    await Promise.resolve();
  }

  async *#ask(request: LlmRequest): AsyncGenerator<LlmPiece, void, undefined> {
    const { clock, signal, messages, tools, requiredTool = null, pieceTimeoutMs } = request;
    const { firstPieceMs, gapMs, apiKey } = this.#options;
    const deadlines = new Deadlines(clock, NAME, signal);
    let answer: RealtimeAnswer | null = null;
    const onAbort = (): void => answer?.pieces.fail(deadlines.signal.reason);
    try {
      deadlines.within(pieceTimeoutMs ?? firstPieceMs);
      await this.#free(deadlines.signal);
      const line = this.#line;
      for (const event of line.items.hold(messages)) line.send(event);
      if (isUnanswerable(messages, line)) throw failed(NAME, 'the conversation has no user turn to answer');
      const system = messages.filter(({ role }) => role === 'system').map(({ content }) => content);
      const instructions = [...system, this.#manner].filter((part) => part.trim() !== '').join('\n\n');
      line.use({ instructions, tools });
      answer = new RealtimeAnswer({
        provider: NAME,
        secrets: [apiKey],
        line,
        id: String(++this.#count),
        requiredTool,
        onOver: () => {
          this.#running = null;
          this.#onOver();
        },
      });
      this.#running = answer;
      deadlines.signal.addEventListener('abort', onAbort, { once: true });
      for await (const piece of answer.pieces) {
        deadlines.within(pieceTimeoutMs ?? gapMs);
        yield piece;
      }
    } catch (error) {
      // A stalled server is not waited for again.
      if (error instanceof ParleyError && error.code === 'PROVIDER_TIMEOUT') this.#line.lose(error);
      throw error;
    } finally {
      deadlines.signal.removeEventListener('abort', onAbort);
      answer?.cancel();
      deadlines.end();
    }
  }

  /** Resolves when the session is ready and no other response is in progress. */
  async #free(signal: AbortSignal): Promise<void> {
    await raceAbort(this.#line.ready(), signal);
    const running = this.#running;
    if (running === null) return;
    running.cancel();
    const over = new Promise<true>((resolve) => (this.#onOver = () => resolve(true)));
    if ((await waitAtMost(this.#options.clock, CANCEL_MS, raceAbort(over, signal))) === true) return;
    running.abandon();
    this.#line.lose(failed(NAME, 'it did not stop a response that was cancelled'));
    await raceAbort(this.#line.ready(), signal);
  }
}

/** The user has spoken, but neither transcript nor audio is available. */
function isUnanswerable(messages: LlmRequest['messages'], line: RealtimeSocket): boolean {
  const last = messages.at(-1);
  return last?.role === 'user' && last.content.trim() === '' && !line.items.endsWithUser;
}

/** Default model that transcribes the user's audio. */
const DEFAULT_MODEL = 'gpt-transcribe';

/** Longest time that a session waits for the connection before it begins. */
const WARM_UP_MS = 1500;

export interface RealtimeSttOptions {
  name: string;
  line: RealtimeSocket;
  secrets: readonly string[];
  /** Clock for the warm-up. */
  clock: Clock;
}

const COMMIT = '{"type":"input_audio_buffer.commit"}';

/**
 * STT of a Realtime session: the input transcription of the audio that the model hears. It also sends the audio to the
 * model: each stretch of speech, with a short lead before the VAD's onset, is committed as an item when it ends,
 * whether or not it will be answered.
 */
export function realtimeStt({ name, line, secrets, clock }: RealtimeSttOptions): SttProvider {
  const stt = new SocketSttProvider(
    {
      name,
      abilities: { models: true, multilingual: true, feedsModel: true, understands: OPENAI_HEARS },
      dialect: (options) => {
        line.use({ transcription: transcriptionOf(options) });
        return realtimeDialect(options, line);
      },
    },
    { apiKey: secrets[0] ?? '' },
  );
  // Sets the session up before anyone speaks; a slow or transient failure is retried when someone does.
  stt.warmUp = async () => {
    try {
      await waitAtMost(clock, WARM_UP_MS, line.ready());
    } catch (error) {
      if (!(error instanceof ParleyError) || !error.retryable) throw error;
    }
  };
  return stt;
}

function transcriptionOf({ model = DEFAULT_MODEL, language, multilingual = false, hints }: SttOptions) {
  const words = favouredWords(hints, 100);
  const transcription: NonNullable<RealtimeSettings['transcription']> = { model };
  if (language !== 'multi' && !multilingual) transcription.language = baseLanguage(language);
  if (words.length > 0 && /^gpt-(live-)?transcribe/.test(model)) transcription.keywords = words;
  else if (words.length > 0 && /^gpt-4o(?!.*diarize)/.test(model)) transcription.prompt = words.join(', ');
  return transcription;
}

function realtimeDialect(options: SttOptions, line: RealtimeSocket): SttDialect {
  const dialect = openAiDialect(options, 'https://api.openai.com/v1', '');
  return {
    ...dialect,
    greeting: () => [],
    audio: (pcm) => pcm,
    finalize: () => [COMMIT],
    read: (text, tell) => {
      // The model has heard the audio anyway and answers without the transcript.
      if (!text.includes('input_audio_transcription.failed')) return dialect.read(text, tell);
      tell.finalized();
      return true;
    },
    dial: (events) => joined(line, events),
  };
}

/** The recogniser's share of the socket. */
function joined(line: RealtimeSocket, events: VendorSocketEvents) {
  let isOver = false;
  const leave = line.listen({
    onMessage: (message, text) => {
      const type = textOf(message['type']) ?? '';
      if (!isOver && isHeard(type, text)) events.onText(text);
    },
    onLost: (error) => end(() => events.onClosed(error, null)),
  });
  const end = (then: () => void): void => {
    if (isOver) return;
    isOver = true;
    leave();
    then();
  };
  line.ready().then(
    () => {
      if (!isOver) events.onText(line.updated);
    },
    (error: unknown) => {
      const shown = error instanceof ParleyError ? error : failed('openai_realtime', errorOf(error).message);
      end(() => events.onClosed(shown, null));
    },
  );
  return {
    send: (data: string | Uint8Array): void => {
      if (isOver) return;
      if (data === COMMIT) line.commit();
      else if (typeof data !== 'string') line.append(data);
    },
    close: (): Promise<void> => {
      end(() => undefined);
      return Promise.resolve();
    },
  };
}

/** Whether the event concerns the user's speech. */
function isHeard(type: string, text: string): boolean {
  if (type === 'error') return text.includes('input_audio_buffer_commit_empty');
  return type.startsWith('input_audio_buffer.') || type.includes('input_audio_transcription');
}
