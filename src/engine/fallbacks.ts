import type { Clock } from '../base/clock.js';
import { type Failover, NO_FAILOVER } from '../settings/failover.js';
import { SCRIPTED_MODEL } from '../settings/models.js';
import type { ResolvedAgent } from '../agent/resolve.js';
import type { EndpointingConfig } from '../agent/flow/turn-taking.js';
import type { ParleyError } from '../base/errors.js';
import { HealthBook, type Switch } from '../providers/failover/health.js';
import { FailoverLlm, type LlmEntry } from '../providers/failover/llm.js';
import { FailoverStt } from '../providers/failover/stt.js';
import { FailoverTts } from '../providers/failover/tts.js';
import type { LlmProvider } from '../providers/llm/llm.js';
import type { SttProvider } from '../providers/stt/stt.js';
import type { TtsProvider } from '../providers/tts/tts.js';
import type { Providers } from './providers.js';

export interface FallbacksOptions {
  failover?: Failover | undefined;
  providers: Pick<Providers, 'stt' | 'llm' | 'tts'>;
  clock: Clock;
  refusalOf: (provider: LlmProvider) => ParleyError | null;
}

type OnSwitch = (what: Switch) => void;

/** Deadline for the final transcript when a fallback of a vendor's recogniser repeats the speech. */
const FALLBACK_FINAL_MS = 2000;

/**
 * The session waits for a vendor's final transcript until a fallback had time to produce one; then the interim words
 * count.
 */
export function finalWait(stt: SttProvider): Partial<Pick<EndpointingConfig, 'finalTranscriptMs'>> {
  if (!stt.virtualTime) return { finalTranscriptMs: FALLBACK_FINAL_MS };
  return stt.finalMs === undefined ? {} : { finalTranscriptMs: stt.finalMs };
}

/** Voices without a vendor, the one for English first. */
const EMBEDDED_VOICES = ['flite', 'espeak-ng'];
const NO_VOICE = { voiceId: null, model: null, settings: {} };

/** Adds the operator's fallbacks to an agent's providers. All sessions share the providers' health. */
export class Fallbacks {
  readonly #failover: Failover;
  readonly #providers: FallbacksOptions['providers'];
  readonly #clock: Clock;
  readonly #refusalOf: FallbacksOptions['refusalOf'];
  readonly #health = new HealthBook();

  /** @throws ParleyError PROVIDER_UNKNOWN, PROVIDER_NOT_CONFIGURED for an unavailable entry of the lists */
  constructor({ failover = NO_FAILOVER, providers, clock, refusalOf }: FallbacksOptions) {
    this.#failover = failover;
    this.#providers = providers;
    this.#clock = clock;
    this.#refusalOf = refusalOf;
    for (const { provider } of failover.stt) providers.stt(provider);
    for (const { provider } of failover.tts) providers.tts(provider);
    for (const model of failover.llm) providers.llm(model, undefined);
  }

  /**
   * The agent's recogniser. A vendor's stream is reopened after a failure, even without a fallback.
   * @param own that of a speech-to-speech model. Default: the one that the agent names
   */
  stt(agent: Pick<ResolvedAgent, 'stt' | 'language'>, onSwitch: OnSwitch, own?: SttProvider): SttProvider {
    own ??= this.#providers.stt(agent.stt.provider);
    const others = this.#failover.stt
      .map(({ provider, ...options }) => ({ provider: this.#providers.stt(provider), options }))
      // The agent's recogniser with another model may be its own fallback.
      .filter(({ provider, options }) => provider !== own || (options.model ?? agent.stt.model) !== agent.stt.model)
      .filter(({ provider }) => this.#fits(provider))
      .filter(({ provider: { abilities } }) => {
        return agent.language === 'multi' || abilities?.understands?.(agent.language) !== false;
      })
      .map(({ provider, options }) => ({
        provider,
        // The model that the agent names belongs to its own recogniser.
        options: { ...options, multilingual: agent.stt.multilingual && provider.abilities?.multilingual === true },
      }));
    if (others.length === 0 && own.virtualTime) return own;
    const entries = [{ provider: own }, ...others].map((entry) => ({
      ...entry,
      health: this.#health.of('stt', entry.provider.name),
    }));
    return new FailoverStt({ entries, onSwitch });
  }

  /**
   * The agent's voice. A vendor's request without a fallback is repeated once, and finally an embedded voice speaks,
   * unless the operator has disabled that.
   * @param own replaces the one that the agent names
   */
  tts(agent: Pick<ResolvedAgent, 'voice'>, onSwitch: OnSwitch, own?: TtsProvider): TtsProvider {
    own ??= this.#providers.tts(agent.voice.provider);
    const others = this.#failover.tts
      .map(({ provider, voiceId = null, model = null, settings = {} }) => ({
        provider: this.#providers.tts(provider),
        voice: { voiceId, model, settings },
      }))
      .filter(({ provider }) => provider !== own && this.#fits(provider));
    const isAlone = others.length === 0;
    if (isAlone && own.virtualTime) return own;
    const embedded = (this.#failover.embeddedVoice ?? true) && !own.virtualTime ? EMBEDDED_VOICES : [];
    const lasts = embedded
      .map((name) => ({ provider: this.#providers.tts(name), voice: NO_VOICE, last: true }))
      .filter(({ provider }) => !others.some((other) => other.provider === provider));
    const entries = [{ provider: own, again: isAlone }, ...others, ...lasts].map((entry) => ({
      ...entry,
      health: this.#health.of('tts', entry.provider.name),
    }));
    return new FailoverTts({ entries, onSwitch });
  }

  /**
   * The agent's model, then the operator's list, then the agent's own script. A model without fallbacks is asked twice.
   * @param speech a speech-to-speech model in place of the agent's
   * @throws ParleyError PROVIDER_UNKNOWN, CONFIG_INVALID for a script with faults
   */
  llm(model: string, script: unknown, onSwitch: OnSwitch, speech?: LlmProvider): LlmProvider {
    const own = speech ?? this.#providers.llm(model, script);
    // The agent's own script needs no fallback.
    if (model === SCRIPTED_MODEL) return own;
    const others = this.#failover.llm
      .filter((id) => id !== model)
      .map((id) => ({ provider: this.#providers.llm(id, script), model: id }));
    if (script !== undefined && !own.virtualTime && !others.some((other) => other.model === SCRIPTED_MODEL)) {
      others.push({ provider: this.#providers.llm(SCRIPTED_MODEL, script), model: SCRIPTED_MODEL });
    }
    const usable = others.filter(({ provider }) => this.#fits(provider));
    const isAlone = usable.length === 0;
    if (isAlone && (own.virtualTime || speech !== undefined)) return own;
    const entries: LlmEntry[] = [
      { provider: own, health: this.#health.of('llm', model), label: `${own.name} ${model}`, again: isAlone },
      ...usable.map((entry) => ({
        ...entry,
        health: this.#health.of('llm', entry.model),
        needsWords: speech !== undefined,
      })),
    ];
    return new FailoverLlm({ entries, onSwitch });
  }

  /**
   * Why a model cannot answer: its vendor refuses the key, and it has neither a script nor a fallback in the operator's
   * list.
   */
  refusal(model: string, script: unknown): ParleyError | null {
    const refusal = this.#refusalOf(this.#providers.llm(model, script));
    const hasFallback = script !== undefined || this.#failover.llm.some((id) => id !== model);
    return hasFallback ? null : refusal;
  }

  #fits({ virtualTime }: { virtualTime: boolean }): boolean {
    return virtualTime || !this.#clock.virtual;
  }
}
