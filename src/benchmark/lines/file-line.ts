import { frameSamples, HEARING_RATE_HZ } from '../../audio/frame.js';
import { FileTransport } from '../../transports/file.js';
import type { TransportSink } from '../../transports/transport.js';
import type { LineOptions, RecordingLine } from './line.js';

/** A line without a network, on any clock. */
export function openFileLine(options: LineOptions): Promise<RecordingLine> {
  const transport = new OverheardFile(options);
  return Promise.resolve({ transport, speak: () => undefined, hangUp: () => transport.close() });
}

/** Reports the frames of a file transport. It plays the recording from the start and never hangs up itself. */
class OverheardFile extends FileTransport {
  readonly #onSaid: LineOptions['onSaid'];
  readonly #onHeard: LineOptions['onHeard'];

  constructor({ samples, ticker, onSaid, onHeard }: LineOptions) {
    super({ samples, sampleRateHz: HEARING_RATE_HZ, ticker, hangUpAfterMs: Number.MAX_SAFE_INTEGER });
    this.#onSaid = onSaid;
    this.#onHeard = onHeard;
  }

  override start(sink: TransportSink): void {
    super.start({
      audio: (samples) => {
        this.#onSaid(samples.length / frameSamples(HEARING_RATE_HZ));
        sink.audio(samples);
      },
      digits: (digits) => sink.digits(digits),
      text: (text) => sink.text(text),
      formResult: (id, value) => sink.formResult(id, value),
      closed: (error) => sink.closed(error),
    });
  }

  override play(frame: Int16Array | null): void {
    this.#onHeard(frame);
    super.play(frame);
  }
}
