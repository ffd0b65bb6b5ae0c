import type { EnginePart, EngineRequest, SendReply } from './engine/engine-protocol.js';
import { integers } from './engine/engine-values.js';
import { JobQueue } from './engine/job-queue.js';
import type { SherpaTtsEngine } from './sherpa-package.js';

/** Speech synthesis, one text at a time, sentence by sentence. */
export class Speaker implements EnginePart {
  readonly sampleRateHz: number;
  readonly speakers: number;
  readonly #queue: JobQueue<Extract<EngineRequest, { type: 'speak' }>>;

  constructor(tts: SherpaTtsEngine, reply: SendReply) {
    this.sampleRateHz = tts.sampleRate;
    this.speakers = tts.numSpeakers;
    this.#queue = new JobQueue(reply, async ({ id, text, speaker, rate, language }) => {
      const own = { sid: speaker, speed: rate };
      await tts.generateAsync({
        text,
        ...own,
        enableExternalBuffer: false,
        generationConfig: language === null ? undefined : { ...own, extra: { lang: language } },
        onProgress: ({ samples }) => {
          const isWanted = this.#queue.isRunning(id);
          if (isWanted) reply({ type: 'audio', id, samples: integers(samples) });
          return isWanted;
        },
      });
      reply({ type: 'done', id });
    });
  }

  settled(): Promise<void> {
    return this.#queue.settled();
  }

  take(request: EngineRequest): void {
    if (request.type === 'speak') this.#queue.add(request);
    else if (request.type === 'close') this.#queue.drop(request.id);
  }
}
