import { type AgentRef, UNNAMED_AGENT } from '../../agent/flow/handover.js';
import type { LlmUsage } from '../../providers/llm/llm.js';

/** A used provider, and its model if one was named. Fallbacks have their own entries. */
export interface UsedProvider {
  provider: string;
  /** Null = the provider's default. */
  model: string | null;
}

export interface UsedTokens {
  /** All tokens read. */
  promptTokens: number;
  /** Tokens among them that were read from the vendor's cache, and written to it. */
  cachedTokens: number;
  cacheWriteTokens: number;
  completionTokens: number;
  /** Audio tokens among them; left out if there were none. */
  audio?: AudioTokens;
}

export type AudioTokens = NonNullable<LlmUsage['audio']>;

/** A session's usage by provider, in order of first use. */
export interface SessionUsage {
  /** Seconds for which they recognised. */
  stt: readonly (UsedProvider & { seconds: number })[];
  /** Models that reported tokens; if none did, the one that was asked first. */
  llm: readonly (UsedProvider & { model: string } & UsedTokens)[];
  /** Characters of the utterances for which they gave audio; those without audio count for the session's own voice. */
  tts: readonly (UsedProvider & { chars: number })[];
}

/** The time for which an agent spoke with the user, in ms since the session began. */
export interface AgentPeriod {
  agentId: string | null;
  name: string;
  fromMs: number;
  toMs: number;
  usage: SessionUsage;
}

/** A provider's usage as a note in the event log. */
export type UsageNote =
  /** Recognises the user, or a participant, from now on, replacing the previous one. */
  | { stage: 'stt'; provider: string; model: string | null; participant?: string }
  /** Nobody recognises the participant any more. */
  | { stage: 'stt'; provider: null; model: null; participant: string }
  /** Has given audio of an utterance, or was the only one asked for it. */
  | { stage: 'tts'; provider: string; model: string | null; chars: number }
  /** Was asked; it may never report usage. */
  | { stage: 'llm'; provider: string; model: string }
  | TokensNote;

type TokensNote = {
  stage: 'llm';
  provider: string;
  model: string;
  promptTokens: number;
  cachedTokens: number;
  cacheWriteTokens: number;
  completionTokens: number;
  audioPromptTokens?: number;
  audioCachedTokens?: number;
  audioCompletionTokens?: number;
};

/** A model's report of usage, its own or its fallback's. */
export function tokensNote(asked: { provider: string; model: string }, usage: LlmUsage): TokensNote {
  const { by = asked, promptTokens, cachedTokens = 0, cacheWriteTokens = 0, completionTokens, audio } = usage;
  const note: TokensNote = {
    stage: 'llm',
    provider: by.provider,
    model: by.model,
    promptTokens,
    cachedTokens,
    cacheWriteTokens,
    completionTokens,
  };
  if (audio !== undefined) {
    note.audioPromptTokens = audio.promptTokens;
    note.audioCachedTokens = audio.cachedTokens;
    note.audioCompletionTokens = audio.completionTokens;
  }
  return note;
}

/** Who spoke when, and what they used. */
export class AgentPeriods {
  readonly #periods: { agent: AgentRef; fromMs: number; usage: UsageBook }[] = [
    { agent: UNNAMED_AGENT, fromMs: 0, usage: new UsageBook() },
  ];

  handedOver({ from, to }: { from: AgentRef; to: AgentRef }, nowMs: number): void {
    const last = this.#periods.at(-1);
    if (last !== undefined) last.agent = from;
    this.#periods.push({ agent: to, fromMs: nowMs, usage: new UsageBook() });
  }

  used(note: UsageNote, nowMs: number): void {
    this.#periods.at(-1)?.usage.take(note, nowMs);
  }

  /** None if one agent spoke all the time. */
  until(endMs: number): AgentPeriod[] {
    if (this.#periods.length === 1) return [];
    return this.#periods.map(({ agent, fromMs, usage }, at) => {
      const toMs = this.#periods[at + 1]?.fromMs ?? endMs;
      return { agentId: agent.id, name: agent.name, fromMs, toMs, usage: usage.usage(toMs) };
    });
  }
}

/** Counts what a session uses. */
export class UsageBook {
  readonly #stt: { who: UsedProvider; ms: number }[] = [];
  readonly #llm: { who: UsedProvider & { model: string }; tokens: UsedTokens }[] = [];
  readonly #tts: { who: UsedProvider; chars: number }[] = [];
  #asked: (UsedProvider & { model: string }) | null = null;
  /** Who recognises the user ('') and participants, by their id, and since when that is not counted yet. */
  readonly #listeners = new Map<string, { who: UsedProvider; sinceMs: number }>();

  /** Returns whether that changes anything. */
  take(note: UsageNote, nowMs: number): boolean {
    if (note.stage === 'stt') {
      this.#listens(note, nowMs);
      return true;
    }
    const { stage, provider, model } = note;
    if (stage === 'tts') found(this.#tts, { provider, model }, () => ({ chars: 0 })).chars += note.chars;
    else if ('promptTokens' in note) this.#counted(note);
    else if (this.#asked === null) this.#asked = { provider, model };
    else return false;
    return true;
  }

  /** A model was asked; it may never report usage. */
  asked(who: { provider: string; model: string }): void {
    this.#asked ??= who;
  }

  /** A model reports its usage. */
  counted(asked: { provider: string; model: string }, usage: LlmUsage): void {
    this.#counted(tokensNote(asked, usage));
  }

  #listens({ provider, model, participant = '' }: Extract<UsageNote, { stage: 'stt' }>, nowMs: number): void {
    this.#heardUntil(nowMs);
    if (provider === null) this.#listeners.delete(participant);
    else this.#listeners.set(participant, { who: { provider, model }, sinceMs: nowMs });
  }

  #counted({ provider, model, ...tokens }: TokensNote): void {
    const { tokens: sum } = found(this.#llm, { provider, model }, (): { tokens: UsedTokens } => ({
      tokens: noTokens(),
    }));
    sum.promptTokens += tokens.promptTokens;
    sum.cachedTokens += tokens.cachedTokens;
    sum.cacheWriteTokens += tokens.cacheWriteTokens;
    sum.completionTokens += tokens.completionTokens;
    if (tokens.audioPromptTokens === undefined) return;
    const { promptTokens, cachedTokens, completionTokens } = sum.audio ?? NO_AUDIO;
    sum.audio = {
      promptTokens: promptTokens + tokens.audioPromptTokens,
      cachedTokens: cachedTokens + (tokens.audioCachedTokens ?? 0),
      completionTokens: completionTokens + (tokens.audioCompletionTokens ?? 0),
    };
  }

  /** Sum over all models. */
  get tokens(): Omit<UsedTokens, 'audio'> {
    const sum = noTokens();
    for (const { tokens } of this.#llm) {
      for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += tokens[name];
    }
    return sum;
  }

  /** @param nowMs the end of the session, for providers that still recognise */
  usage(nowMs: number): SessionUsage {
    this.#heardUntil(nowMs);
    const asked = this.#asked === null ? [] : [{ who: this.#asked, tokens: noTokens() }];
    return {
      stt: this.#stt.filter(({ ms }) => ms > 0).map(({ who, ms }) => ({ ...who, seconds: ms / 1000 })),
      llm: (this.#llm.length > 0 ? this.#llm : asked).map(({ who, tokens }) => ({ ...who, ...tokens })),
      tts: this.#tts.map(({ who, chars }) => ({ ...who, chars })),
    };
  }

  #heardUntil(nowMs: number): void {
    for (const listener of this.#listeners.values()) {
      found(this.#stt, listener.who, () => ({ ms: 0 })).ms += Math.max(0, nowMs - listener.sinceMs);
      listener.sinceMs = nowMs;
    }
  }
}

const NO_AUDIO: AudioTokens = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };

function noTokens(): Omit<UsedTokens, 'audio'> {
  return { promptTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 0 };
}

/** The entry of `who`; created if missing. */
function found<W extends UsedProvider, T extends object>(
  entries: ({ who: W } & T)[],
  who: W,
  make: () => T,
): { who: W } & T {
  const known = entries.find(({ who: { provider, model } }) => provider === who.provider && model === who.model);
  if (known !== undefined) return known;
  const entry = { who, ...make() } as { who: W } & T;
  entries.push(entry);
  return entry;
}
