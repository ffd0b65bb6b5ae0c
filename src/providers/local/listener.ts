import { HEARING_RATE_HZ } from '../../audio/frame.js';
import type { EnginePart, EngineRequest, SendReply } from './engine/engine-protocol.js';
import { floats, heardOf } from './engine/engine-values.js';
import type { SherpaOnlineRecognizer, SherpaOnlineStream } from './sherpa-package.js';

interface Listening {
  stream: SherpaOnlineStream;
  /** Marks of pending requests, oldest first. */
  marks: number[];
  text: string;
}

/** Streaming recognition. Streams share the model and are decoded in batches. */
export class Listener implements EnginePart {
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
