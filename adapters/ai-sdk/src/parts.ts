import type { ToolCall } from '@parley-voice/parley';
import type { AiSdkPart } from './model.js';

/** What a part of the stream says, as far as a conversation is concerned. */
export interface PartEvent {
  text?: string;
  call?: ToolCall;
  usage?: { promptTokens: number; cachedTokens: number; cacheWriteTokens: number; completionTokens: number };
  /** `stop`, `length`, `content-filter`, `tool-calls`, `error`, `other`. */
  finishReason?: string;
  /** Whatever the model reports as its failure. */
  error?: unknown;
}

/**
 * Reads a part. Reasoning, sources, files, and calls that the vendor itself carries out (`providerExecuted`) are not for
 * the conversation. Throws where a part has not the shape that its type promises.
 */
export function readPart(part: AiSdkPart): PartEvent {
  const fields = part as unknown as Readonly<Record<string, unknown>>;
  switch (part.type) {
    case 'text-delta':
      return { text: text(fields, 'delta') };
    case 'tool-call': {
      if (fields['providerExecuted'] === true) return {};
      const written = text(fields, 'input');
      // A tool without arguments may be called with nothing at all.
      const input = written.trim() === '' ? '{}' : written;
      return { call: { id: text(fields, 'toolCallId'), name: text(fields, 'toolName'), arguments: input } };
    }
    case 'finish':
      return { finishReason: reasonIn(fields['finishReason']), ...usageIn(fields['usage']) };
    case 'error':
      return { error: fields['error'] ?? 'an error without a word' };
    default:
      return {};
  }
}

function text(fields: Readonly<Record<string, unknown>>, name: string): string {
  const value = fields[name];
  if (typeof value !== 'string') throw new Error(`a part "${String(fields['type'])}" without its ${name}`);
  return value;
}

/** A word in version 2, an object with the word since. */
function reasonIn(value: unknown): string {
  if (typeof value === 'string') return value;
  const unified = (value as { unified?: unknown } | undefined)?.unified;
  return typeof unified === 'string' ? unified : 'other';
}

/** Numbers in version 2, objects with a `total` since; left out where the vendor tells neither. */
function usageIn(value: unknown): Pick<PartEvent, 'usage'> {
  const { inputTokens, outputTokens, cachedInputTokens } = (value ?? {}) as Readonly<Record<string, unknown>>;
  const [promptTokens, completionTokens] = [tokens(inputTokens), tokens(outputTokens)];
  if (promptTokens === null && completionTokens === null) return {};
  return {
    usage: {
      promptTokens: promptTokens ?? 0,
      cachedTokens: tokens(inputTokens, 'cacheRead') ?? tokens(cachedInputTokens) ?? 0,
      cacheWriteTokens: tokens(inputTokens, 'cacheWrite') ?? 0,
      completionTokens: completionTokens ?? 0,
    },
  };
}

function tokens(value: unknown, member = 'total'): number | null {
  if (typeof value === 'number') return member === 'total' ? value : null;
  const count = (value as Readonly<Record<string, unknown>> | null | undefined)?.[member];
  return typeof count === 'number' ? count : null;
}
