import type { Clock } from '../base/clock.js';
import { reasonOf } from '../base/errors.js';
import type { Ticker } from '../base/ticker.js';
import type { SessionContinuation } from '../agent/continuation.js';
import type { SessionReport } from '../session/record/session-report.js';
import { setUpAgent } from './agent-setup.js';
import { unknownTargets } from './handover.js';
import { Chats } from './chat.js';
import { Completions } from './completions.js';
import { assertKnown } from './continuation.js';
import { finishSession } from './finish-session.js';
import type { AgentRequest, EngineParts, EngineVoice, Medium, Speech, SpeechRequest } from './options.js';
import { closeServices, engineServices, type EngineServices, warmUpServices } from './services.js';
import { SessionFactory } from './session-factory.js';
import type { LeftSession, UnfinishedSession } from './unfinished-session.js';
import { WaitingRoom } from './waiting.js';
import { type AgentReview, agentWarnings } from './warnings.js';
import { HEARING_RATE_HZ, joinedSamples } from '../audio/frame.js';
import { withTimeout } from '../base/deadlines.js';
import { RealClock } from '../base/real-clock.js';
import { EMBEDDED_DEFAULTS } from '../agent/resolve.js';
import { speakMarked } from '../providers/tts/tts.js';

/** The loaded engine. `Engine` loads it for the first conversation. */
export class EngineRuntime {
  readonly sessions: SessionFactory;
  readonly chats: Chats;
  readonly completions: Completions;
  readonly waitingRoom: WaitingRoom;
  readonly #services: EngineServices;

  /** @throws ParleyError as `engineServices` */
  constructor(options: EngineParts, clock: Clock, ticker: Ticker) {
    this.#services = engineServices(options, clock, ticker);
    this.sessions = new SessionFactory(this.#services);
    this.chats = new Chats(this.#services);
    this.completions = new Completions(this.#services);
    this.waitingRoom = new WaitingRoom(this.#services);
  }

  warmUp(): Promise<readonly string[]> {
    return warmUpServices(this.#services);
  }

  /** See `Engine.reviewAgent`. */
  async reviewAgent(request: AgentRequest, medium: Medium): Promise<AgentReview> {
    const { setup, faults } = await setUpAgent(this.#services, request, medium);
    const unknown = await unknownTargets(request, this.#services.options.agents ?? null);
    if (setup === null) return { faults: [...faults, ...unknown], warnings: [] };
    if (unknown.length > 0) return { faults: unknown, warnings: [] };
    const { agent, refusal } = setup;
    const warnings = agentWarnings({ request, agent, options: this.#services.options });
    if (refusal === null) return { faults: [], warnings };
    const refused = { loc: ['llm', 'model'], msg: `${reasonOf(refusal)}. Until then its calls are refused.` };
    return { faults: [], warnings: [refused, ...warnings] };
  }

  /** See `Engine.checkContinuation`. */
  checkContinuation(continuation: SessionContinuation, agentId: string | null): Promise<void> {
    return assertKnown(continuation, this.#services.sessionMemory, agentId);
  }

  finishSession(session: UnfinishedSession, left: LeftSession): Promise<SessionReport> {
    return finishSession(this.#services, session, left);
  }

  speech(request: SpeechRequest): Promise<Speech> {
    return synthesizeSpeech(this.#services, request);
  }

  voices(): Promise<EngineVoice[]> {
    return listVoices(this.#services);
  }

  async close(): Promise<void> {
    await Promise.all([this.chats.close(), this.completions.close()]);
    await closeServices(this.#services);
  }
}

/** Deadline for a provider to list its voices. */
const VOICES_MS = 5_000;

/** See `Engine.speech`. */
async function synthesizeSpeech({ options, providers }: EngineServices, request: SpeechRequest): Promise<Speech> {
  const defaults = { ...EMBEDDED_DEFAULTS, ...options.defaults };
  const { text, signal } = request;
  const language = request.language ?? defaults.language;
  const voice = { voiceId: request.voiceId ?? null, model: request.model ?? null, settings: request.settings ?? {} };
  const tts = providers.tts(request.provider ?? defaults.voiceProvider);
  await tts.warmUp({ language, ...voice });
  const pieces: Int16Array[] = [];
  let sampleRateHz = HEARING_RATE_HZ;
  // Real time, because this speech is not part of a conversation.
  const clock = new RealClock();
  const pronunciation = request.pronunciation ?? null;
  for await (const audio of speakMarked(tts, { text, language, ...voice, pronunciation, clock, signal })) {
    sampleRateHz = audio.sampleRateHz;
    pieces.push(audio.samples.slice());
  }
  return { samples: joinedSamples(pieces), sampleRateHz };
}

/** See `Engine.voices`. A provider that is not on this machine or is late has none. */
async function listVoices({ providers, networkClock }: EngineServices): Promise<EngineVoice[]> {
  const listed = providers.ttsNames.map(async (name) => {
    const provider = providers.tts(name);
    // Some providers fetch their voices on first use.
    const fetched = provider.speaks?.(EMBEDDED_DEFAULTS.language) ?? Promise.resolve(true);
    await withTimeout(networkClock, VOICES_MS, () => fetched);
    // espeak-ng lists some voices twice.
    const ids = new Set<string>();
    const account = (await provider.accountVoices?.()) ?? [];
    const isNew = ({ id }: EngineVoice): boolean => !ids.has(id) && ids.add(id).size > 0;
    return [...account, ...provider.voices()].map((voice) => ({ ...voice, provider: name })).filter(isNew);
  });
  const found = await Promise.allSettled(listed);
  return found.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
}
