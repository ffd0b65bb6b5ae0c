import { fileURLToPath } from 'node:url';
import { readFileSync } from 'node:fs';
import { frameSamples, HEARING_RATE_HZ, msToSamples } from '../../dist/audio/frame.js';
import { decodeWav } from '../../dist/audio/wav.js';
import { loadAgentFile } from '../../dist/config/agent-file.js';
import { packageFile } from '../../dist/package-files.js';
import type { Engine, Session, SessionRequest } from '../../dist/index.js';
import { readFixtureLabels } from '../../dist/testing/labels.js';
import { promptedStt } from '../../dist/testing/prompted-stt.js';
import { MemoryTransport } from '../../dist/transports/memory.js';
import { instantLlm, instantTts } from './instant.js';

/** `doubles`: recogniser, model and voice cost next to nothing, so that what is left is the engine and its VAD. */
export type Engines = 'doubles' | 'embedded';
/** `idle`: a faint hiss comes in and nobody speaks. `talking`: 5 s of the user's speech and 4 s of answer in each 10 s. */
export type Conduct = 'idle' | 'talking';

const CYCLE_MS = 10_000;
/** Two recordings spoken as one sentence, without a pause in which a turn could seem to end. */
const SPEECH = ['table-rms', 'address-slt'];
const SAID = 'I would like to book a table for two on Friday evening, my address is twelve Station Road.';
/** 4 s in the hum's voice. */
const ANSWER = 'Certainly, I can do that for you. And under which name shall I write it down, please?';

/** Callers who all talk to one engine, paced by its ticker as a server's lines are. */
export class Callers {
  /** Answers that were heard to begin. */
  answers = 0;
  /** Frames of 20 ms that the callers have sent, all together. */
  frames = 0;
  readonly #engine: Engine;
  readonly #engines: Engines;
  readonly #sound: Int16Array;
  readonly #lines: { transport: MemoryTransport; at: number; session: Session | null }[] = [];
  readonly #stop: () => void;

  /** To be made before any session, so that a tick's input comes before its output. */
  constructor(engine: Engine, conduct: Conduct, engines: Engines) {
    this.#engine = engine;
    this.#engines = engines;
    this.#sound = soundOf(conduct);
    this.#stop = engine.ticker.subscribe(() => {
      this.#tick();
    });
  }

  /** One more caller; `phase` (0..1) is how far into the cycle it begins. */
  async add(phase: number): Promise<void> {
    const transport = new MemoryTransport();
    const frame = frameSamples(HEARING_RATE_HZ);
    const line = { transport, at: Math.floor((phase * this.#sound.length) / frame) * frame, session: null };
    this.#lines.push(line);
    const session = await this.#engine.createSession({
      ...(await requestFor(this.#engines)),
      transport,
      observe: (event) => {
        if (event.type === 'answered') this.answers++;
      },
    });
    Object.assign(line, { session });
    void session.run();
  }

  async leave(): Promise<void> {
    this.#stop();
    await Promise.all(this.#lines.flatMap(({ session }) => session?.close() ?? []));
  }

  #tick(): void {
    const frame = frameSamples(HEARING_RATE_HZ);
    for (const line of this.#lines) {
      line.transport.pushAudio(this.#sound.subarray(line.at, line.at + frame));
      line.at = (line.at + frame) % this.#sound.length;
      this.frames++;
    }
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
    stt: promptedStt({ lines: Array.from({ length: 10_000 }, () => SAID) }),
    llm: instantLlm(ANSWER),
    tts: instantTts(),
  };
}

/** A caller's sound for one cycle, at 16 kHz. */
export function soundOf(conduct: Conduct): Int16Array {
  return conduct === 'idle' ? hiss() : cycle();
}

/** What a quiet line sounds like: 60 dB below full scale. The same in every run. */
function hiss(): Int16Array {
  let seed = 1;
  return Int16Array.from({ length: msToSamples(CYCLE_MS, HEARING_RATE_HZ) }, () => {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.round((seed / 2 ** 32 - 0.5) * 60);
  });
}

function cycle(): Int16Array {
  const sound = hiss();
  let at = 0;
  for (const name of SPEECH) {
    const base = fileURLToPath(packageFile(`fixtures/audio/clean/${name}`));
    const { samples } = decodeWav(readFileSync(`${base}.wav`));
    const [speech] = readFixtureLabels(`${base}.json`).speech;
    if (speech === undefined) throw new Error(`nobody speaks in ${name}`);
    const spoken = samples.subarray(
      msToSamples(speech.startMs, HEARING_RATE_HZ),
      msToSamples(speech.endMs, HEARING_RATE_HZ),
    );
    sound.set(spoken, at);
    at += spoken.length;
  }
  return sound;
}
