import { type Clock, delay } from '../../base/clock.js';
import { errorOf, ParleyError } from '../../base/errors.js';
import type { SttOptions, SttProvider } from '../stt/stt.js';
import type { SttDialect } from '../stt/vendors/dialect.js';
import { favouredWords } from '../stt/vendors/keywords.js';
import { OPENAI_HEARS, openAiDialect } from '../stt/vendors/openai.js';
import { baseLanguage, SocketSttProvider } from '../stt/vendors/socket-provider.js';
import { textOf } from '../wire/json.js';
import { failed } from '../wire/vendor-error.js';
import type { VendorSocketEvents } from '../wire/vendor-socket.js';
import type { RealtimeSocket } from './realtime-socket.js';
import type { RealtimeSettings } from './session-settings.js';

/** What transcribes the user beside the model that hears them. */
const DEFAULT_MODEL = 'gpt-transcribe';

/** A session does not wait longer than this for the connection before it begins. */
const WARM_UP_MS = 1500;

export interface RealtimeSttOptions {
  name: string;
  line: RealtimeSocket;
  secrets: readonly string[];
  /** Times the warm-up. */
  clock: Clock;
}

const COMMIT = '{"type":"input_audio_buffer.commit"}';

/**
 * The user's words in a Realtime session: what the session's input transcription makes of the audio that the model hears.
 * The audio goes to the model through here: each stretch of speech, from a little before our VAD heard it on, becomes an
 * item of the conversation the moment it is over, whether it will be answered or not.
 */
export function realtimeStt({ name, line, secrets, clock }: RealtimeSttOptions): SttProvider {
  const ears = new SocketSttProvider(
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
  // The session is set up before anybody speaks; one that is late, or fails in passing, is waited for when somebody does.
  ears.warmUp = async () => {
    const enough = new AbortController();
    const late = delay(clock, WARM_UP_MS, enough.signal).catch(() => undefined);
    try {
      await Promise.race([line.ready(), late]);
    } catch (error) {
      if (!(error instanceof ParleyError) || !error.retryable) throw error;
    } finally {
      enough.abort();
    }
  };
  return ears;
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
      // The model has heard it all the same: it is answered without its words.
      if (!text.includes('input_audio_transcription.failed')) return dialect.read(text, tell);
      tell.finalized();
      return true;
    },
    dial: (events) => joined(line, events),
  };
}

/** A recogniser's part of the line. */
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

/** Whether it is about what the user says. */
function isHeard(type: string, text: string): boolean {
  if (type === 'error') return text.includes('input_audio_buffer_commit_empty');
  return type.startsWith('input_audio_buffer.') || type.includes('input_audio_transcription');
}
