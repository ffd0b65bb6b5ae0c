import type { VirtualClock } from '../base/virtual-clock.js';
import type { LlmPiece, LlmProvider, LlmRequest, ReplyShape, SpeechModel } from '../providers/llm/llm.js';

/** A remote model in virtual time: its replies take the time that they really take. */
export class PacedLlm implements LlmProvider {
  readonly name: string;
  readonly virtualTime = true;
  readonly tellsOutcomes: boolean;
  readonly speech?: SpeechModel;
  readonly shapes: readonly ReplyShape[];
  readonly #llm: LlmProvider;
  readonly #clock: VirtualClock;

  /** @param clock one that can follow a real clock */
  constructor(llm: LlmProvider, clock: VirtualClock) {
    this.name = llm.name;
    this.tellsOutcomes = llm.tellsOutcomes ?? false;
    if (llm.speech !== undefined) this.speech = llm.speech;
    this.shapes = llm.shapes ?? [];
    this.#llm = llm;
    this.#clock = clock;
  }

  warmUp(): Promise<void> {
    return this.#llm.warmUp();
  }

  async *complete(request: LlmRequest): AsyncGenerator<LlmPiece, void, undefined> {
    const done = this.#clock.follow();
    try {
      yield* this.#llm.complete(request);
    } finally {
      done();
    }
  }

  close(): Promise<void> {
    return this.#llm.close();
  }
}
