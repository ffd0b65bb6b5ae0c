import { inference, type VAD, voice } from '@livekit/agents';
import { RealClock } from '../../../dist/base/real-clock.js';
import { Ticker } from '../../../dist/base/ticker.js';
import { InstantLlm, InstantTts, ToldStt, ToldVad } from './livekit-doubles.js';
import { PacedOutput, PushedInput } from './livekit-line.js';
import type { Line, LineOptions, Side } from './line.js';

/** Its own Silero, built in, or the plug-in's on ONNX Runtime. */
export type Detector = 'built-in' | 'plug-in';

let plugIn: Promise<VAD> | null = null;

/** A detector for one session. The plug-in's weights are loaded once a process. */
export async function detectorFor(kind: Detector): Promise<VAD> {
  if (kind === 'built-in') return new inference.VAD({ model: 'silero' });
  plugIn ??= import('@livekit/agents-plugin-silero').then(({ VAD }) => VAD.load());
  return plugIn;
}

/**
 * LiveKit Agents, with a line through its custom audio input and output. It has its own defaults but for the end of
 * turns, which the detector tells: the model that tells it by default may be used with LiveKit only. The first 3 s of
 * the agent, in which it hears nobody by default, are not left out. `quick`: any speech interrupts, and model and voice
 * begin early; by default 500 ms of speech interrupt, and the model alone begins early.
 */
export function livekitSide(): Side {
  const clock = new RealClock();
  const ticker = new Ticker(clock);
  return { clock, ticker, open: (options) => openLine(clock, ticker, options), close: () => Promise.resolve() };
}

async function openLine(clock: RealClock, ticker: Ticker, options: LineOptions): Promise<Line> {
  const [recogniser, reported] = [new ToldStt(), new ToldVad()];
  const isScripted = options.ears === 'scripted';
  let decidedMs = Number.NaN;
  const output = new PacedOutput(
    () => options.onSound(clock.nowMs()),
    () => options.onQuiet(clock.nowMs()),
  );
  const { session, input } = await startSession({
    stt: recogniser,
    vad: isScripted ? reported : await detectorFor('built-in'),
    llm: new InstantLlm(options.answer),
    tts: new InstantTts(options.charMs),
    output,
    turnHandling: {
      ...(isScripted && { endpointing: { minDelay: 0, maxDelay: 0 } }),
      interruption: { mode: 'vad', ...(options.quick && { minDuration: 1 }) },
      ...(options.quick && { preemptiveGeneration: { enabled: true, preemptiveTts: true } }),
    },
  });
  const stop = ticker.subscribe(() => output.tick());
  return {
    hear: (frame) => input.push(frame.slice()),
    detect: (isSpeech) => {
      // Without a wait of its own the end of speech is the decision.
      if (!isSpeech) decidedMs = clock.nowMs();
      reported.tell(isSpeech);
    },
    transcribe: (text, isFinal) => recogniser.tell(text, isFinal),
    ask: (text) => void session.generateReply({ userInput: text }),
    decidedMs: () => decidedMs,
    close: async () => {
      stop();
      await session.close();
    },
  };
}

export interface SessionParts {
  stt: ToldStt;
  vad: VAD;
  llm: InstantLlm;
  tts: InstantTts;
  output: PacedOutput;
  turnHandling?: NonNullable<NonNullable<ConstructorParameters<typeof voice.AgentSession>[0]>['turnHandling']>;
}

/** A session that hears `input` and speaks to `output`. */
export async function startSession(parts: SessionParts): Promise<{ session: voice.AgentSession; input: PushedInput }> {
  const { output, turnHandling, ...services } = parts;
  const session = new voice.AgentSession({
    ...services,
    aecWarmupDuration: null,
    userAwayTimeout: null,
    turnHandling: { ...turnHandling, turnDetection: 'vad' },
  });
  const input = new PushedInput();
  session.input.audio = input;
  session.output.audio = output;
  await session.start({ agent: new voice.Agent({ instructions: 'You tell of trains.' }) });
  return { session, input };
}
