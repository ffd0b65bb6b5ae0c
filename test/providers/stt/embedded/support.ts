import { resample } from '../../../../src/audio/dsp/resample.js';
import { RealClock } from '../../../../src/base/real-clock.js';
import { VirtualClock } from '../../../../src/base/virtual-clock.js';
import type { EmbeddedStt } from '../../../../src/providers/stt/embedded/provider.js';
import type { SpeechHints, SttStream, SttTranscript } from '../../../../src/providers/stt/stt.js';
import type { TtsProvider } from '../../../../src/providers/tts/tts.js';

const RATE_HZ = 16_000;
const FRAME = 320;

export const RESTAURANT: SpeechHints = {
  phrases: [
    'a table for {number} {date} at {time}',
    "i'd like to book a table for {number}",
    'we would like to sit outside',
    'cancel my reservation please',
    'the name is {first} {last}',
  ],
  texts: ['You are the front desk of an Italian restaurant. Take bookings. There is a terrace and parking.'],
  keywords: new Map([['risotto', 5]]),
};

/** Speech at 16 kHz, made by the embedded voice. */
export async function speak(tts: TtsProvider, text: string, voiceId = 'slt'): Promise<Int16Array> {
  const parts: number[] = [];
  const request = { text, language: 'en-US', voiceId, model: null, settings: {} };
  let rateHz = RATE_HZ;
  for await (const audio of tts.synthesize({
    ...request,
    clock: new RealClock(),
    signal: AbortSignal.timeout(10_000),
  })) {
    for (const sample of audio.samples) parts.push(sample);
    rateHz = audio.sampleRateHz;
  }
  const samples = Int16Array.from(parts);
  return rateHz === RATE_HZ ? samples : resample(samples, rateHz, RATE_HZ);
}

export interface Heard {
  readonly transcript: SttTranscript;
  readonly atMs: number;
}

/** A session in virtual time that hears what it is given, with a VAD that knows the truth and tells it a little late. */
export class Listener {
  readonly heard: Heard[] = [];
  readonly errors: Error[] = [];
  readonly faults: string[] = [];
  readonly clock = new VirtualClock();
  #stream: SttStream | undefined;
  #position = 0;

  async open(
    stt: EmbeddedStt,
    hints = RESTAURANT,
    language = 'en-US',
    signal = new AbortController().signal,
  ): Promise<this> {
    let settled = false;
    const opening = stt.open(
      { language, hints, clock: this.clock, signal },
      {
        onTranscript: (transcript) => this.heard.push({ transcript, atMs: this.clock.nowMs() }),
        onFault: (reason) => this.faults.push(reason),
        onError: (error) => this.errors.push(error),
      },
    );
    const settle = async (): Promise<void> => {
      await Promise.allSettled([opening]);
      settled = true;
    };
    void settle();
    // The opening takes no virtual time, but it does wait for the clock to be moved.
    await this.clock.runUntil(() => settled);
    this.#stream = await opening;
    return this;
  }

  get stream(): SttStream {
    if (this.#stream === undefined) throw new Error('not open');
    return this.#stream;
  }

  get position(): number {
    return this.#position;
  }

  get finals(): SttTranscript[] {
    return this.heard.map(({ transcript }) => transcript).filter(({ isFinal }) => isFinal);
  }

  async silence(ms: number): Promise<void> {
    await this.#play(new Int16Array((ms * RATE_HZ) / 1000), () => undefined);
  }

  /** Speech followed by `quietMs` of silence; the onset is reported 60 ms late and the end 240 ms late. */
  async speech(samples: Int16Array, quietMs = 300): Promise<void> {
    const onset = this.#position;
    const end = onset + samples.length;
    const audio = new Int16Array(samples.length + (quietMs * RATE_HZ) / 1000);
    audio.set(samples);
    let reported = 0;
    await this.#play(audio, (position) => {
      if (reported === 0 && position >= onset + 960) {
        reported = 1;
        this.stream.speechStarted(onset);
      }
      if (reported === 1 && position >= end + 3840) {
        reported = 2;
        this.stream.speechStopped(end);
      }
    });
  }

  /** Lets what is on its way arrive. */
  async settle(): Promise<void> {
    await this.clock.advanceBy(50);
  }

  async #play(audio: Int16Array, reported: (position: number) => void): Promise<void> {
    for (let at = 0; at < audio.length; at += FRAME) {
      const frame = audio.slice(at, at + FRAME);
      this.stream.push(frame, this.#position);
      this.#position += frame.length;
      reported(this.#position);
      await this.clock.advanceBy(20);
    }
  }
}
