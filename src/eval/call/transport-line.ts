import { frameSamples, HEARING_RATE_HZ, joinedSamples } from '../../audio/frame.js';
import { Resampler } from '../../audio/dsp/resample.js';
import { DtmfDetector } from '../../audio/tones/dtmf.js';
import type { Clock } from '../../base/clock.js';
import type { FarEnd, LoopbackLine } from '../../transports/loopback/loopback-line.js';
import { lineOver } from '../../session/line-over.js';
import type { Transport } from '../../transports/transport.js';
import { CallerEnd, type CallerEndOptions } from './caller-end.js';
import type { CallerLine, CallerLineEvents, CallerWords } from './caller-line.js';

const FRAME = frameSamples(HEARING_RATE_HZ);
const SILENCE = new Int16Array(FRAME);
/** How long the agent's voice may be under way. What arrives later, after nothing but background, is background. */
const UNDER_WAY_MS = 1_000;
/** After the agent has left, its last words arrive within this many ticks, unless more is waiting to be heard. */
const DRAIN_TICKS = 15;

export interface TransportLineOptions extends CallerEndOptions {
  clock: Clock;
  line: LoopbackLine;
}

/** A line for speech over a real transport, in real time. */
export class TransportLine implements CallerLine {
  readonly transport: Transport;
  readonly #line: LoopbackLine;
  readonly #clock: Clock;
  readonly #end: CallerEnd;
  readonly #events: CallerLineEvents;
  readonly #tones = new DtmfDetector(HEARING_RATE_HZ);
  /** What has arrived and was not heard yet, at 16 kHz. */
  #arrived: Int16Array = new Int16Array(0);
  #toHearing: Resampler | null = null;
  /** When the agent's voice was last given to play. */
  #lastVoiceMs = Number.NEGATIVE_INFINITY;
  #draining: number | null = null;
  #isOver = false;

  constructor(options: TransportLineOptions, events: CallerLineEvents) {
    const { line, clock } = options;
    this.#line = line;
    this.#clock = clock;
    this.#events = events;
    this.#end = new CallerEnd(HEARING_RATE_HZ, options, events);
    const { transport } = line;
    this.transport = lineOver(transport, {
      showsForms: false,
      play: (frame, isBackground = false) => {
        if (frame !== null && !isBackground) this.#lastVoiceMs = clock.nowMs();
        transport.play(frame, isBackground);
      },
      send: (message) => {
        events.onMessage(message);
        transport.send(message);
      },
      // The line has no other phones.
      transfer: (target) => events.onTransfer(target),
      close: () => {
        this.#draining ??= DRAIN_TICKS;
        return transport.close();
      },
    });
  }

  get recording(): CallerLine['recording'] {
    const { recorded, sampleRateHz } = this.#end;
    return recorded && { ...recorded, sampleRateHz };
  }

  connect(): void {
    const caller: FarEnd = {
      next: () => this.#tick(),
      heard: (samples, sampleRateHz) => this.#hear(samples, sampleRateHz),
      pressed: (keys) => this.#events.onDigits(keys),
    };
    this.#line.connect(caller);
  }

  say({ audio, text }: CallerWords): Promise<void> {
    if (audio === null) throw new Error(`there is no audio for ${JSON.stringify(text)}`);
    return this.#end.say(audio);
  }

  async press(keys: string): Promise<void> {
    await this.#line.press(keys).catch((error: unknown) => {
      if (!this.#isOver && this.#draining === null) throw error;
    });
  }

  hangUp(): void {
    this.#over();
    void this.#line.hangUp();
  }

  release(): Promise<void> {
    this.#over();
    return this.#line.hangUp();
  }

  #over(): void {
    this.#isOver = true;
    this.#end.end();
  }

  #hear(samples: Int16Array, sampleRateHz: number): void {
    if (sampleRateHz !== HEARING_RATE_HZ) this.#toHearing ??= new Resampler(sampleRateHz, HEARING_RATE_HZ);
    const heard = this.#toHearing === null ? samples : this.#toHearing.process(samples);
    this.#arrived = joinedSamples([this.#arrived, heard]);
    for (const { digit } of this.#tones.push(heard)) {
      // Keys that come as events are silent.
      this.#events.onDigits(digit);
    }
  }

  #tick(): Int16Array | null {
    if (this.#isOver) return null;
    const heard = this.#arrived.length >= FRAME ? this.#arrived.slice(0, FRAME) : null;
    if (heard !== null) this.#arrived = this.#arrived.slice(FRAME);
    this.#end.hear(heard, this.#clock.nowMs() - this.#lastVoiceMs < UNDER_WAY_MS);
    const said = this.#end.next(heard) ?? SILENCE;
    this.#end.keep(said);
    if (this.#draining !== null && heard === null && --this.#draining <= 0) this.#over();
    return said;
  }
}
