import type { Clock } from '../base/clock.js';
import { RealClock, nowUnixMs } from '../base/real-clock.js';
import type { Ticker } from '../base/ticker.js';
import { languageName } from '../agent/language.js';
import { resolveAgent } from '../agent/resolve.js';
import { GuardedClient } from '../net/guarded-client.js';
import { LocalModels } from '../providers/local/local-models.js';
import type { AfterCallMarks } from '../session/after-call/after-call.js';
import type { DoNotCallList } from '../session/after-call/do-not-call.js';
import {
  InProcessMemories,
  type MemoryStore,
  RecentSessions,
  type SessionMemory,
} from '../session/after-call/memory.js';
import { McpServers } from '../tools/mcp/tools.js';
import { WebhookOutbox, MemoryOutboxStore } from '../tools/outbox.js';
import { Fallbacks } from './fallbacks.js';
import { Hedges } from '../providers/failover/hedged-llm.js';
import { LineDecorators } from './line-decorators.js';
import type { EngineParts } from './options.js';
import { redactingMemories, redactingParts, redactingRecorder, redactingSessions, redactorOf } from './redaction.js';
import { Providers, voiceChoice } from './providers.js';
import { Refusals } from './refusals.js';
import { type Recorder, SessionRecorder } from './session-recorder.js';
import type { LlmProvider } from '../providers/llm/llm.js';

/** What all conversations of an engine share. */
export interface EngineServices {
  readonly options: EngineParts;
  /** The conversations' clock. */
  readonly clock: Clock;
  readonly ticker: Ticker;
  /** A real-time clock, even if that of the conversations is virtual. */
  readonly networkClock: Clock;
  /** Calls addresses that agents name. */
  readonly client: GuardedClient;
  /** Calls addresses that the operator names; agents cannot make it call anything else. */
  readonly operatorClient: GuardedClient;
  readonly providers: Providers;
  readonly fallbacks: Fallbacks;
  /** The fallbacks of requests outside sessions, in real time. */
  readonly networkFallbacks: Fallbacks;
  readonly hedges: Hedges;
  readonly warmModels: WarmModels;
  readonly refusals: Refusals;
  readonly mcp: McpServers;
  readonly decorators: LineDecorators;
  /** Memories of users. */
  readonly memories: MemoryStore;
  /** The conversations of past sessions. */
  readonly sessionMemory: SessionMemory;
  readonly doNotCall: DoNotCallList;
  readonly recorder: Recorder;
  /** Null = after-call functions are not protected against running twice. */
  readonly afterCallMarks: AfterCallMarks | null;
}

/** @throws ParleyError PROVIDER_UNKNOWN, PROVIDER_NOT_CONFIGURED for an unavailable model or fallback */
export function engineServices(parts: EngineParts, clock: Clock, ticker: Ticker): EngineServices {
  const redact = redactorOf(parts.plugins);
  const options = redactingParts(parts, redact);
  const networkClock = clock.virtual ? new RealClock() : clock;
  const maxBytes = options.maxToolReplyBytes;
  const client = new GuardedClient({ clock: networkClock, maxBytes, allowUrls: options.allowUrls ?? [] });
  const localModels = new LocalModels(options.localModels);
  const providers = new Providers({
    localModels,
    models: options.models,
    vendors: options.vendors,
    vad: options.vad,
    turnModel: options.turnModel,
    plugins: options.plugins,
  });
  const refusals = new Refusals(networkClock, (provider) => options.onProviderAccepted?.(provider));
  const fallbacksOn = (time: Clock): Fallbacks =>
    new Fallbacks({
      providers,
      clock: time,
      refusalOf: (provider) => refusals.of(provider),
      failover: options.failover,
    });
  const fallbacks = fallbacksOn(clock);
  return {
    options,
    clock,
    ticker,
    networkClock,
    client,
    operatorClient: new GuardedClient({ clock: networkClock, maxBytes, allowUrls: operatorUrls(options) }),
    providers,
    refusals,
    fallbacks,
    warmModels: new WarmModels(clock),
    hedges: new Hedges(options.failover?.hedgePercentile),
    networkFallbacks: clock.virtual ? fallbacksOn(networkClock) : fallbacks,
    mcp: new McpServers({
      servers: options.mcpServers ?? {},
      clock: networkClock,
      tokens: options.mcpTokens,
      onFault: (server, reason) => options.onMcpFault?.(server, reason),
    }),
    decorators: new LineDecorators({
      clock,
      recordings: options.recordings,
      localModels,
      backgrounds: { client, clock: networkClock, folder: options.mediaCacheDir ?? null },
    }),
    memories: redactingMemories(options.memories ?? new InProcessMemories(), redact),
    sessionMemory: redactingSessions(options.sessionMemory ?? new RecentSessions(), redact),
    doNotCall: options.doNotCall,
    recorder: redactingRecorder(options.recorder ?? sessionRecorder(options, client, networkClock), redact),
    afterCallMarks: options.afterCallMarks ?? options.unfinished ?? null,
  };
}

function sessionRecorder(options: EngineParts, client: GuardedClient, clock: Clock): SessionRecorder {
  const outbox = new WebhookOutbox({
    store: options.outboxStore ?? new MemoryOutboxStore(),
    client,
    clock,
    nowUnixMs,
    secret: options.webhookSecret ?? null,
    onLost: ({ sessionId }, reason) => options.onWebhookLost?.(sessionId, reason),
  });
  return new SessionRecorder({
    outbox,
    clock,
    history: options.history ?? null,
    unfinished: options.unfinished ?? null,
  });
}

/** Addresses that the operator's client may call in addition to the public internet. */
function operatorUrls({ serviceWebhooks, appBaseUrls }: EngineParts): string[] {
  const roots = Object.values(appBaseUrls ?? {}).map((url) => new URL(url).origin);
  return [...Object.values(serviceWebhooks ?? {}).map(({ url }) => url), ...roots];
}

/**
 * Loads the default providers and opens connections in advance.
 * @returns messages about vendors that cannot be reached now
 */
export async function warmUpServices(services: EngineServices): Promise<readonly string[]> {
  const { options, providers, refusals, decorators, mcp, client, operatorClient } = services;
  const agent = resolveAgent({}, { defaults: options.defaults ?? {} });
  languageName(agent.language);
  // Each starts within its own promise, so that a synchronous throw of one does not skip the others.
  const start = async (work: () => Promise<void> | undefined): Promise<null> => {
    await work();
    return null;
  };
  const reach = async <T extends { name: string }>(
    find: () => T,
    warm: (provider: T) => Promise<void>,
  ): Promise<string | null> => {
    const provider = find();
    return refusals.warmUp(provider, () => warm(provider));
  };
  const problems = await Promise.all([
    start(() => providers.vad().warmUp()),
    start(() => providers.turnModel()?.warmUp()),
    start(() => decorators.warmUp()),
    reach(
      () => providers.stt(agent.stt.provider),
      (stt) => stt.warmUp(),
    ),
    reach(
      () => providers.tts(agent.voice.provider),
      (tts) => tts.warmUp(voiceChoice(agent)),
    ),
    reach(
      () => providers.llm(agent.llm.model, undefined),
      (llm) => llm.warmUp(),
    ),
    start(() => mcp.warmUp()),
    start(() => client.warmUp()),
    start(() => operatorClient.warmUp()),
  ]);
  return problems.filter((problem) => problem !== null);
}

/** Closes what conversations share, after them. May be called twice. */
export async function closeServices(services: EngineServices): Promise<void> {
  const { refusals, decorators, recorder, mcp, providers, client, operatorClient } = services;
  refusals.close();
  await decorators.close();
  await Promise.all([recorder.close(), mcp.close()]);
  await Promise.all([providers.close(), client.close(), operatorClient.close()]);
}

/** Vendors' connections stay open for a minute without requests. */
const WARM_MS = 45_000;

/** Opens connections to language models when calls begin, so that the first turn does not wait for one. */
export class WarmModels {
  readonly #clock: Clock;
  readonly #sinceMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Does not wait: a failure shows in the first request. */
  open(llm: LlmProvider, model: string): void {
    if (llm.virtualTime || this.#clock.virtual) return;
    const nowMs = this.#clock.nowMs();
    if (nowMs - (this.#sinceMs.get(model) ?? -Infinity) < WARM_MS) return;
    this.#sinceMs.set(model, nowMs);
    void llm.warmUp().catch(() => undefined);
  }
}
