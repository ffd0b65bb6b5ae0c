import type { Clock } from '../base/clock.js';
import type { ChatMessage, ToolCall, ToolSpec } from '../agent/chat.js';
import type { HistoryConfig } from '../agent/flow/conversation-config.js';
import { forModel, limitMessages, withNote } from '../conversation/speech/history.js';
import { type AgentRef, handedOver } from '../agent/flow/handover.js';
import { FAILED } from '../conversation/actions/handover.js';
import { freeCallId, MAX_ROUNDS } from '../conversation/reply/reply.js';
import { raceAbort, untilAborted, withTimeout } from '../base/deadlines.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import { Deadlines } from '../providers/deadlines.js';
import { Mailbox } from '../providers/mailbox.js';
import type { LlmProvider, LlmRequest } from '../providers/llm/llm.js';
import { ToolRunner } from '../session/tool-runner.js';
import type { FunctionCall } from '../session/record/session-report.js';
import { UsageBook } from '../session/record/usage.js';
import type { AgentToolbox } from '../tools/toolbox.js';
import type { ChatAgents } from './handover.js';
import type { ReplyForm } from './options.js';
import type { CardNumbers } from '../session/record/cards.js';
import type { ChatSteps, StepVerdict } from './chat-steps.js';
import { StopWords } from './stop-words.js';

/** The agent that answers. */
export interface ChatSpeaker {
  llm: LlmProvider;
  model: string;
  temperature: number;
  /** Empty = none. */
  systemPrompt: string;
  history: HistoryConfig;
  toolbox: AgentToolbox;
  metadata: Readonly<Record<string, unknown>>;
  /** The steps of its flow; null = it has none. */
  steps: ChatSteps | null;
}

export interface ChatReplyOptions {
  /** At first. */
  speaker: ChatSpeaker;
  agents: Pick<ChatAgents, 'tools' | 'isHandover' | 'seen' | 'note'>;
  /** Another agent is to go on. @param messages those before the call */
  handOver: (call: ToolCall, messages: readonly ChatMessage[]) => Promise<ChatNextSpeaker>;
  sessionId: string;
  clock: Clock;
  /** Aborts the model and the tools. */
  signal: AbortSignal;
  form: ReplyForm;
  /** Puts card numbers into calls of tools. */
  cards: CardNumbers;
  /** A tool has failed. */
  onFault: (name: string, reason: string, cause?: string) => void;
}

/** Who goes on after a call that hands the conversation over. */
export type ChatNextSpeaker =
  | { refused: string }
  | { speaker: ChatSpeaker; from: AgentRef; to: AgentRef; back: boolean; announcement: string | null };

/** A function's progress. */
interface Progress {
  call: ToolCall;
  text: string;
  isSaid: boolean;
}

export type ReplyPiece =
  /** A delta; together they are the agent's words. */
  | { type: 'text'; text: string }
  /** These calls run now, in parallel … */
  | { type: 'tools'; calls: readonly ToolCall[] }
  /** … and this is the result of each. */
  | { type: 'tool'; call: ToolCall; ok: boolean; result: string; tookMs: number }
  /** The client has to carry these out; they end the answer. */
  | { type: 'clientCalls'; calls: readonly ToolCall[] }
  /** Another agent goes on with the answer. */
  | { type: 'handover'; from: AgentRef; to: AgentRef; back: boolean }
  /** A running function reports progress. The agent's words contain it, unless the function is quiet. */
  | { type: 'toolProgress'; call: ToolCall; text: string };

/** Deadlines of the model's first and next piece. Providers have shorter ones. */
const FIRST_PIECE_MS = 20_000;
const NEXT_PIECE_MS = 15_000;
/** Additional time for a tool beyond its own deadline. */
const TOOL_GRACE_MS = 5_000;
const NO_ANSWER = 'The tool gave no answer in time.';

/** One text answer of an agent: the model's words as they arrive, its tool calls, and its words about their results. */
export class ChatReply {
  /** The messages that the answer adds to the conversation so far. */
  readonly added: ChatMessage[] = [];
  readonly usage = new UsageBook();
  /** Whether the longest length cut the answer off. */
  isCutOff = false;
  readonly #options: ChatReplyOptions;
  #speaker: ChatSpeaker;
  readonly #toolRunner: ToolRunner;
  readonly #results = new Map<ToolCall, (record: FunctionCall) => void>();
  /** Progress of running functions that the reader does not have yet. */
  #progress = new Mailbox<Progress>();
  #messages: readonly ChatMessage[] = [];
  /** The text since the last round of tools. */
  #round = '';
  /** A space separates the next text from the previous one. */
  #parted = false;

  constructor(options: ChatReplyOptions) {
    this.#options = options;
    this.#speaker = options.speaker;
    const { sessionId, clock } = options;
    const { toolbox, metadata } = options.speaker;
    const nowMs = (): number => clock.nowMs();
    this.#toolRunner = new ToolRunner(
      { nowMs },
      {
        toolbox: options.cards.toolbox(toolbox),
        sessionId,
        metadata,
        history: () => [...this.#messages, ...this.added].filter(({ role }) => role !== 'system'),
        onProgress: (call, text, isSaid) => this.#progress.push({ call, text, isSaid }),
        onResult: (call, record, { fault = 'tool.failed', cause }) => {
          if (!record.ok) options.onFault(fault, record.result, cause);
          this.#results.get(call)?.(record);
        },
      },
    );
  }

  /** Completed calls, in the order of completion. */
  get calls(): readonly FunctionCall[] {
    return this.#toolRunner.calls;
  }

  /** Whether anything was said. */
  get hasSpoken(): boolean {
    return this.#round !== '' || this.added.some(({ role, content }) => role === 'assistant' && content !== '');
  }

  /** Whether the answer ends with calls for the client. */
  get awaitsClient(): boolean {
    const last = this.added.at(-1);
    return last?.role === 'assistant' && last.toolCalls !== undefined;
  }

  /** Emits a text unchanged. */
  *say(text: string): Generator<ReplyPiece, void, undefined> {
    yield* this.#text(text);
    this.#endRound([]);
  }

  /**
   * Produces the answer.
   * @throws ParleyError PROVIDER_FAILED, PROVIDER_REFUSED, PROVIDER_TIMEOUT; the signal's reason when it is aborted
   */
  async *pieces(messages: readonly ChatMessage[]): AsyncGenerator<ReplyPiece, void, undefined> {
    const { signal } = this.#options;
    this.#messages = messages;
    const breakOff = (): void => this.#toolRunner.close();
    signal.addEventListener('abort', breakOff, { once: true });
    try {
      if ((yield* this.#follow(this.#speaker.steps?.begin() ?? 'model')) === 'user') return;
      for (let round = 1; ; round++) {
        const asked = yield* this.#ask([...messages, ...this.added], round);
        const calls = asked.filter((call) => !this.#isForClient(call) && !this.#isHandover(call));
        const forClient = asked.filter((call) => this.#isForClient(call));
        // Among other calls it is left out: their results come first and may change the plan.
        const handover = asked.length === 1 ? asked.find((call) => this.#isHandover(call)) : undefined;
        if (handover !== undefined) {
          if (round === MAX_ROUNDS) throw this.#failure('it called tools without an end');
          if (!(yield* this.#handOver(handover, messages))) continue;
          if ((yield* this.#follow(this.#speaker.steps?.begin() ?? 'model')) === 'user') return;
          continue;
        }
        if (calls.length > 0) {
          if (round === MAX_ROUNDS) throw this.#failure('it called tools without an end');
          yield* this.#announce(calls, messages);
          yield { type: 'tools', calls };
          const records = yield* this.#running(raceAbort(this.#run(calls), signal));
          yield* this.#stepText();
          this.#endRound(calls, records);
          for (const [index, { ok, result, tookMs }] of records.entries()) {
            yield { type: 'tool', call: calls[index] as ToolCall, ok, result, tookMs };
          }
        }
        if (forClient.length > 0) {
          this.#endRound(forClient);
          yield { type: 'clientCalls', calls: forClient };
        }
        if (calls.length === 0 || forClient.length > 0) break;
        if ((yield* this.#follow(this.#speaker.steps?.advance() ?? 'model')) === 'user') break;
      }
    } finally {
      signal.removeEventListener('abort', breakOff);
      this.#endRound([]);
      this.#toolRunner.close();
    }
  }

  /** What the steps of the flow do without the model: phrases, and tools that parley calls. Returns who goes on. */
  async *#follow(first: StepVerdict): AsyncGenerator<ReplyPiece, 'model' | 'user', undefined> {
    const { signal } = this.#options;
    const { steps } = this.#speaker;
    if (steps === null) return 'model';
    let next = first;
    for (let count = 0; typeof next === 'object'; count++) {
      if (count === MAX_ROUNDS) throw this.#failure('its flow called tools without an end');
      yield* this.#stepText();
      const call = { id: steps.idOf(next.tool, this.added), name: next.tool, arguments: next.arguments };
      yield { type: 'tools', calls: [call] };
      const records = yield* this.#running(raceAbort(this.#run([call]), signal));
      this.#endRound([call], records);
      for (const { ok, result, tookMs } of records) yield { type: 'tool', call, ok, result, tookMs };
      next = steps.advance();
    }
    yield* this.#stepText();
    return next === 'user' ? 'user' : 'model';
  }

  *#stepText(): Generator<ReplyPiece, void, undefined> {
    for (const text of this.#speaker.steps?.taken() ?? []) {
      this.#parted = this.hasSpoken;
      yield* this.#text(text);
      this.#parted = true;
    }
  }

  /** Returns whether another agent has the conversation now. */
  async *#handOver(call: ToolCall, messages: readonly ChatMessage[]): AsyncGenerator<ReplyPiece, boolean, undefined> {
    const next = await raceAbort(this.#options.handOver(call, [...messages, ...this.added]), this.#options.signal);
    const isRefused = 'refused' in next;
    if (!isRefused && next.announcement !== null) yield* this.#progressText(next.announcement);
    this.#endRound([call]);
    const content = isRefused ? FAILED(next.refused) : handedOver(next.to);
    this.added.push({ role: 'tool', toolCallId: call.id, content });
    if (isRefused) return false;
    this.#speaker = next.speaker;
    const { toolbox, metadata } = next.speaker; // its `history` is not the tools'
    this.#toolRunner.use({ toolbox: this.#options.cards.toolbox(toolbox), metadata });
    yield { type: 'handover', from: next.from, to: next.to, back: next.back };
    return true;
  }

  #isHandover(call: ToolCall): boolean {
    return this.#options.agents.isHandover(call);
  }

  /** Asks the model once. Returns its tool calls. */
  async *#ask(
    messages: readonly ChatMessage[],
    round: number,
  ): AsyncGenerator<ReplyPiece, readonly ToolCall[], undefined> {
    const { clock, signal, form } = this.#options;
    const { llm, model } = this.#speaker;
    const stop = new StopWords(form.stop ?? []);
    const taken = new Set(messages.flatMap((one) => (one.role === 'assistant' ? (one.toolCalls ?? []) : [])).map(idOf));
    const calls: ToolCall[] = [];
    const deadlines = new Deadlines(clock, llm.name, signal);
    try {
      deadlines.within(FIRST_PIECE_MS);
      this.usage.asked({ provider: llm.name, model });
      const reply = llm.complete(this.#request(messages, round, deadlines.signal));
      for await (const piece of untilAborted(reply, deadlines.signal)) {
        deadlines.pause(); // the reader's time does not count
        if (piece.type === 'text') {
          yield* this.#text(stop.take(piece.text));
          if (stop.isFound) break;
        } else if (piece.type === 'toolCall') {
          const id = freeCallId(piece.call.id, taken);
          taken.add(id);
          calls.push({ ...piece.call, id });
        } else if (piece.type === 'usage') {
          this.usage.counted({ provider: llm.name, model }, piece);
          this.isCutOff = form.maxTokens != null && piece.completionTokens >= form.maxTokens;
        }
        deadlines.within(NEXT_PIECE_MS);
      }
      yield* this.#text(stop.rest());
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw error instanceof ParleyError ? error : this.#failure(reasonOf(error), error);
    } finally {
      deadlines.end();
    }
    return calls;
  }

  #request(messages: readonly ChatMessage[], round: number, signal: AbortSignal): LlmRequest {
    const { clock, form, agents } = this.#options;
    const { model, temperature, toolbox, steps } = this.#speaker;
    const own = steps === null ? toolbox.specs : steps.tools(toolbox.specs);
    const tools = [...agents.tools, ...own, ...(form.clientTools ?? [])];
    const request: LlmRequest = {
      model,
      messages: this.#limited(messages),
      tools,
      temperature: form.temperature ?? temperature,
      clock,
      signal,
    };
    if (steps !== null) request.step = steps.view();
    if (form.seed != null) request.seed = form.seed;
    if (form.maxTokens != null) request.maxTokens = form.maxTokens;
    if (form.responseFormat != null) request.responseFormat = form.responseFormat;
    if (form.requiredTool != null && round === 1) request.requiredTool = form.requiredTool;
    return request;
  }

  #isForClient({ name }: ToolCall): boolean {
    return this.#options.form.clientTools?.some((spec: ToolSpec) => spec.name === name) ?? false;
  }

  #limited(messages: readonly ChatMessage[]): ChatMessage[] {
    const { systemPrompt, steps, history } = this.#speaker;
    const content = [systemPrompt, steps?.prompt() ?? ''].filter((part) => part !== '').join('\n\n');
    const { agents } = this.#options;
    const limited = withNote(limitMessages(forModel(agents.seen(messages)), history), agents.note);
    return content === '' ? limited : [{ role: 'system', content }, ...limited];
  }

  /** The phrase of each tool, unless it is only a suggestion and the model has said something itself. */
  *#announce(calls: readonly ToolCall[], messages: readonly ChatMessage[]): Generator<ReplyPiece, void, undefined> {
    const { speech } = this.#speaker.toolbox;
    // Requests share no state: the conversation's length selects the phrase, so that phrases rotate.
    const turn = messages.filter(({ role }) => role === 'user').length;
    for (const name of new Set(calls.map((call) => call.name))) {
      const { messages: phrases = [], responseMode } = speech.get(name) ?? {};
      if (phrases.length === 0 || (responseMode === 'flexible' && this.#round.trim() !== '')) continue;
      this.#parted = this.hasSpoken;
      yield* this.#text(phrases[turn % phrases.length] as string);
    }
  }

  /** The progress of running functions, until all have their results. */
  async *#running(work: Promise<FunctionCall[]>): AsyncGenerator<ReplyPiece, FunctionCall[], undefined> {
    const progress = this.#progress;
    const done = work.finally(() => progress.close());
    done.catch(() => undefined); // it is awaited below
    for await (const { call, text, isSaid } of progress) {
      yield { type: 'toolProgress', call, text };
      if (isSaid) yield* this.#progressText(text);
    }
    this.#progress = new Mailbox<Progress>();
    return done;
  }

  *#progressText(text: string): Generator<ReplyPiece, void, undefined> {
    this.#parted = this.hasSpoken;
    yield* this.#text(text);
    this.#parted = true;
  }

  #run(calls: readonly ToolCall[]): Promise<FunctionCall[]> {
    const { clock } = this.#options;
    const { toolbox } = this.#speaker;
    const maxMs = toolbox.longestInWritingMs + TOOL_GRACE_MS;
    const results = calls.map(async (call): Promise<FunctionCall> => {
      const result = new Promise<FunctionCall>((resolve) => this.#results.set(call, resolve));
      const { name, arguments: args } = call;
      const { steps } = this.#speaker;
      if (steps?.owns(name) === true) {
        return { name, arguments: args, ok: true, result: steps.take(name, args), tookMs: 0, runAfterCall: false };
      }
      this.#toolRunner.start(call);
      const late = { name, arguments: args, ok: false, result: NO_ANSWER, tookMs: maxMs, runAfterCall: false };
      const record = await withTimeout(clock, maxMs, () => result).catch(() => late);
      steps?.noteResult(name, record.ok, record.result);
      return record;
    });
    return Promise.all(results);
  }

  /** A delta; a space separates it from words before a tool ran. */
  *#text(text: string): Generator<ReplyPiece, void, undefined> {
    if (text === '') return;
    const space = this.#parted && !/^\s/.test(text) ? ' ' : '';
    this.#parted = false;
    this.#round += space + text;
    yield { type: 'text', text: space + text };
  }

  /** Turns the words and calls of the round into messages. */
  #endRound(calls: readonly ToolCall[], records: readonly FunctionCall[] = []): void {
    const content = this.#round.trim();
    this.#parted = this.hasSpoken;
    this.#round = '';
    if (calls.length === 0) {
      if (content !== '') this.added.push({ role: 'assistant', content });
      return;
    }
    this.added.push({ role: 'assistant', content, toolCalls: calls });
    for (const [index, { result }] of records.entries()) {
      this.added.push({ role: 'tool', toolCallId: (calls[index] as ToolCall).id, content: result });
    }
  }

  #failure(reason: string, cause?: unknown): ParleyError {
    return new ParleyError('PROVIDER_FAILED', { provider: this.#speaker.llm.name, reason }, { cause });
  }
}

function idOf({ id }: ToolCall): string {
  return id;
}
