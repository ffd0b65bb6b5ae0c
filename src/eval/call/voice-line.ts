import { frameSamples } from '../../audio/frame.js';
import { dialTones } from '../../audio/tones/dtmf.js';
import type { Cancel } from '../../base/clock.js';
import type { Ticker } from '../../base/ticker.js';
import { PhonePath, type FrameCodec, g711Codec } from '../../telephony/carriers/simulated/path.js';
import { LineInput } from '../../transports/line-input.js';
import type { TransferOutcome, Transport, TransportMessage, TransportSink } from '../../transports/transport.js';
import { CallerEnd, type CallerEndOptions } from './caller-end.js';
import type { CallerLine, CallerLineEvents, CallerWords } from './caller-line.js';
import { G722Decoder, G722Encoder } from '../../audio/codecs/g722.js';
import { loadOpus } from '../../audio/codecs/opus.js';
import type { LineConditions } from '../suite/suite-schema.js';

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

const WIDEBAND_RATE_HZ = 16_000;

/** One codec for each direction of a line, and their release. */
export interface LineCodecs {
  toAgent: FrameCodec;
  toCaller: FrameCodec;
  close(): void;
}

/** @param name default G.711 with the μ-law */
export async function lineCodecs(name: LineConditions['codec'] = 'mulaw'): Promise<LineCodecs> {
  if (name === 'opus') return opusCodecs();
  const make = (): FrameCodec => (name === 'g722' ? g722() : name === 'pcm' ? pcm() : g711Codec(name));
  return { toAgent: make(), toCaller: make(), close: () => undefined };
}

function g722(): FrameCodec {
  const [encoder, decoder] = [new G722Encoder(), new G722Decoder()];
  return {
    sampleRateHz: WIDEBAND_RATE_HZ,
    encode: (frame) => encoder.encode(frame),
    decode: (packet, out) => void decoder.decode(packet, out),
  };
}

/** 16 bits a sample, without loss. */
function pcm(): FrameCodec {
  return {
    sampleRateHz: WIDEBAND_RATE_HZ,
    encode: (frame) => new Uint8Array(frame.slice().buffer),
    decode: (packet, out) => out.set(new Int16Array(packet.buffer, packet.byteOffset, packet.byteLength / 2)),
  };
}

async function opusCodecs(): Promise<LineCodecs> {
  const opus = await loadOpus();
  const open: { close(): void }[] = [];
  const make = (): FrameCodec => {
    const encoder = opus.encoder({ sampleRateHz: WIDEBAND_RATE_HZ, dtx: false });
    const decoder = opus.decoder(WIDEBAND_RATE_HZ);
    open.push(encoder, decoder);
    return {
      sampleRateHz: WIDEBAND_RATE_HZ,
      encode: (frame) => encoder.encode(frame).slice(),
      decode: (packet, out) => out.set(decoder.decode(packet)),
    };
  };
  const codecs = { toAgent: make(), toCaller: make() };
  return {
    ...codecs,
    close: () => {
      for (const one of open) one.close();
    },
  };
}
