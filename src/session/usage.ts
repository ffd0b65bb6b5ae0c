import type { LlmUsage } from '../providers/llm/llm.js';

/** A provider, and its model where one was named: whoever gave what was used, stand-ins by their own names. */
export interface UsedProvider {
  provider: string;
  /** Null = the provider's default. */
  model: string | null;
}

export interface UsedTokens {
  /** All that was read. */
  promptTokens: number;
  /** Of these, those that came out of the vendor's cache, and those that were written to it. */
  cachedTokens: number;
  cacheWriteTokens: number;
  completionTokens: number;
  /** Of all these, those that were audio; left out where none were. */
  audio?: AudioTokens;
}

export type AudioTokens = NonNullable<LlmUsage['audio']>;

/** What a session has used, by who gave it, in the order in which they came in. */
export interface SessionUsage {
  /** Seconds for which they were the one who listened. */
  stt: readonly (UsedProvider & { seconds: number })[];
  llm: readonly (UsedProvider & { model: string } & UsedTokens)[];
  /** Characters of the utterances that they gave audio of; those that nobody gave any of are the session's own voice's. */
  tts: readonly (UsedProvider & { chars: number })[];
}

/** Counts what a session uses. */
export class UsageBook {
  readonly #stt: { who: UsedProvider; ms: number }[] = [];
  readonly #llm: { who: UsedProvider & { model: string }; tokens: UsedTokens }[] = [];
  readonly #tts: { who: UsedProvider; chars: number }[] = [];
  #listener: UsedProvider | null = null;
  #sinceMs = 0;

  /** Somebody listens from now on, in place of whoever did. */
  listens(who: UsedProvider, nowMs: number): void {
    this.#heardUntil(nowMs);
    this.#listener = who;
  }

  /** A model reports what it has read and written. */
  counted(asked: UsedProvider & { model: string }, tokens: LlmUsage): void {
    const { tokens: sum } = found(this.#llm, tokens.by ?? asked, (): { tokens: UsedTokens } => ({
      tokens: noTokens(),
    }));
    sum.promptTokens += tokens.promptTokens;
    sum.cachedTokens += tokens.cachedTokens ?? 0;
    sum.cacheWriteTokens += tokens.cacheWriteTokens ?? 0;
    sum.completionTokens += tokens.completionTokens;
    const { audio } = tokens;
    if (audio === undefined) return;
    const { promptTokens, cachedTokens, completionTokens } = sum.audio ?? NO_AUDIO;
    sum.audio = {
      promptTokens: promptTokens + audio.promptTokens,
      cachedTokens: cachedTokens + audio.cachedTokens,
      completionTokens: completionTokens + audio.completionTokens,
    };
  }

  spoke(who: UsedProvider, chars: number): void {
    found(this.#tts, who, () => ({ chars: 0 })).chars += chars;
  }

  /** Of all models together. */
  get tokens(): Omit<UsedTokens, 'audio'> {
    const sum = noTokens();
    for (const { tokens } of this.#llm) {
      for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += tokens[name];
    }
    return sum;
  }

  /** @param nowMs the end of the session, for those who still listen */
  usage(nowMs: number): SessionUsage {
    this.#heardUntil(nowMs);
    const listened = this.#stt.filter(({ ms }) => ms > 0);
    return {
      stt: (listened.length > 0 ? listened : this.#stt.slice(-1)).map(({ who, ms }) => ({
        ...who,
        seconds: ms / 1000,
      })),
      llm: this.#llm.map(({ who, tokens }) => ({ ...who, ...tokens })),
      tts: this.#tts.map(({ who, chars }) => ({ ...who, chars })),
    };
  }

  #heardUntil(nowMs: number): void {
    if (this.#listener === null) return;
    found(this.#stt, this.#listener, () => ({ ms: 0 })).ms += Math.max(0, nowMs - this.#sinceMs);
    this.#sinceMs = nowMs;
  }
}

const NO_AUDIO: AudioTokens = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };

function noTokens(): Omit<UsedTokens, 'audio'> {
  return { promptTokens: 0, cachedTokens: 0, cacheWriteTokens: 0, completionTokens: 0 };
}

/** The entry of `who`, a new one where there is none. */
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
