import { baseLanguage } from '../../../../base/language.js';
import type { Clock } from '../../../../base/clock.js';
import { waitAtMost } from '../../../../base/deadlines.js';
import { errorOf, ParleyError } from '../../../../base/errors.js';
import type { SttOptions, SttProvider } from '../../../stt/stt.js';
import type { SttDialect } from '../../../stt/shared/dialect.js';
import { favouredWords } from '../../../stt/shared/keywords.js';
import { OPENAI_HEARS, openAiDialect } from '../../../stt/vendors/openai.js';
import { SocketSttProvider } from '../../../stt/shared/socket-provider.js';
import { textOf } from '../../../wire/json.js';
import { failed } from '../../../wire/vendor-error.js';
import type { VendorSocketEvents } from '../../../wire/vendor-socket.js';
import type { RealtimeSocket } from './realtime-socket.js';
import type { RealtimeSettings } from './session-settings.js';

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
  // Sets the session up before anyone speaks; a slow or transient failure is retried when someone does.
  ears.warmUp = async () => {
    try {
      await waitAtMost(clock, WARM_UP_MS, line.ready());
    } catch (error) {
      if (!(error instanceof ParleyError) || !error.retryable) throw error;
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
