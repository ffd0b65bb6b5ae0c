import type { ChatMessage } from '../../agent/chat.js';
import type { LlmPiece, LlmProvider, LlmRequest, ReplyShape } from '../llm/llm.js';
import { type DeadlineBounds, Health } from './health.js';
import { type Contender, hedged } from './hedge.js';

/** How many of a model's latest first results determine the percentile. */
const REMEMBERED = 128;
/** With fewer nothing is known yet. */
const ENOUGH = 6;
/** A model that is quicker than this gains nothing. */
const LEAST_MS = 50;
/** What the budget always allows, in requests of the present size. */
const ALWAYS = 1;
const CHARS_PER_TOKEN = 4;
/** The failure of a request is not the matter here: only `byMs` starts the second one. */
const NEVER: DeadlineBounds = { defaultMs: 3_600_000, minMs: 3_600_000, maxMs: 3_600_000 };

/** How long a first request took, or had taken when it was cancelled or overtaken. */
interface Wait {
  ms: number;
  answered: boolean;
}

/** The times to the first result of one model, and what second requests to it have cost. All sessions share them. */
export class HedgeBook {
  readonly #times: Wait[] = [];
  #next = 0;
  readonly #percentile: number;
  #askedTokens = 0;
  #hedgeTokens = 0;

  /** @param percentile 1 to 99: a request that is later than this share of them gets a second one */
  constructor(percentile: number) {
    this.#percentile = percentile;
  }

  /** How long to wait for a first request; null = no second one follows. */
  delayMs(promptTokens: number): number | null {
    this.#askedTokens += promptTokens;
    if (this.#times.filter(({ answered }) => answered).length < ENOUGH) return null;
    const share = this.#percentile / 100;
    // A vendor that has become slow makes every request late: the budget is the share that is late when all is well.
    const mayCost = (1 - share) * this.#askedTokens + ALWAYS * promptTokens;
    if (this.#hedgeTokens + promptTokens > mayCost) return null;
    const delayMs = quantileOf(this.#times, share);
    return delayMs < LEAST_MS ? null : delayMs;
  }

  /** A second request has started. */
  hedged(promptTokens: number): void {
    this.#hedgeTokens += promptTokens;
  }

  took(wait: Wait): void {
    this.#times[this.#next] = wait;
    this.#next = (this.#next + 1) % REMEMBERED;
  }
}

/**
 * A model that is asked twice when the first token of a request is later than a running percentile. The first to answer
 * wins and the other is cancelled; its prompt counts as usage.
 */
export class HedgedLlm implements LlmProvider {
  readonly name: string;
  readonly virtualTime: boolean;
  readonly tellsOutcomes: boolean;
  readonly shapes: readonly ReplyShape[];
  readonly #llm: LlmProvider;
  readonly #book: HedgeBook;

  constructor(llm: LlmProvider, book: HedgeBook) {
    this.name = llm.name;
    this.virtualTime = llm.virtualTime;
    this.tellsOutcomes = llm.tellsOutcomes ?? false;
    this.shapes = llm.shapes ?? [];
    this.#llm = llm;
    this.#book = book;
  }

  warmUp(): Promise<void> {
    return this.#llm.warmUp();
  }

  async *complete(request: LlmRequest): AsyncGenerator<LlmPiece, void, undefined> {
    const { clock, signal } = request;
    const promptTokens = tokensOf(request.messages);
    const delayMs = this.#book.delayMs(promptTokens);
    const fromMs = clock.nowMs();
    let [isHedged, hasWinner] = [false, false];
    /** The usage of the one that loses. */
    const extra: LlmPiece[] = [];
    const health = new Health();
    const start = (own: AbortSignal): AsyncIterable<LlmPiece> => this.#llm.complete({ ...request, signal: own });
    const first: Contender<LlmPiece> = { name: this.name, provider: this.name, health, start };
    const second: Contender<LlmPiece> = {
      ...first,
      byMs: delayMs ?? 0,
      isHedge: true,
      start: (own) => {
        isHedged = true;
        this.#book.hedged(promptTokens);
        return start(own);
      },
    };
    const pieces = hedged({
      stage: 'llm',
      contenders: delayMs === null ? [first] : [first, second],
      isResult: (piece) => piece.type !== 'usage',
      bounds: NEVER,
      onSwitch: () => undefined,
      onWinner: (winner) => {
        hasWinner = true;
        this.#book.took({ ms: clock.nowMs() - fromMs, answered: winner === first });
        if (isHedged) extra.push({ type: 'usage', promptTokens, completionTokens: 0 });
      },
      clock,
      signal,
    });
    try {
      for await (const piece of pieces) {
        yield* extra.splice(0);
        yield piece;
      }
    } finally {
      if (!hasWinner) this.#book.took({ ms: clock.nowMs() - fromMs, answered: false });
    }
  }

  close(): Promise<void> {
    return this.#llm.close();
  }
}

function tokensOf(messages: readonly ChatMessage[]): number {
  return Math.ceil(messages.reduce((sum, { content }) => sum + content.length, 0) / CHARS_PER_TOKEN);
}

/** A quantile of waits of which some were cut short, by the product-limit estimate (Kaplan and Meier, 1958). */
function quantileOf(waits: readonly Wait[], share: number): number {
  const sorted = waits.toSorted((a, b) => a.ms - b.ms);
  let going = 1;
  for (const [at, { ms, answered }] of sorted.entries()) {
    if (answered) going *= 1 - 1 / (sorted.length - at);
    if (going <= 1 - share) return ms;
  }
  return sorted.at(-1)?.ms ?? 0;
}

/** Second requests to models that are late, with what all sessions know about their times. */
export class Hedges {
  readonly #percentile: number | undefined;
  readonly #books = new Map<string, HedgeBook>();

  /** @param percentile 1 to 99; undefined = no model is asked twice */
  constructor(percentile: number | undefined) {
    this.#percentile = percentile;
  }

  /** The model of a session. */
  of(llm: LlmProvider, model: string): LlmProvider {
    if (this.#percentile === undefined) return llm;
    const key = `${llm.name} ${model}`;
    const book = this.#books.get(key) ?? new HedgeBook(this.#percentile);
    this.#books.set(key, book);
    return new HedgedLlm(llm, book);
  }
}
