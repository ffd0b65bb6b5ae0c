import { Fader } from '../../audio/dsp/fade.js';
import { mix } from '../../audio/dsp/mix.js';
import { frameSamples, msToSamples } from '../../audio/frame.js';
import { holdSound } from '../../audio/tones/hold-sound.js';
import { ToneGenerator } from '../../audio/tones/tones.js';
import type { Clock } from '../../base/clock.js';
import { withTimeout } from '../../base/deadlines.js';
import { reasonOf } from '../../base/errors.js';
import type { Ticker } from '../../base/ticker.js';
import type { SpeechHints, SttProvider } from '../../providers/stt/stt.js';
import type { VadDetector } from '../../providers/vad/vad.js';
import type { Transport, TransportSink } from '../../transports/transport.js';
import { Hearing } from '../hearing/hearing.js';
import { Recogniser } from '../hearing/recogniser.js';
import { lineOver } from '../line-over.js';
import { Pacer } from '../speech/pacer.js';

/** What a waiting caller does. */
export interface WaitingEvents {
  keys(keys: string): void;
  /** The caller's words in one stretch of speech so far. Only with `listen`. */
  words(text: string): void;
  /** The line has ended. Called once, unless a session has the line by then. */
  closed(): void;
  /** The wait continues without something. */
  fault(name: string, reason: string): void;
}

export interface WaitingLineOptions {
  transport: Transport;
  clock: Clock;
  ticker: Ticker;
  /** The audio of a text, at the line's output rate. */
  speech: (text: string, signal: AbortSignal) => Promise<Int16Array>;
  /** `none`: silence between announcements. A loop may arrive later: until then, and if it fails, built-in music plays. */
  music: 'none' | 'built-in' | Promise<Int16Array>;
  /** Linear gain of the music, 0..2. */
  volume: number;
  /** Recognises the caller's words; null = only keys are heard. */
  listen: {
    vad: VadDetector;
    stt: SttProvider;
    language: string;
    model?: string | undefined;
    hints: SpeechHints;
  } | null;
  events: WaitingEvents;
}

/** Gain of the music under an announcement. */
const DUCKED = 0.12;
const DUCK_MS = 150;
const UNDUCK_MS = 600;
/** The music ends under the first words of the session. */
const HAND_OVER_MS = 300;
/** A session that says nothing for this long after its start gets a quiet line. */
const QUIET_AFTER_MS = 4000;
/** Deadline for the audio of an announcement; the caller hears music meanwhile. */
const SPEECH_MS = 15_000;

/** Asks for a message. */
const BEEP = { ms: 400, tone: { frequenciesHz: [1000], levelDbfs: -16 } };

/** Nobody listens to the words: no window is speech. */
const NO_VAD: VadDetector = {
  windowSamples: 512,
  process: () => undefined,
  reset: () => undefined,
  close: () => undefined,
};
const NO_STT = { push: () => undefined, speechStarted: () => undefined, speechStopped: () => undefined };

interface Clip {
  samples: Int16Array;
  at: number;
  onOver: (isWhole: boolean) => void;
}

/**
 * A line whose caller waits: with music, announcements and keys, without a model. Then a session gets the same line: the
 * music plays until the session's first words, and fades out under them.
 */
export class WaitingLine {
  /** The line for a session. `start` takes it over. */
  readonly line: Transport;
  readonly #options: WaitingLineOptions;
  readonly #hearing: Hearing;
  readonly #recogniser: Recogniser | null;
  readonly #pacer: Pacer;
  readonly #closing = new AbortController();
  readonly #frameLength: number;
  readonly #music = new Fader(0);
  readonly #voice = new Fader(1);
  #sound: (() => Int16Array) | null;
  #isStarted = false;
  #sink: TransportSink | null = null;
  #closed: { error: Error | undefined } | null = null;
  #clip: Clip | null = null;
  #speaking: Promise<unknown> = Promise.resolve();
  #hush = new AbortController();
  /** Frames of the session before its first words; null = the music is over. */
  #quiet: number | null = 0;

  constructor(options: WaitingLineOptions) {
    this.#options = options;
    const { transport, clock, music, events, listen } = options;
    const rateHz = transport.outputRateHz;
    this.#frameLength = frameSamples(rateHz);
    const builtIn = music === 'none' ? null : holdSound('music', rateHz);
    this.#sound = builtIn && (() => builtIn.frame());
    this.#music.fadeTo(1, msToSamples(UNDUCK_MS, rateHz));
    if (music instanceof Promise) {
      music.then(
        (loop) => (this.#sound = looping(loop, this.#frameLength)),
        (error: unknown) => events.fault('music.failed', reasonOf(error)),
      );
    }
    const startMs = clock.nowMs();
    const nowMs = (): number => clock.nowMs() - startMs;
    this.#recogniser = listen && this.#newRecogniser(listen);
    this.#hearing = new Hearing(
      {
        nowMs,
        emit: (event) => {
          if (event.type === 'digits') events.keys(event.digits);
        },
      },
      {
        inputRateHz: transport.inputRateHz,
        vad: listen?.vad ?? NO_VAD,
        vadThreshold: 0.5,
        stt: this.#recogniser ?? NO_STT,
        hearsFax: false,
      },
    );
    const source = { pull: (skipped: number) => this.#frame(skipped), playable: () => false, rests: () => false };
    this.#pacer = new Pacer(transport, source, (error) => this.#onClosed(error as Error));
    this.line = lineOver(transport, {
      start: (sink) => this.#handOver(sink),
      play: (frame, isBackground = false) => this.#playUnder(frame, isBackground),
      close: () => this.close(),
    });
  }

  /** Starts the line, once it is answered. */
  open(): void {
    this.#recogniser?.open();
    this.#start();
    if (this.#closed === null) this.#pacer.start(this.#options.ticker);
  }

  #start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#options.transport.start({
      audio: (samples) => (this.#sink === null ? this.#hearing.audio(samples) : this.#sink.audio(samples)),
      digits: (keys) => (this.#sink === null ? this.#hearing.keys(keys) : this.#sink.digits(keys)),
      text: (text) => this.#sink?.text(text),
      formResult: (id, value) => this.#sink?.formResult(id, value),
      closed: (error) => this.#onClosed(error),
    });
  }

  /** Says a text after those before it. Resolves with whether it was heard whole. Never rejects. */
  say(text: string): Promise<boolean> {
    const { signal } = this.#hush;
    const said = this.#speaking.then(() => this.#say(text, signal));
    this.#speaking = said;
    return said;
  }

  /** Ends the music, then sounds a tone. Resolves with whether it was heard. */
  beep(): Promise<boolean> {
    const rateHz = this.#options.transport.outputRateHz;
    this.#sound = null;
    const samples = new Int16Array(msToSamples(BEEP.ms, rateHz));
    new ToneGenerator(rateHz, { ...BEEP.tone, cadenceMs: [BEEP.ms, 0], repeat: false }).read(samples);
    return new Promise((resolve) => {
      if (this.#closing.signal.aborted) resolve(false);
      else this.#clip = { samples, at: 0, onOver: resolve };
    });
  }

  /** Stops what is being said, and drops what would follow. */
  hush(): void {
    this.#hush.abort();
    this.#hush = new AbortController();
    this.#endClip(false);
  }

  /** Ends the line. May be called twice. */
  close(): Promise<void> {
    this.#release();
    return this.#options.transport.close();
  }

  async #say(text: string, signal: AbortSignal): Promise<boolean> {
    const { clock, speech, events } = this.#options;
    const both = AbortSignal.any([signal, this.#closing.signal]);
    if (both.aborted || text.trim() === '') return false;
    let samples: Int16Array;
    try {
      samples = await withTimeout(clock, SPEECH_MS, (end) => speech(text, end), both);
    } catch (error) {
      if (!both.aborted) events.fault('announcement.failed', reasonOf(error));
      return false;
    }
    if (both.aborted) return false;
    return new Promise((resolve) => {
      this.#clip = { samples, at: 0, onOver: resolve };
      this.#duck(true);
    });
  }

  #endClip(isWhole: boolean): void {
    const clip = this.#clip;
    this.#clip = null;
    if (clip === null) return;
    this.#duck(false);
    clip.onOver(isWhole);
  }

  #duck(on: boolean): void {
    this.#music.fadeTo(on ? DUCKED : 1, this.#samplesOf(on ? DUCK_MS : UNDUCK_MS));
  }

  #samplesOf(ms: number): number {
    return msToSamples(ms, this.#options.transport.outputRateHz);
  }

  /** The next 20 ms of music and announcement; null = silence. */
  #frame(skipped = 0): Int16Array | null {
    const music = this.#sound?.() ?? null;
    if (music !== null) this.#music.apply(music);
    const clip = this.#clip;
    if (clip !== null) clip.at += skipped * this.#frameLength;
    const voice = clip?.samples.slice(clip.at, clip.at + this.#frameLength) ?? null;
    if (clip !== null && voice !== null) {
      this.#voice.apply(voice);
      clip.at += this.#frameLength;
      if (clip.at >= clip.samples.length) this.#endClip(true);
    }
    if (music === null && voice === null) return null;
    const out = new Int16Array(this.#frameLength);
    const sources = [...(music === null ? [] : [music]), ...(voice === null ? [] : [voice])];
    const { volume } = this.#options;
    mix(out, sources, [...(music === null ? [] : [volume]), 1]);
    return out;
  }

  /** A session takes the line. */
  #handOver(sink: TransportSink): void {
    this.#sink = sink;
    this.#hush.abort();
    this.#stopHearing();
    // Half a word is cut without a click.
    this.#voice.fadeTo(0, this.#samplesOf(DUCK_MS));
    if (this.#closed !== null) sink.closed(this.#closed.error);
    // The caller has not waited: there is no music to end.
    if (!this.#isStarted) this.#quiet = null;
    this.#start();
  }

  /** A frame of the session, over the end of the music. */
  #playUnder(frame: Int16Array | null, isBackground: boolean): void {
    const { transport } = this.#options;
    this.#pacer.stop();
    if (this.#quiet === null) {
      transport.play(frame, isBackground);
      return;
    }
    const isQuiet = frame === null || isBackground;
    if (this.#quiet >= 0 && (!isQuiet || ++this.#quiet > QUIET_AFTER_MS / 20)) {
      this.#quiet = -1;
      this.#endClip(false);
      this.#music.fadeTo(0, this.#samplesOf(HAND_OVER_MS));
    }
    const under = this.#frame();
    if (this.#quiet < 0 && !this.#music.fading) this.#quiet = null;
    if (under === null) transport.play(frame, isBackground);
    else if (frame === null) transport.play(under, true);
    else {
      const out = new Int16Array(frame.length);
      mix(out, [frame, under]);
      transport.play(out, isBackground);
    }
  }

  #newRecogniser({ stt, language, model, hints }: NonNullable<WaitingLineOptions['listen']>): Recogniser {
    const { clock, events } = this.#options;
    return new Recogniser(
      { clock, emit: () => undefined, fault: (name, reason) => events.fault(name, reason) },
      {
        stt,
        language,
        model,
        hints,
        signal: this.#closing.signal,
        onTranscript: ({ text, understood }) => {
          if (understood && this.#sink === null) events.words(text);
        },
      },
    );
  }

  #onClosed(error?: Error): void {
    if (this.#closed !== null) return;
    this.#closed = { error };
    this.#release();
    if (this.#sink === null) this.#options.events.closed();
    else this.#sink.closed(error);
  }

  #stopHearing(): void {
    this.#hearing.close();
    void this.#recogniser?.close().catch(() => undefined);
  }

  #release(): void {
    this.#pacer.stop();
    this.#closing.abort();
    this.#endClip(false);
    this.#stopHearing();
  }
}

/** @param loop at least one sample */
function looping(loop: Int16Array, frameLength: number): () => Int16Array {
  let at = 0;
  return () => {
    const frame = new Int16Array(frameLength);
    for (let filled = 0; filled < frameLength;) {
      const piece = loop.subarray(at, at + frameLength - filled);
      frame.set(piece, filled);
      filled += piece.length;
      at = (at + piece.length) % loop.length;
    }
    return frame;
  };
}
