import type { ResolvedAgent } from '../agent/resolve.js';
import { fillVariables } from '../agent/variables.js';
import { joinedSamples } from '../audio/frame.js';
import { Resampler } from '../audio/dsp/resample.js';
import { speakMarked, type TtsProvider, type TtsRequest } from '../providers/tts/tts.js';
import { WaitingLine, type WaitingEvents } from '../session/line/waiting-line.js';
import type { PlaceInQueue, TransferOutcome, Transport } from '../transports/transport.js';
import type { AgentRequest } from './options.js';
import { setUpOrThrow } from './prepare-agent.js';
import { voiceChoice } from './providers.js';
import type { EngineServices } from './services.js';

/** A caller who waits for an agent. */
export interface WaitingRequest<Line = Transport> extends AgentRequest {
  /** Not started yet. */
  transport: Line;
  /** Address of the music, or `none`; null = built-in music. */
  music: string | null;
  /** Linear gain of the music, 0..2. */
  volume: number;
  /** Phrases that are listened for; empty = no recogniser runs, and only keys are heard. */
  phrases: readonly string[];
  events: WaitingEvents;
}

/** A caller who waits, in whichever thread the line is. */
export interface WaitingCaller {
  /** The agent's language. */
  readonly language: string;
  /** Starts the line. Call it when the call is answered. */
  open(): void;
  /**
   * Says a text in the agent's voice, with its variables filled in, after those before it. Resolves with whether it was
   * heard whole. Never rejects.
   */
  say(text: string): Promise<boolean>;
  /** Ends the music, then sounds a tone. Resolves with whether it was heard. Never rejects. */
  beep(): Promise<boolean>;
  /** Connects the caller to another number, as `Transport.transfer`. */
  transfer(target: string, signal: AbortSignal): Promise<TransferOutcome>;
  /** Stops what is being said, and drops what would follow. */
  hush(): void;
  /** Tells the user's client where the user stands; phones ignore it. */
  tell(place: PlaceInQueue): void;
  /** Ends the line. What was given to it is still heard if possible. May be called twice. */
  close(): Promise<void>;
}

/** Announcements in memory; one of five seconds takes 80 kB at 8 kHz. */
const MAX_CLIPS = 64;

/** Opens the lines of waiting callers. What is said to many of them is synthesised once. */
export class WaitingRoom {
  readonly #services: EngineServices;
  /** By voice, rate and text; the least recently used first. */
  readonly #clips = new Map<string, Int16Array>();

  constructor(services: EngineServices) {
    this.#services = services;
  }

  /**
   * @returns the caller, and the line for the session that takes over
   * @throws ParleyError as `Engine.checkAgent`
   */
  async open(request: WaitingRequest): Promise<WaitingCaller & Pick<WaitingLine, 'line'>> {
    const { transport, music, volume, phrases, events, ...agentRequest } = request;
    const { clock, ticker, decorators } = this.#services;
    const { agent, speech } = await setUpOrThrow(this.#services, agentRequest, 'line', {
      onFault: (name, reason) => events.fault(name, reason),
    });
    if (speech === null) throw new Error('an agent on a line has no speech');
    // Nothing but the session talks to a speech-to-speech model.
    await speech.realtime?.session.close();
    const { tts, stt, vad } = speech;
    await Promise.all([tts.warmUp(voiceChoice(agent)), ...(phrases.length === 0 ? [] : [stt.warmUp(), vad.warmUp()])]);
    const waiting = new WaitingLine({
      transport,
      clock,
      ticker,
      volume,
      music: musicOf(music, (url) => decorators.loop(url, transport.outputRateHz)),
      speech: (text, signal) => this.#speech({ agent, tts }, { text, signal, rateHz: transport.outputRateHz }),
      listen:
        phrases.length === 0
          ? null
          : {
              stt,
              vad: vad.createDetector({ mayWait: true }),
              language: agent.language,
              model: agent.stt.model ?? undefined,
              hints: { phrases, texts: [], keywords: agent.keywords },
            },
      events,
    });
    return {
      language: agent.language,
      line: waiting.line,
      open: () => waiting.open(),
      say: (text) => waiting.say(fillVariables(text, agent.variables)),
      beep: () => waiting.beep(),
      transfer: async (target, signal) => transport.transfer?.(target, signal) ?? { ok: false, reason: 'unsupported' },
      hush: () => waiting.hush(),
      tell: (place) => transport.send({ type: 'queue', ...place }),
      close: () => waiting.close(),
    };
  }

  async #speech(
    { agent, tts }: { agent: ResolvedAgent; tts: TtsProvider },
    { text, signal, rateHz }: { text: string; signal: AbortSignal; rateHz: number },
  ): Promise<Int16Array> {
    const choice = voiceChoice(agent);
    const key = JSON.stringify([agent.voice, choice.language, rateHz, text]);
    let clip = this.#clips.get(key);
    this.#clips.delete(key);
    clip ??= await synthesised(tts, { ...choice, text, clock: this.#services.clock, signal }, rateHz);
    this.#clips.set(key, clip);
    for (const oldest of this.#clips.keys()) {
      if (this.#clips.size <= MAX_CLIPS) break;
      this.#clips.delete(oldest);
    }
    return clip;
  }
}

async function synthesised(tts: TtsProvider, request: TtsRequest, rateHz: number): Promise<Int16Array> {
  const pieces: Int16Array[] = [];
  let resampler: Resampler | null = null;
  for await (const { samples, sampleRateHz } of speakMarked(tts, request)) {
    if (resampler?.fromHz !== sampleRateHz) resampler = new Resampler(sampleRateHz, rateHz);
    pieces.push(resampler.process(samples).slice());
  }
  if (resampler !== null) pieces.push(resampler.flush().slice());
  return joinedSamples(pieces);
}

function musicOf(music: string | null, load: (url: string) => Promise<Int16Array>) {
  if (music === null) return 'built-in';
  return music === 'none' ? 'none' : load(music);
}
