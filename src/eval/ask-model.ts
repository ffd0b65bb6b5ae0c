import * as z from 'zod';
import type { ChatMessage, ToolCall } from '../agent/chat.js';
import { type Clock, delay } from '../base/clock.js';
import { untilAborted } from '../base/deadlines.js';
import { ParleyError, reasonOf } from '../base/errors.js';
import { parseJson } from '../base/json.js';
import type { CompletionRequest } from '../engine/options.js';
import { Deadlines } from '../providers/deadlines.js';
import type { LlmPiece } from '../providers/llm/llm.js';
import { InvalidConfigError, parseWith } from '../schema/issues.js';

/** The language models that judge, play callers and propose cases. */
export interface EvalModels {
  /** As `Engine.complete`. */
  complete(request: CompletionRequest): AsyncIterable<LlmPiece>;
  /** A real clock: models answer in real time, whatever the time of the call is. */
  readonly clock: Clock;
}

/** A question that the model answers by one call of a tool. */
export interface ModelQuestion<Schema extends z.ZodType> {
  /** A model id of the engine. No other model answers in its place. */
  model: string;
  messages: readonly ChatMessage[];
  tool: {
    name: string;
    description: string;
    schema: Schema;
    /** JSON schema that the model sees. Default: that of `schema`. */
    parameters?: Readonly<Record<string, unknown>>;
  };
  /** 0 to 2. */
  temperature: number;
  seed?: number;
  /** From the question to the whole answer, waits for rate limits included. */
  deadlineMs: number;
  signal: AbortSignal;
}

/** Wait after a rate limit whose reply does not say how long to wait; doubles each time. */
const FIRST_WAIT_MS = 1_000;
const MAX_ATTEMPTS = 6;
const SHOWN_CHARS = 200;

/**
 * Asks a model, again after a rate limit as far as the deadline allows. The answer is read strictly: anything but one
 * call with valid arguments is an error.
 * @throws ParleyError PROVIDER_FAILED for an answer that cannot be used, PROVIDER_TIMEOUT, or as `Engine.complete`; the
 * signal's reason when it is aborted
 */
export async function askModel<Schema extends z.ZodType>(
  models: EvalModels,
  question: ModelQuestion<Schema>,
): Promise<z.output<Schema>> {
  const { clock } = models;
  const { model, deadlineMs, signal } = question;
  const deadlines = new Deadlines(clock, model, signal);
  const dueMs = clock.nowMs() + deadlineMs;
  deadlines.within(deadlineMs);
  try {
    for (let attempt = 1; ; attempt++) {
      try {
        return answerOf(
          await replyOf(models.complete(requestOf(question, deadlines.signal)), deadlines.signal),
          question,
        );
      } catch (error) {
        if (deadlines.signal.aborted) throw deadlines.signal.reason;
        const waitMs = rateLimitWaitMs(error, attempt);
        if (waitMs === null || clock.nowMs() + waitMs >= dueMs) throw error;
        await delay(clock, waitMs, deadlines.signal);
      }
    }
  } finally {
    deadlines.end();
  }
}

/** What a model said and called. */
export interface ModelReply {
  text: string;
  calls: readonly ToolCall[];
}

/**
 * The arguments of the one call that an answer has to be.
 * @throws ParleyError PROVIDER_FAILED saying what is wrong with the answer
 */
export function answerOf<Schema extends z.ZodType>(
  { text, calls }: ModelReply,
  { model, tool: { name, schema } }: Pick<ModelQuestion<Schema>, 'model' | 'tool'>,
): z.output<Schema> {
  const unusable = (reason: string): ParleyError => new ParleyError('PROVIDER_FAILED', { provider: model, reason });
  const [call] = calls;
  if (call === undefined) {
    const said = text.trim();
    throw unusable(said === '' ? 'it did not answer' : `it answered in words: ${shown(said)}`);
  }
  if (calls.length > 1) throw unusable(`it made ${String(calls.length)} calls in place of one`);
  if (call.name !== name) throw unusable(`it called ${shown(call.name)} in place of ${name}`);
  let value: unknown;
  try {
    value = parseJson(call.arguments);
  } catch (error) {
    throw unusable(`its answer is not JSON (${reasonOf(error)}): ${shown(call.arguments)}`);
  }
  try {
    return parseWith(schema, value);
  } catch (error) {
    if (!(error instanceof InvalidConfigError)) throw error;
    throw unusable(`its answer is not valid: ${String(error.details['reason'])}`);
  }
}

/** How long to wait before the model is asked again; null = the error is no rate limit, or there were enough of them. */
function rateLimitWaitMs(error: unknown, attempt: number): number | null {
  if (!(error instanceof ParleyError) || error.details['status'] !== 429 || attempt >= MAX_ATTEMPTS) return null;
  const asked = error.details['retryAfterMs'];
  return typeof asked === 'number' ? asked : FIRST_WAIT_MS * 2 ** (attempt - 1);
}

function requestOf<Schema extends z.ZodType>(question: ModelQuestion<Schema>, signal: AbortSignal): CompletionRequest {
  const { model, messages, tool, temperature, seed, deadlineMs } = question;
  const parameters = tool.parameters ?? parametersOf(tool.schema);
  return {
    model,
    messages,
    tools: [{ name: tool.name, description: tool.description, parameters }],
    requiredTool: tool.name,
    temperature,
    seed,
    // Nobody waits on a line: only the whole answer has a deadline.
    pieceTimeoutMs: deadlineMs,
    // The result names one model.
    fallbacks: false,
    signal,
  };
}

/** A schema as parameters of a tool. */
export function parametersOf(schema: z.ZodType): Readonly<Record<string, unknown>> {
  const { $schema: _, ...parameters } = z.toJSONSchema(schema, { io: 'input' });
  return parameters;
}

async function replyOf(pieces: AsyncIterable<LlmPiece>, signal: AbortSignal): Promise<ModelReply> {
  let text = '';
  const calls: ToolCall[] = [];
  for await (const piece of untilAborted(pieces, signal)) {
    if (piece.type === 'text') text += piece.text;
    else if (piece.type === 'toolCall') calls.push(piece.call);
  }
  return { text, calls };
}

function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text);
}
