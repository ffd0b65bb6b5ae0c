import type { ChatMessage, ToolSpec } from '../agent/chat.js';
import type { StepsConfig, StepView } from '../agent/flow/steps.js';
import { phrasesFor } from '../conversation/language/phrases.js';
import { freeCallId } from '../conversation/reply/reply.js';
import { type StepPassed, Steps, type StepsState } from '../conversation/steps/machine.js';
import { restoredSteps, STEP_FUNCTIONS } from '../conversation/steps/steps.js';

export type StepVerdict = ReturnType<Steps['advance']>;

/** The steps of a flow in one answer in writing: continued from the calls among the messages. */
export class ChatSteps {
  readonly #state: StepsState;
  readonly #steps: Steps;
  readonly #isNew: boolean;
  /** The last message is the user's. */
  readonly #isAsked: boolean;
  #said: string[] = [];

  /** @param language of the conversation */
  constructor(config: StepsConfig, messages: readonly ChatMessage[], language: string) {
    const restored = restoredSteps(config, messages);
    this.#isNew = restored === null && messages.every(({ role }) => role !== 'assistant');
    this.#isAsked = messages.at(-1)?.role === 'user';
    this.#state = restored ?? Steps.initialState(config);
    const last = messages.findLast(({ role, content }) => role === 'assistant' && content !== '')?.content ?? '';
    this.#steps = new Steps(config, this.#state, {
      nowMs: 0,
      say: (text) => this.#said.push(text),
      readBack: (value) => phrasesFor(language).readBack.replaceAll('{value}', value),
      lastWords: () => last,
      onEntered: () => undefined,
      onEnd: () => undefined, // there is no line
    });
    if (restored !== null || this.#isNew) return;
    // The opening was said before.
    this.#steps.begin();
    this.#steps.advance();
    this.#said = [];
  }

  get passed(): readonly StepPassed[] {
    return this.#state.passed;
  }

  /** Whether a first message is the question of the first step: then nothing follows it. */
  opensWith(firstMessage: string): boolean {
    return /[?？]\s*$/u.test(firstMessage) && this.#steps.step.say?.entry == null;
  }

  /** Enters the first step, if the conversation is new. */
  begin(): StepVerdict {
    if (!this.#isNew) return 'model';
    this.#steps.begin();
    const next = this.#steps.advance();
    // What the user has said first is answered after the phrase.
    return next === 'user' && this.#isAsked && this.#steps.step.end == null ? 'model' : next;
  }

  advance(): StepVerdict {
    return this.#steps.advance();
  }

  /** The phrases since the last call. */
  taken(): readonly string[] {
    const said = this.#said;
    this.#said = [];
    return said;
  }

  owns(name: string): boolean {
    return STEP_FUNCTIONS.includes(name);
  }

  take(name: string, args: string): string {
    return this.#steps.take(name, args);
  }

  noteResult(tool: string, ok: boolean, content: string): void {
    this.#steps.noteResult(tool, ok, content);
  }

  tools(specs: readonly ToolSpec[]): readonly ToolSpec[] {
    const names = this.#steps.toolNames;
    return [...specs.filter(({ name }) => names.includes(name)), ...this.#steps.specs()];
  }

  prompt(): string {
    return this.#steps.prompt();
  }

  view(): StepView {
    return this.#steps.view();
  }

  /** An id for the call of a tool by the flow. */
  idOf(tool: string, added: readonly ChatMessage[]): string {
    const taken = added.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
    return freeCallId(`step-${tool}`, new Set(taken.map(({ id }) => id)));
  }
}
