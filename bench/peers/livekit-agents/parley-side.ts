import { HEARING_RATE_HZ } from '../../../dist/audio/frame.js';
import { RealClock } from '../../../dist/base/real-clock.js';
import { Engine } from '../../../dist/engine/engine.js';
import type { SttEvents, SttProvider } from '../../../dist/providers/stt/stt.js';
import type { VadProvider } from '../../../dist/providers/vad/vad.js';
import { MemoryTransport } from '../../../dist/transports/memory.js';
import { instantLlm, instantTts } from '../../lib/instant.js';
import type { Line, LineOptions, Side } from './line.js';

/** Sound in all of it: a cut leaves a fade of 5 ms at the beginning of one frame more. */
const TAIL = HEARING_RATE_HZ / 400;
/** Silence after which the scripted turns end. */
const SCRIPTED_SILENCE_MS = 200;

/** parley, with a line in memory. It has no quicker settings than its own, so that `quick` changes nothing. */
export function parleySide(ears: LineOptions['ears']): Side {
  const clock = new RealClock();
  const endpointing = { minSilenceMs: SCRIPTED_SILENCE_MS, maxSilenceMs: SCRIPTED_SILENCE_MS };
  const engine = new Engine({ clock, ...(ears === 'scripted' && { endpointing }) });
  return {
    clock,
    ticker: engine.ticker,
    open: (options) => openLine(engine, clock, options),
    close: () => engine.close(),
  };
}

async function openLine(engine: Engine, clock: RealClock, options: LineOptions): Promise<Line> {
  const recogniser = new ToldRecogniser();
  const detector = toldVad();
  let isHeard = false;
  let decidedMs = Number.NaN;
  const transport = new MemoryTransport({
    onFrame: (frame) => {
      const sounds = frame?.subarray(-TAIL).some((sample) => sample !== 0) ?? false;
      if (sounds === isHeard) return;
      isHeard = sounds;
      if (sounds) options.onSound(clock.nowMs());
      else options.onQuiet(clock.nowMs());
    },
  });
  const session = await engine.createSession({
    agent: { prompt: 'You tell of trains.', flow: { user_start_first: true } },
    transport,
    stt: recogniser.provider,
    ...(options.ears === 'scripted' && { vad: detector.provider }),
    llm: instantLlm(options.answer),
    tts: instantTts(options.charMs),
    observe: (event) => {
      if (event.type !== 'answered') return;
      const { speechEndMs, endOfTurnMs } = event.metrics;
      decidedMs = startMs + (speechEndMs ?? Number.NaN) + (endOfTurnMs ?? Number.NaN);
    },
  });
  const startMs = clock.nowMs();
  void session.run();
  return {
    hear: (frame) => transport.pushAudio(frame),
    detect: (isSpeech) => detector.tell(isSpeech),
    transcribe: (text, isFinal) => recogniser.tell(text, isFinal),
    ask: (text) => session.sendText(text),
    decidedMs: () => decidedMs,
    close: async () => {
      await session.close();
    },
  };
}

/** Says what it gets to say. */
class ToldRecogniser {
  readonly provider: SttProvider = {
    name: 'scripted',
    virtualTime: true,
    warmUp: () => Promise.resolve(),
    close: () => Promise.resolve(),
    open: (_, events) => {
      this.#events = events;
      return Promise.resolve({
        push: () => undefined,
        speechStarted: () => undefined,
        speechStopped: () => undefined,
        endTurn: () => void this.#segment++,
        close: () => Promise.resolve(),
      });
    },
  };
  #events: SttEvents | null = null;
  #segment = 0;

  tell(text: string, isFinal: boolean): void {
    const understood = text !== '';
    this.#events?.onTranscript({ segment: this.#segment, text, isFinal, understood, confidence: understood ? 1 : 0 });
  }
}

/** Hears what it gets to hear. */
function toldVad(): { provider: VadProvider; tell: (isSpeech: boolean) => void } {
  const windowSamples = 512;
  let probability = 0;
  const createDetector: VadProvider['createDetector'] = () => {
    let taken = 0;
    let reported = 0;
    return {
      windowSamples,
      process(samples, onWindow) {
        taken += samples.length;
        for (; reported + windowSamples <= taken; reported += windowSamples)
          onWindow(probability, reported + windowSamples);
      },
      reset: () => void (taken = reported = 0),
      close: () => undefined,
    };
  };
  return {
    provider: { name: 'scripted', warmUp: () => Promise.resolve(), createDetector },
    tell: (isSpeech) => void (probability = isSpeech ? 1 : 0),
  };
}
