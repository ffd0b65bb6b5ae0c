import type { SideName } from './line.js';

/** A fresh process, from the first import to the agent's first sound. */
export interface Start {
  importMs: number;
  /** Resident memory with the library and nothing else. */
  importRssMb: number;
  /** From there to a session that has said the first of its greeting, its Silero loaded. */
  greetedMs: number;
}

const GREETING = 'Good evening';

/** To be called in a process that has loaded nothing of either library. */
export async function start(side: SideName): Promise<Start> {
  return side === 'parley' ? startParley() : startLivekit();
}

async function startParley(): Promise<Start> {
  const fromMs = performance.now();
  const { Engine, MemoryTransport } = await import('../../../dist/index.js');
  const importedMs = performance.now();
  const importRssMb = process.memoryUsage().rss / 1e6;
  const { instantLlm, instantTts } = await import('../../lib/instant.js');
  const { promptedStt } = await import('../../../dist/testing/doubles/prompted-stt.js');
  const readyMs = performance.now();
  let hear: (atMs: number) => void = () => undefined;
  const heard = new Promise<number>((resolve) => (hear = resolve));
  const transport = new MemoryTransport({
    onFrame: (frame) => {
      if (frame !== null) hear(performance.now());
    },
  });
  const session = await new Engine().createSession({
    agent: { prompt: 'You take bookings.', first_message: GREETING },
    transport,
    stt: promptedStt({ lines: [] }),
    llm: instantLlm(GREETING),
    tts: instantTts(),
  });
  void session.run();
  return { importMs: importedMs - fromMs, importRssMb, greetedMs: (await heard) - readyMs };
}

async function startLivekit(): Promise<Start> {
  const fromMs = performance.now();
  await import('@livekit/agents');
  const importedMs = performance.now();
  const importRssMb = process.memoryUsage().rss / 1e6;
  const { PacedOutput } = await import('./livekit-line.js');
  const { InstantLlm, InstantTts, ToldStt } = await import('./livekit-doubles.js');
  const { detectorFor, startSession } = await import('./livekit-side.js');
  const readyMs = performance.now();
  let hear: (atMs: number) => void = () => undefined;
  const heard = new Promise<number>((resolve) => (hear = resolve));
  const output = new PacedOutput(
    () => hear(performance.now()),
    () => undefined,
  );
  const vad = await detectorFor('built-in');
  const services = { stt: new ToldStt(), vad, llm: new InstantLlm(GREETING), tts: new InstantTts() };
  const { session } = await startSession({ ...services, output });
  session.say(GREETING);
  return { importMs: importedMs - fromMs, importRssMb, greetedMs: (await heard) - readyMs };
}
