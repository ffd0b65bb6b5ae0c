import { frameSamples } from '../../audio/frame.js';
import { dialTones } from '../../audio/tones/dtmf.js';
import type { Cancel } from '../../base/clock.js';
import type { Ticker } from '../../base/ticker.js';
import { PhonePath } from '../../telephony/carriers/simulated/path.js';
import { LineInput } from '../../transports/line-input.js';
import type { TransferOutcome, Transport, TransportMessage, TransportSink } from '../../transports/transport.js';
import { CallerEnd, type CallerEndOptions } from './caller-end.js';
import type { CallerLine, CallerLineEvents, CallerWords } from './caller-line.js';
import type { LineCodecs } from './line-codec.js';

export interface VoiceLineOptions extends CallerEndOptions {
  ticker: Ticker;
  codecs: LineCodecs;
}

/**
 * A line for speech, in ticks of 20 ms: the caller's voice, with noise and echo, through a codec, loss, delay and jitter,
 * to the agent, and the agent's back the same way.
 */
export class VoiceLine implements CallerLine, Transport {
  readonly name = 'simulated caller';
  readonly transport = this;
  readonly inputRateHz: number;
  readonly outputRateHz: number;
  readonly #ticker: Ticker;
  readonly #events: CallerLineEvents;
  readonly #input = new LineInput();
  readonly #toAgent: PhonePath;
  readonly #toCaller: PhonePath;
  readonly #end: CallerEnd;
  readonly #frame: number;
  readonly #fromAgent: (Int16Array | null)[] = [];
  /** Whether what is under way to the caller is the agent's voice, frame by frame. */
  readonly #voiced: boolean[];
  readonly #backgrounds = new WeakSet<Int16Array>();
  #stopTicks: Cancel | null = null;
  /** The agent has left; ticks until its last words have arrived. */
  #draining: number | null = null;

  constructor(options: VoiceLineOptions, events: CallerLineEvents) {
    const { conditions, codecs, random, ticker } = options;
    this.#ticker = ticker;
    this.#events = events;
    const { loss = 0, delay_ms: delayMs = 40, jitter_ms: jitterMs = 0, buffer_ms: bufferMs = 60 } = conditions;
    const quality = { loss, delayMs, jitterMs, bufferMs };
    this.#toAgent = new PhonePath(quality, random, codecs.toAgent);
    this.#toCaller = new PhonePath(quality, random, codecs.toCaller);
    this.#voiced = Array.from({ length: this.#toCaller.delayFrames }, () => false);
    this.inputRateHz = codecs.toAgent.sampleRateHz;
    this.outputRateHz = this.inputRateHz;
    this.#frame = frameSamples(this.inputRateHz);
    this.#end = new CallerEnd(this.inputRateHz, options, events);
  }

  /** Of the caller what the agent heard, of the agent what the caller heard. */
  get recording(): CallerLine['recording'] {
    const { recorded, sampleRateHz } = this.#end;
    return recorded && { ...recorded, sampleRateHz };
  }

  // The agent's end.

  start(sink: TransportSink): void {
    this.#input.start(sink);
  }

  play(frame: Int16Array | null, isBackground = false): void {
    // A background is heard, but it is not the agent's voice.
    if (isBackground && frame !== null) this.#backgrounds.add(frame);
    if (this.#draining === null) this.#fromAgent.push(frame);
  }

  send(message: TransportMessage): void {
    this.#events.onMessage(message);
  }

  transfer(target: string): Promise<TransferOutcome> {
    return this.#events.onTransfer(target);
  }

  sendDigits(digits: string): Promise<void> {
    this.#events.onDigits(digits);
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.#draining ??= this.#toCaller.delayFrames + this.#fromAgent.length + 1;
    this.#input.end();
    return Promise.resolve();
  }

  // The caller's end.

  connect(): void {
    this.#stopTicks ??= this.#ticker.subscribe(() => this.#tick());
  }

  say({ audio, text }: CallerWords): Promise<void> {
    if (audio === null) throw new Error(`there is no audio for ${JSON.stringify(text)}`);
    return this.#input.isOver ? Promise.resolve() : this.#end.say(audio);
  }

  async press(keys: string): Promise<void> {
    for (const key of keys) {
      const samples = new Int16Array(dialTones(key, this.inputRateHz).length);
      await this.say({ text: key, audio: { samples, sampleRateHz: this.inputRateHz } });
      if (key !== 'w') this.#input.digits(key);
    }
  }

  hangUp(): void {
    this.#over();
    this.#input.end();
  }

  release(): Promise<void> {
    this.hangUp();
    return Promise.resolve();
  }

  #over(): void {
    this.#stopTicks?.();
    this.#stopTicks = null;
    this.#end.end();
  }

  #tick(): void {
    const sent = this.#fromAgent.shift() ?? null;
    this.#voiced.push(sent !== null && !this.#backgrounds.has(sent));
    const heard = this.#toCaller.pass(sent);
    this.#end.hear(heard, this.#voiced.shift() === true);
    const said = this.#toAgent.pass(this.#end.next(heard));
    this.#end.keep(said);
    if (!this.#input.isOver) this.#input.audio(said ?? new Int16Array(this.#frame));
    if (this.#draining !== null && --this.#draining <= 0) this.#over();
  }
}
