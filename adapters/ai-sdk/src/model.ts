/**
 * The part of the AI SDK's language model interface that is used here. Its versions 2, 3 and 4 (of `@ai-sdk/provider` 2
 * to 4, `ai` 5 to 7) all have it and differ in what a finish says, which `parts.ts` reads in either form.
 */
export interface AiSdkModel {
  readonly specificationVersion: 'v2' | 'v3' | 'v4';
  /** Such as `openai.chat`. */
  readonly provider: string;
  readonly modelId: string;
  doStream(options: AiSdkCall): PromiseLike<{ stream: ReadableStream<AiSdkPart> }>;
}

export interface AiSdkCall {
  prompt: AiSdkMessage[];
  temperature?: number;
  tools?: { type: 'function'; name: string; description: string; inputSchema: Record<string, unknown> }[];
  toolChoice?: { type: 'tool'; toolName: string };
  headers?: Record<string, string>;
  providerOptions?: AiSdkProviderOptions;
  abortSignal: AbortSignal;
}

export type AiSdkProviderOptions = Record<string, Record<string, JsonValue>>;
type JsonValue = null | string | number | boolean | JsonValue[] | { [name: string]: JsonValue };

interface TextPart {
  type: 'text';
  text: string;
}

export type AiSdkMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: TextPart[] }
  | {
      role: 'assistant';
      content: (TextPart | { type: 'tool-call'; toolCallId: string; toolName: string; input: unknown })[];
    }
  | {
      role: 'tool';
      content: {
        type: 'tool-result';
        toolCallId: string;
        toolName: string;
        output: { type: 'text'; value: string };
      }[];
    };

/** A part of the stream: which fields it has depends on its type. */
export interface AiSdkPart {
  type: string;
}
