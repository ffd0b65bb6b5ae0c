import type { Clock } from '../base/clock.js';
import { reasonOf } from '../base/errors.js';
import type { Ticker } from '../base/ticker.js';
import type { SessionContinuation } from '../agent/continuation.js';
import type { SessionReport } from '../session/record/session-report.js';
import { setUpAgent } from './agent-setup.js';
import { Chats } from './chat.js';
import { Completions } from './completions.js';
import { assertKnown } from './continuation.js';
import { finishSession } from './finish-session.js';
import type { AgentRequest, EngineParts, EngineVoice, Medium, Speech, SpeechRequest } from './options.js';
import { closeServices, type EngineServices, engineServices, warmUpServices } from './services.js';
import { SessionFactory } from './session-factory.js';
import type { LeftSession, UnfinishedSession } from './unfinished-session.js';
import { listVoices, synthesizeSpeech } from './voices.js';
import { type AgentReview, agentWarnings } from './warnings.js';

/** The loaded engine. `Engine` loads it for the first conversation. */
export class EngineRuntime {
  readonly sessions: SessionFactory;
  readonly chats: Chats;
  readonly completions: Completions;
  readonly #services: EngineServices;

  /** @throws ParleyError as `engineServices` */
  constructor(options: EngineParts, clock: Clock, ticker: Ticker) {
    this.#services = engineServices(options, clock, ticker);
    this.sessions = new SessionFactory(this.#services);
    this.chats = new Chats(this.#services);
    this.completions = new Completions(this.#services);
  }

  warmUp(): Promise<readonly string[]> {
    return warmUpServices(this.#services);
  }

  /** See `Engine.reviewAgent`. */
  async reviewAgent(request: AgentRequest, medium: Medium): Promise<AgentReview> {
    const { setup, faults } = await setUpAgent(this.#services, request, medium);
    if (setup === null) return { faults, warnings: [] };
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
