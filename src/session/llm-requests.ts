import type { ConversationEffect } from '../conversation/events.js';
import { failureOf } from '../base/errors.js';
import type { LlmProvider, LlmUsage, LlmVoice } from '../providers/llm/llm.js';
import type { Toolbox } from '../tools/tool.js';
import type { ProviderOutcome } from '../providers/outcome.js';
import { untilAborted } from '../base/deadlines.js';
import { OutcomeTimer } from './outcome-timer.js';
import type { SessionContext } from './session-context.js';
import type { Voice } from './speech/voice.js';

export interface LlmRequestsOptions {
  llm: LlmProvider;
  model: string;
  temperature: number;
  onUsage: (usage: LlmUsage) => void;
  onOutcome: (outcome: ProviderOutcome) => void;
  /** Offers its tools in addition to those that the conversation names. */
  toolbox?: Pick<Toolbox, 'specs'> | undefined;
  /** Plays the audio of a model that speaks itself. Its words are events. */
  voice: Pick<Voice, 'hear' | 'over' | 'giveUp'>;
}

type LlmStart = Extract<ConversationEffect, { type: 'llm.start' }>;
type Asked = Pick<LlmStart, 'requestId' | 'messages' | 'tools'> & { step: LlmStart['step'] };

/** While a model speaks itself, the conversation gets an event at least this often, with or without words. */
const VOICE_SIGN_MS = 1000;

/** Runs the requests to the model and turns what it streams into events. */
export class LlmRequests {
  readonly #context: SessionContext;
  #options: LlmRequestsOptions;
  readonly #running = new Map<number, AbortController>();

  constructor(context: SessionContext, options: LlmRequestsOptions) {
    this.#context = context;
    this.#options = options;
  }

  /** Another model, or other tools, for the requests that follow. */
  use(changed: Partial<Pick<LlmRequestsOptions, 'llm' | 'model' | 'temperature' | 'toolbox'>>): void {
    this.#options = Object.assign({}, this.#options, changed);
  }

  start({ requestId, messages, tools: actions, only, step }: LlmStart): void {
    const all = [...actions, ...(this.#options.toolbox?.specs ?? [])];
    const tools = only === undefined ? all : all.filter(({ name }) => only.includes(name));
    const abort = new AbortController();
    this.#running.set(requestId, abort);
    void this.#run({ requestId, messages, tools, step }, abort.signal).finally(() => {
      this.#running.delete(requestId);
      this.#options.voice.over(requestId);
    });
  }

  cancel(requestId: number): void {
    this.#running.get(requestId)?.abort();
    this.#options.voice.giveUp(requestId);
  }

  close(): void {
    for (const abort of this.#running.values()) abort.abort();
  }

  async #run({ requestId, messages, tools, step }: Asked, signal: AbortSignal): Promise<void> {
    const { clock, emit } = this.#context;
    const { llm, model, temperature, onUsage, onOutcome } = this.#options;
    const takeVoice = this.#voiceOf(requestId);
    const timer = new OutcomeTimer(llm, clock, onOutcome);
    try {
      const request = { model, messages, tools, temperature, clock, signal, onOutcome };
      const pieces = llm.complete(step === undefined ? request : { ...request, step });
      for await (const piece of untilAborted(pieces, signal)) {
        if (piece.type !== 'usage') timer.first();
        if (piece.type === 'text') emit({ ...piece, type: 'llm.text', requestId });
        else if (piece.type === 'toolCall') emit({ type: 'llm.toolCall', requestId, call: piece.call });
        else if (piece.type === 'voice') takeVoice(piece);
        else onUsage(piece);
      }
      if (!signal.aborted) emit({ type: 'llm.done', requestId });
    } catch (error) {
      if (signal.aborted) return;
      timer.failed();
      emit({ type: 'llm.failed', requestId, ...failureOf(error) });
    }
  }

  /** For audio without words the conversation gets an event only from time to time. */
  #voiceOf(requestId: number): (piece: LlmVoice) => void {
    const { clock, emit } = this.#context;
    const { voice } = this.#options;
    let sentMs = -Infinity;
    return (piece) => {
      voice.hear(requestId, piece);
      const { text } = piece;
      if (text === '' && clock.nowMs() < sentMs + VOICE_SIGN_MS) return;
      sentMs = clock.nowMs();
      emit({ type: 'llm.voice', requestId, text });
    };
  }
}
