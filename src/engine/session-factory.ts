import { randomUUID } from 'node:crypto';
import { nowUnixMs, unixSeconds } from '../base/real-clock.js';
import { reasonOf } from '../base/errors.js';
import { EMBEDDED_DEFAULTS, type ResolvedAgent } from '../agent/resolve.js';
import type { SpeechHints, SttProvider } from '../providers/stt/stt.js';
import type { TtsProvider } from '../providers/tts/tts.js';
import {
  type ConversationConfig,
  DEFAULT_CONVERSATION,
  type ToolSpeechConfig,
} from '../agent/flow/conversation-config.js';
import { buildSystemPrompt } from '../agent/prompt.js';
import { type AgentRef, UNNAMED_AGENT } from '../agent/flow/handover.js';
import type { LogSink } from '../session/record/event-log.js';
import type { SessionTrace } from '../session/record/trace-folder.js';
import { Session } from '../session/session.js';
import { refusal } from '../session/open-commands.js';
import type { OtherAgents, SessionOptions } from '../session/session-options.js';
import { changeAgent, toolMsOf } from './change-agent.js';
import { callFacts, unfinishedSession } from './call-facts.js';
import type { SessionRecord } from './session-recorder.js';
import { messagesBefore, rememberWhenOver } from './continuation.js';
import { finalWait } from './fallbacks.js';
import { chooseVoice, NO_LANGUAGE_VENDORS, spokenLanguages, languageWishes } from './languages.js';
import { handoverConfig, otherAgents, reachableAgents } from './handover.js';
import type { AgentRequest, SessionRequest } from './options.js';
import { prepareSpokenAgent } from './prepare-agent.js';
import { flowHints } from '../providers/llm/scripted/index.js';
import type { RemoteLine, SessionHandle } from './remote-line.js';
import type { EngineServices } from './services.js';
import { speculationOf } from './speculation-budget.js';
import { baseLanguage } from '../base/language.js';
import { machineSentences } from '../conversation/voicemail/voicemail-hints.js';

type SpokenAgent = Awaited<ReturnType<typeof prepareSpokenAgent>>;

/** Creates the sessions of an engine. */
export class SessionFactory {
  readonly #services: EngineServices;

  constructor(services: EngineServices) {
    this.#services = services;
  }

  /** A session that is ready to `run()`. @throws ParleyError as `Engine.createSession` */
  async create(request: SessionRequest): Promise<Session> {
    const id = request.id ?? randomUUID();
    const startUnixMs = request.startUnixMs ?? nowUnixMs();
    const pending = new PendingSession();
    const prepared = await prepareSpokenAgent(this.#services, request, {
      id,
      onFault: pending.noteFault,
      onFinish: (destination) => pending.session?.finish(destination),
      signal: new AbortController().signal,
    });
    const { agent } = prepared;
    const line = await this.#services.decorators.line({
      transport: request.transport,
      sound: agent.sound,
      sessionId: id,
      onFault: pending.noteFault,
    });
    const onTraceFault = (reason: string): void => pending.noteFault('trace.failed', reason);
    const log = sessionLog(request.log ?? null, this.#services.options.traces?.open(id, onTraceFault) ?? null);
    const agentOptions = this.#agentOptions(prepared, request);
    const change = changeAgent(this.#services, { request, prepared, startUnixMs, onFault: pending.noteFault });
    const about = { id, startUnixMs, onFault: pending.noteFault };
    const session = new Session({
      ...agentOptions,
      ...line,
      id,
      clock: this.#services.clock,
      ticker: this.#services.ticker,
      mayTransfer: request.mayTransfer,
      consult: request.consult,
      observe: request.observe,
      conversation: await this.#conversation(prepared, request, about),
      participant: prepared.customLlm?.participant,
      listDoNotCall: this.#listDoNotCall(id, request),
      change,
      others: this.#others(prepared, request, about),
      log: log.sink,
    });
    pending.made(session);
    void session.finished.then(log.close);
    void session.finished.then(() => prepared.close());
    rememberWhenOver(session, this.#services.sessionMemory, continued(request, agent));
    const facts = callFacts(request, prepared, startUnixMs);
    const to = agent.webhooks.sessionData;
    this.#record(session, { to, facts, outcome: request.outcome ?? null }, request);
    return session;
  }

  /**
   * A session in the thread of its line. It is recorded here, because the history is here, and the outcome of its call.
   */
  async openRemote(line: RemoteLine, request: Omit<SessionRequest, 'transport'>): Promise<SessionHandle> {
    const { session, record } = await line.openSession(request);
    this.#record(session, { ...record, outcome: request.outcome ?? null }, request);
    return session;
  }

  /** The session options from the agent's configuration. */
  #agentOptions(
    { agent, toolbox, speech, llm, model, memory, customLlm }: SpokenAgent,
    request: SessionRequest,
  ): Omit<SessionOptions, 'id' | 'conversation' | 'transport' | 'clock' | 'ticker'> {
    const { providers, afterCallMarks, hedges } = this.#services;
    const { vad, stt, tts } = speech;
    const script = withFlow(request.script === undefined ? null : providers.scriptHints(request.script), agent.steps);
    const hintsIn = (language: string): SpeechHints =>
      speechHints(agent, script, request.direction ?? 'inbound', language);
    const languages = this.#languages(agent, stt, tts, hintsIn);
    return {
      vad,
      stt,
      tts,
      // A custom LLM server acts on requests, and a speech-to-speech model has one conversation.
      llm: customLlm === null && speech.realtime === null ? hedges.of(llm, model) : llm,
      model,
      ...languages,
      vadThreshold: agent.vadThreshold,
      hints: hintsIn(languages.startLanguage ?? agent.language),
      temperature: agent.llm.temperature,
      voice: agent.voice,
      toolbox,
      metadata: agent.metadata,
      optOut: agent.privacy.optOut,
      turnModel: providers.turnModel(),
      notePauses: this.#services.options.pauseFeatures === true,
      memory,
      afterCallMarks,
    };
  }

  async #conversation(
    prepared: SpokenAgent,
    request: SessionRequest,
    { startUnixMs, onFault }: AboutSession,
  ): Promise<ConversationConfig> {
    const { agent, toolbox, speech, customLlm } = prepared;
    const { options, sessionMemory } = this.#services;
    const conversation = conversationConfig(agent, toolbox.speech, startUnixMs, request.direction ?? 'inbound');
    const { deadlines } = DEFAULT_CONVERSATION;
    const whole = {
      ...conversation,
      endpointing: { ...conversation.endpointing, ...finalWait(speech.stt), ...options.endpointing },
      speculation: speculationOf(options, prepared),
      modelHears: speech.realtime?.hears ?? false,
      deadlines: { ...deadlines, toolMs: toolMsOf(toolbox) },
      opening: { ...conversation.opening, resumes: request.continuation?.resume === true },
      agent: refOf(request),
      handover:
        whyNotHandedOver(prepared) === null
          ? handoverConfig({ ...request, extensions: prepared.extensions }, agent.variables, (target) =>
              onFault('handover.missing', `there is no agent "${target}"`),
            )
          : null,
      earlier: await messagesBefore(request.continuation ?? {}, sessionMemory, continued(request, agent)),
    };
    if (customLlm === null) return whole;
    const transfer = agent.flow.transfer ?? { targets: [], instruction: null, messages: [] };
    // A custom LLM server acts on requests, so it gets none for a turn that may not be over.
    return {
      ...whole,
      speculation: { ...whole.speculation, enabled: false },
      transfer: { ...transfer, anyTarget: true },
    };
  }

  /** The agents to whom the session may hand over. */
  #others(first: SpokenAgent, request: SessionRequest, about: AboutSession): OtherAgents {
    const { options } = this.#services;
    return otherAgents({
      request,
      source: options.agents ?? null,
      whyNot: whyNotHandedOver(first),
      make: async (ref, { agent, extensions, script, tools }, variables, signal) => {
        // A program may name any agent: what that one reaches is not among those that the first one reaches.
        const reached = { agent, extensions, script, tools, agents: request.agents, agentId: ref.id };
        const agents = { ...request.agents, ...(await reachableAgents(reached, options.agents ?? null)) };
        const next: SessionRequest = {
          ...request,
          agents,
          agent,
          extensions,
          script,
          tools,
          agentId: ref.id,
          metadata: { ...first.agent.metadata, ...variables },
          continuation: null,
        };
        const prepared = await prepareSpokenAgent(this.#services, next, {
          ...about,
          onFinish: () => undefined,
          signal,
        });
        const whyNot = whyNotHandedOver(prepared) ?? whyNotAfter(first, prepared);
        if (whyNot !== null) {
          await prepared.close();
          throw refusal('handover', 'unsupported', whyNot);
        }
        const conversation = await this.#conversation(prepared, next, about);
        const change = changeAgent(this.#services, { ...about, request: next, prepared });
        return {
          ...this.#agentOptions(prepared, next),
          conversation: { ...conversation, agent: ref },
          agent: ref,
          change,
        };
      },
    });
  }

  #languages(
    agent: ResolvedAgent,
    stt: SttProvider,
    tts: TtsProvider,
    hints: (language: string) => SpeechHints,
  ): ReturnType<typeof spokenLanguages> {
    const { options, providers } = this.#services;
    const defaults = { ...EMBEDDED_DEFAULTS, ...options.defaults };
    const vendors = options.languageVendors ?? NO_LANGUAGE_VENDORS;
    // The user's words only go to providers that the agent or the operator has selected.
    const names = [defaults.sttProvider, EMBEDDED_DEFAULTS.sttProvider, ...vendors.stt];
    const otherStt = (): SttProvider[] => names.map((name) => providers.stt(name));
    const otherTts = async (language: string): Promise<TtsProvider> =>
      providers.tts(await chooseVoice(language, vendors, providers));
    return spokenLanguages({ agent, stt, tts, hints, otherStt, otherTts }, defaults.language);
  }

  /** Adds a user who asks for it to the do-not-call list; null if the call's numbers are unknown. */
  #listDoNotCall(sessionId: string, { phones, direction }: SessionRequest): SessionOptions['listDoNotCall'] {
    const { doNotCall } = this.#services;
    if (phones == null) return null;
    const number = direction === 'outbound' ? phones.to : phones.from;
    return (source) => doNotCall.add({ number, source, sessionId, createdAt: unixSeconds(nowUnixMs()) });
  }

  /** Keeps the session as unfinished until it is recorded. */
  #record(session: SessionHandle, record: SessionRecord, request: AgentRequest): void {
    const { options, recorder } = this.#services;
    if (record.to === null && options.history == null && options.recorder == null) return;
    options.unfinished?.put(unfinishedSession(session.id, record, request, null)).catch((error: unknown) => {
      session.noteFault('history.failed', reasonOf(error));
    });
    void recorder.record(session, record);
  }
}

/** What all agents of a session share. */
interface AboutSession {
  id: string;
  startUnixMs: number;
  onFault: (name: string, reason: string) => void;
}

/** Who speaks at the beginning. */
function refOf({ agentId, agents }: SessionRequest): AgentRef {
  if (agentId == null) return UNNAMED_AGENT;
  const own = agents != null && Object.hasOwn(agents, agentId) ? agents[agentId] : undefined;
  return { id: agentId, name: own?.name ?? agentId };
}

/** Why an agent can neither hand over nor be handed over to; null = it can. */
function whyNotHandedOver({ customLlm, speech }: SpokenAgent): string | null {
  if (customLlm !== null) return "an agent's own server answers in place of its model";
  return speech.realtime === null ? null : 'a speech-to-speech model has a session of its own';
}

/** What of a call was stored cannot be taken back. */
function whyNotAfter(first: SpokenAgent, next: SpokenAgent): string | null {
  const isStored = !first.agent.privacy.optOut;
  return isStored && next.agent.privacy.optOut ? 'it opts out of data collection, and this call does not' : null;
}

/** Keeps faults of a session's preparation until the session exists. */
class PendingSession {
  session: Session | null = null;
  readonly #early: [name: string, reason: string][] = [];

  readonly noteFault = (name: string, reason: string): void => {
    if (this.session === null) this.#early.push([name, reason]);
    else this.session.noteFault(name, reason);
  };

  made(session: Session): void {
    this.session = session;
    for (const [name, reason] of this.#early) session.noteFault(name, reason);
  }
}

/** The user and the agent of a session, which identify the session that it continues. */
function continued(request: SessionRequest, agent: ResolvedAgent) {
  return { agent, agentId: request.agentId ?? null, phones: request.phones ?? null };
}

/** The event log for the request's sink and the engine's traces. */
function sessionLog(
  log: LogSink | null,
  trace: SessionTrace | null,
): { sink: LogSink | null; close: () => Promise<void> } {
  if (trace === null) return { sink: log, close: async () => undefined };
  const both: LogSink = (entry) => {
    trace.log(entry);
    log?.(entry);
  };
  return { sink: both, close: () => trace.close() };
}

/**
 * The core's settings for an agent.
 * @param toolSpeech how it speaks around its tools, by name
 * @param unixMs start of the conversation, in milliseconds since 1970
 * @param direction of the call, as seen by the agent
 */
export function conversationConfig(
  agent: ResolvedAgent,
  toolSpeech: ReadonlyMap<string, ToolSpeechConfig>,
  unixMs: number,
  direction: ConversationConfig['direction'] = 'inbound',
): ConversationConfig {
  return {
    ...DEFAULT_CONVERSATION,
    ...agent.flow,
    language: agent.language,
    direction,
    systemPrompt: buildSystemPrompt(agent, unixMs),
    switchLanguage: agent.switchLanguage,
    doNotCall: agent.privacy.doNotCall,
    limits: agent.limits,
    history: agent.history,
    toolSpeech: Object.fromEntries(toolSpeech),
    steps: agent.steps === null ? null : { flow: agent.steps, startUnixMs: unixMs, timezone: agent.timezone },
  };
}

/** The hints of a script with those of a flow. */
function withFlow(script: SpeechHints | null, flow: ResolvedAgent['steps']): SpeechHints | null {
  if (flow === null) return script;
  const { phrases, texts, keywords } = flowHints(flow);
  if (script === null) return { phrases, texts, keywords };
  return {
    phrases: [...new Set([...script.phrases, ...phrases])],
    texts: [...script.texts, ...texts],
    keywords: new Map([...keywords, ...script.keywords]),
  };
}

/**
 * Hints for the recogniser from an agent's configuration.
 * @param script hints from its script. (Without the script's texts: they are the agent's words and would bias the
 * embedded recogniser towards them.)
 * @param direction on an outbound call a machine may answer, so its sentences are hints, too
 * @param language the recognised language; the script's phrases are in the agent's own, the default
 */
export function speechHints(
  agent: ResolvedAgent,
  script: SpeechHints | null,
  direction: ConversationConfig['direction'] = 'inbound',
  language: string = agent.language,
): SpeechHints {
  const listensForMachines = direction === 'outbound' && agent.flow.voicemail !== null;
  const machines = listensForMachines
    ? [...(agent.flow.voicemail?.detectionPhrases ?? []), ...machineSentences(language)]
    : [];
  const isOwnLanguage = agent.language === 'multi' || baseLanguage(language) === baseLanguage(agent.language);
  const texts = [
    agent.prompt,
    agent.flow.opening.firstMessage ?? '',
    ...agent.flow.filler.messages,
    ...agent.tools.flatMap((tool) => [
      tool.description,
      ...(tool.params ?? []).map((param) => param.description ?? ''),
      ...(tool.messages ?? []),
    ]),
  ];
  return {
    phrases: [
      ...(isOwnLanguage ? (script?.phrases ?? []) : []),
      ...machines,
      ...languageWishes(language, agent.switchLanguage?.languages ?? []),
    ],
    texts: texts.filter((text) => text !== ''),
    // The agent's keywords override those of the script.
    keywords: new Map([...(script?.keywords ?? []), ...agent.keywords]),
  };
}
