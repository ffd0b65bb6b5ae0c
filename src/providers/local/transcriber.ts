import { HEARING_RATE_HZ } from '../../audio/frame.js';
import type { EnginePart, EngineRequest, EngineTranscript, SendReply } from './engine/engine-protocol.js';
import { floats, heardOf } from './engine/engine-values.js';
import { JobQueue } from './engine/job-queue.js';
import type { SherpaOfflineRecognizer } from './sherpa-package.js';

/** Batch recognition, one recording at a time. A request that is cancelled while queued costs nothing. */
export class Transcriber implements EnginePart {
  readonly sampleRateHz = HEARING_RATE_HZ;
  readonly speakers = 0;
  readonly #recognizer: SherpaOfflineRecognizer;
  readonly #config: Readonly<Record<string, unknown>>;
  readonly #queue: JobQueue<Extract<EngineRequest, { type: 'transcribe' }>>;
  #language: string | null = null;

  constructor(recognizer: SherpaOfflineRecognizer, config: Readonly<Record<string, unknown>>, reply: SendReply) {
    this.#recognizer = recognizer;
    this.#config = config;
    this.#queue = new JobQueue(reply, (request) => {
      reply({ type: 'heard', id: request.id, mark: 0, heard: this.#transcribe(request) });
    });
  }

  take(request: EngineRequest): void {
    if (request.type === 'transcribe') this.#queue.add(request);
    else if (request.type === 'close') this.#queue.drop(request.id);
  }

  #transcribe({ samples, language, hotwords }: Extract<EngineRequest, { type: 'transcribe' }>): EngineTranscript {
    if (language !== this.#language) {
      this.#recognizer.setConfig(withLanguage(this.#config, language));
      this.#language = language;
    }
    const stream = hotwords === null ? this.#recognizer.createStream() : this.#recognizer.createStream(hotwords);
    stream.acceptWaveform({ samples: floats(samples), sampleRate: HEARING_RATE_HZ });
    this.#recognizer.decode(stream);
    return heardOf(this.#recognizer.getResult(stream));
  }
}

/** Adds Whisper's language; empty means that the model detects it. Other families fix it when they load. */
function withLanguage(config: Readonly<Record<string, unknown>>, language: string | null): Record<string, unknown> {
  const models = config['modelConfig'] as Record<string, object>;
  const named = Object.entries(models).map(([name, model]) => {
    return [name, name === 'whisper' ? { ...model, language: language ?? '' } : model];
  });
  return { ...config, modelConfig: Object.fromEntries(named) };
}
