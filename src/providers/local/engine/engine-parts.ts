import type { EngineLoad, EnginePart, SendReply, EngineRequest, EngineTranscript } from './engine-protocol.js';
import type {
  SherpaPackage,
  SherpaOnlineRecognizer,
  SherpaOnlineStream,
  SherpaOfflineRecognizer,
  SherpaTtsEngine,
  SherpaDenoiserEngine,
  SherpaResult,
} from '../sherpa-package.js';
import { HEARING_RATE_HZ } from '../../../audio/frame.js';
import { reasonOf } from '../../../base/errors.js';

/** Loads the model. Throws, or exits the process, if sherpa-onnx cannot read it. */
export function enginePart(
  sherpa: SherpaPackage,
  { engine, config, threads }: EngineLoad,
  reply: SendReply,
): EnginePart {
  switch (engine) {
    case 'listen':
      return new Listener(new sherpa.OnlineRecognizer(withThreads(config, 'modelConfig', threads)), reply);
    case 'transcribe': {
      const whole = withThreads(config, 'modelConfig', threads);
      return new Transcriber(new sherpa.OfflineRecognizer(whole), whole, reply);
    }
    case 'speak':
      return new Speaker(new sherpa.OfflineTts(withThreads(config, 'model', threads)), reply);
    case 'denoise':
      return new NoiseGate(() => new sherpa.OnlineSpeechDenoiser(withThreads(config, 'model', threads)), reply);
  }
}

function withThreads(
  config: Readonly<Record<string, unknown>>,
  member: 'model' | 'modelConfig',
  numThreads: number,
): Record<string, unknown> {
  return { ...config, [member]: { ...(config[member] as object), numThreads, provider: 'cpu', debug: false } };
}

interface Listening {
  stream: SherpaOnlineStream;
  /** Marks of pending requests, oldest first. */
  marks: number[];
  text: string;
}

/** Streaming recognition. Streams share the model and are decoded in batches. */
class Listener implements EnginePart {
  readonly sampleRateHz = HEARING_RATE_HZ;
  readonly speakers = 0;
  readonly #recognizer: SherpaOnlineRecognizer;
  readonly #reply: SendReply;
  readonly #streams = new Map<number, Listening>();
  #isDue = false;

  constructor(recognizer: SherpaOnlineRecognizer, reply: SendReply) {
    this.#recognizer = recognizer;
    this.#reply = reply;
  }

  take(request: EngineRequest): void {
    if (request.type === 'open') {
      this.#streams.set(request.id, { stream: this.#recognizer.createStream(), marks: [], text: '' });
    } else if (request.type === 'close') {
      this.#streams.delete(request.id);
    } else if (request.type === 'audio' || request.type === 'finish') {
      const one = this.#streams.get(request.id);
      if (one === undefined) return;
      const samples = request.type === 'audio' ? floats(request.samples) : new Float32Array(request.padSamples);
      one.stream.acceptWaveform({ samples, sampleRate: HEARING_RATE_HZ });
      if (request.type === 'finish') one.marks.push(request.mark);
      this.#soon();
    }
  }

  /** Decodes one step of each stream, so that new messages are handled in between. */
  #soon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    setImmediate(() => {
      this.#isDue = false;
      this.#step();
    });
  }

  #step(): void {
    const ready = [...this.#streams].filter(([, { stream }]) => this.#recognizer.isReady(stream));
    if (ready.length > 0) this.#recognizer.decodeStreams(ready.map(([, { stream }]) => stream));
    for (const [id, one] of ready) {
      const heard = heardOf(this.#recognizer.getResult(one.stream));
      if (heard.text !== one.text) this.#reply({ type: 'heard', id, mark: null, heard });
      one.text = heard.text;
    }
    if (ready.length > 0) this.#soon();
    for (const [id, one] of this.#streams) {
      if (one.marks.length === 0 || this.#recognizer.isReady(one.stream)) continue;
      const heard = heardOf(this.#recognizer.getResult(one.stream));
      for (const mark of one.marks.splice(0)) this.#reply({ type: 'heard', id, mark, heard });
    }
  }
}

/** Batch recognition, one recording at a time. A request that is cancelled while queued costs nothing. */
class Transcriber implements EnginePart {
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

/** Denoising. Each stream has its own small network, because the network is stateful. */
class NoiseGate implements EnginePart {
  readonly sampleRateHz: number;
  readonly speakers = 0;
  readonly #make: () => SherpaDenoiserEngine;
  readonly #reply: SendReply;
  readonly #streams = new Map<number, SherpaDenoiserEngine>();
  #spare: SherpaDenoiserEngine | null;

  constructor(make: () => SherpaDenoiserEngine, reply: SendReply) {
    this.#make = make;
    this.#reply = reply;
    this.#spare = make();
    this.sampleRateHz = this.#spare.sampleRate;
  }

  take(request: EngineRequest): void {
    if (request.type === 'open') {
      this.#streams.set(request.id, this.#spare ?? this.#make());
      this.#spare = null;
    } else if (request.type === 'close') {
      this.#streams.delete(request.id);
    } else if (request.type === 'audio') {
      const clean = this.#streams
        .get(request.id)
        ?.run({ samples: floats(request.samples), sampleRate: HEARING_RATE_HZ, enableExternalBuffer: false });
      if (clean === undefined || clean.samples.length === 0) return;
      this.#reply({ type: 'audio', id: request.id, samples: integers(clean.samples) });
    }
  }
}

function heardOf({
  text,
  tokens = [],
  timestamps = [],
  ys_probs = [],
  ys_log_probs = [],
}: SherpaResult): EngineTranscript {
  return { text, tokens, timesS: timestamps, logProbs: ys_probs.length > 0 ? ys_probs : ys_log_probs };
}

function floats(samples: Int16Array): Float32Array {
  const out = new Float32Array(samples.length);
  for (let index = 0; index < out.length; index++) out[index] = (samples[index] as number) / 32_768;
  return out;
}

function integers(samples: Float32Array): Int16Array {
  const out = new Int16Array(samples.length);
  for (let index = 0; index < out.length; index++) {
    out[index] = Math.max(-32_768, Math.min(32_767, Math.round((samples[index] as number) * 32_768)));
  }
  return out;
}

/** A FIFO queue that yields to the event loop between two jobs. */
class JobQueue<Job extends { id: number }> {
  readonly #reply: SendReply;
  readonly #work: (job: Job) => void | Promise<void>;
  readonly #waiting: Job[] = [];
  #running: number | null = null;
  #now: Promise<void> = Promise.resolve();

  constructor(reply: SendReply, work: (job: Job) => void | Promise<void>) {
    this.#reply = reply;
    this.#work = work;
  }

  add(job: Job): void {
    this.#waiting.push(job);
    if (this.#waiting.length === 1 && this.#running === null) setImmediate(() => void this.#next());
  }

  drop(id: number): void {
    const at = this.#waiting.findIndex((job) => job.id === id);
    if (at >= 0) this.#waiting.splice(at, 1);
    if (this.#running === id) this.#running = -1;
  }

  /** Whether the job is running and has not been cancelled. */
  isRunning(id: number): boolean {
    return this.#running === id;
  }

  /** Resolves when the current job is done. */
  settled(): Promise<void> {
    return this.#now;
  }

  async #next(): Promise<void> {
    const job = this.#waiting.shift();
    if (job === undefined || this.#running !== null) return;
    this.#running = job.id;
    this.#now = this.#do(job);
    await this.#now;
    this.#running = null;
    if (this.#waiting.length > 0) setImmediate(() => void this.#next());
  }

  async #do(job: Job): Promise<void> {
    try {
      await this.#work(job);
    } catch (error) {
      this.#reply({ type: 'failed', id: job.id, reason: reasonOf(error) });
    }
  }
}
