import { fileURLToPath } from 'node:url';
import { frameSamples, HEARING_RATE_HZ } from '../../dist/audio/frame.js';
import { loadAgentFile } from '../../dist/agent/agent-file.js';
import { packageFile } from '../../dist/package-files.js';
import type { Engine, Session, SessionRequest } from '../../dist/index.js';
import type { VadProvider } from '../../dist/providers/vad/vad.js';
import { promptedStt } from '../../dist/testing/doubles/prompted-stt.js';
import { MemoryTransport } from '../../dist/transports/memory.js';
import { ANSWER, type Conduct, SAID, soundOf } from './caller-sound.js';
import { instantLlm, instantTts } from './instant.js';

/** `doubles`: recogniser, model and voice cost next to nothing, so that what is left is the engine and its VAD. */
export type Engines = 'doubles' | 'embedded';

/** What callers say, turn after turn. One list for all, so that none of it counts as a session's memory. */
const LINES = Array.from({ length: 10_000 }, () => SAID);

export interface CallersOptions {
  /** Default the engine's. */
  vad?: VadProvider;
  /** Gets each line before its session has it. Default: nobody does. */
  watch?: (line: MemoryTransport) => MemoryTransport;
}

/** Callers who all talk to one engine, each paced by its ticker as a server's lines are. */
export class Callers {
  /** Answers that were heard to begin. */
  answers = 0;
  /** Frames of 20 ms that the callers have sent, all together. */
  frames = 0;
  readonly #engine: Engine;
  readonly #engines: Engines;
  readonly #options: CallersOptions;
  readonly #sound: Int16Array;
  readonly #lines: { stop: () => void; session: Session }[] = [];

  constructor(engine: Engine, conduct: Conduct, engines: Engines, options: CallersOptions = {}) {
    this.#options = options;
    this.#engine = engine;
    this.#engines = engines;
    this.#sound = soundOf(conduct);
  }

  /** One more caller; `phase` (0..1) is how far into the cycle it begins. */
  async add(phase: number): Promise<void> {
    const { vad, watch = (made) => made } = this.#options;
    const transport = watch(new MemoryTransport());
    const frame = frameSamples(HEARING_RATE_HZ);
    let at = Math.floor((phase * this.#sound.length) / frame) * frame;
    const stop = this.#engine.ticker.subscribe(() => {
      transport.pushAudio(this.#sound.subarray(at, at + frame));
      at = (at + frame) % this.#sound.length;
      this.frames++;
    });
    const session = await this.#engine.createSession({
      ...(await requestFor(this.#engines)),
      ...(vad && { vad }),
      transport,
      observe: (event) => {
        if (event.type === 'answered') this.answers++;
      },
    });
    this.#lines.push({ stop, session });
    void session.run();
  }

  async leave(): Promise<void> {
    for (const { stop } of this.#lines) stop();
    await Promise.all(this.#lines.map(({ session }) => session.close()));
  }
}

/** The session that a caller gets. */
export async function requestFor(engines: Engines): Promise<Omit<SessionRequest, 'transport'>> {
  if (engines === 'embedded') {
    const file = await loadAgentFile(fileURLToPath(packageFile('examples/restaurant/agent.json')));
    const { inactivity_handling: _, ...flow } = file.config.flow ?? {};
    return { agent: { ...file.config, flow, session_timeout: null }, script: file.script };
  }
  return {
    agent: { prompt: 'You take bookings.', first_message: 'Good evening.' },
    stt: promptedStt({ lines: LINES }),
    llm: instantLlm(ANSWER),
    tts: instantTts(),
  };
}
