import type { Clock } from '../../clock/clock.js';
import type { ToolCall, ToolSpec } from '../../config/chat.js';
import { parseJson } from '../../json.js';
import { reasonOf } from '../../errors.js';
import { abortAfter } from '../deadline.js';
import type { Tool, ToolContext, ToolResult, ToolSpeech } from '../tool.js';
import { bestSentence } from './best-sentence.js';
import type { Knowledge, Passage } from './knowledge.js';

export const SEARCH_KNOWLEDGE = 'search_knowledge';

export interface SearchToolOptions {
  knowledge: Knowledge;
  /** At least one. */
  fileIds: readonly string[];
  /** What the files are about, where their authors have said it. Default none. */
  descriptions?: readonly { name: string; description: string }[];
  /** The session's, such as `en-US`. */
  language: string;
  /** Said while the files are consulted, variables filled in. */
  messages: readonly string[];
  clock: Clock;
}

/** Passages that the model is given. */
const PASSAGES = 5;
/** A search that takes longer has failed. */
const TIMEOUT_MS = 3_000;
/** In virtual time a search takes as long. */
const VIRTUAL_LATENCY_MS = 20;
const MAX_QUERY_CHARS = 1_000;
/** Of descriptions, which go with every request to the model. */
const MAX_DESCRIPTION_CHARS = 4_000;

const NOTHING = 'Nothing in the files fits that. Search again in other words, or say that you do not know.';

/** `search_knowledge`: the agent's files, searched by the model when it needs them. */
export class SearchTool implements Tool {
  readonly spec: ToolSpec = {
    name: SEARCH_KNOWLEDGE,
    description:
      "Searches the agent's own documents. Call it before answering any question of fact that they may cover, and " +
      'answer from the passages alone; if they do not say, say that you do not know.',
    parameters: {
      type: 'object',
      properties: {
        query: {
          type: 'string',
          description: 'What to find: a question or key words, in the language of the documents.',
        },
      },
      required: ['query'],
      additionalProperties: false,
    },
  };
  readonly speech: ToolSpeech;
  readonly maxMs = TIMEOUT_MS;
  readonly #options: SearchToolOptions;

  constructor(options: SearchToolOptions) {
    this.#options = options;
    const about = (options.descriptions ?? []).map(({ name, description }) => `${name}: ${description}`).join('; ');
    if (about !== '') {
      const description = `${this.spec.description} The documents: ${about.slice(0, MAX_DESCRIPTION_CHARS)}`;
      this.spec = { ...this.spec, description };
    }
    this.speech = { messages: options.messages, responseMode: 'strict', executeAfterMessage: false };
  }

  async run(call: ToolCall, { signal }: ToolContext): Promise<ToolResult> {
    const text = queryOf(call.arguments);
    if (text === null) return { ok: false, content: `Give ${SEARCH_KNOWLEDGE} a query, a text of one question.` };
    const { language } = this.#options;
    try {
      const passages = await this.#search(text, signal);
      if (passages.length === 0) return { ok: true, content: JSON.stringify({ error: NOTHING }) };
      const best = bestSentence(text, language, passages);
      const shown = passages.map((passage) => ({ source: sourceOf(passage), text: passage.text }));
      return { ok: true, content: JSON.stringify({ ...(best !== null && { best }), passages: shown }) };
    } catch (error) {
      signal.throwIfAborted();
      return { ok: false, content: `The documents could not be searched: ${reasonOf(error)}` };
    }
  }

  async #search(text: string, signal: AbortSignal): Promise<Passage[]> {
    signal.throwIfAborted();
    const { knowledge, fileIds, language, clock } = this.#options;
    const deadline = abortAfter(clock, TIMEOUT_MS, signal);
    const expired = new Promise<never>((_resolve, reject) => {
      deadline.signal.addEventListener('abort', () => reject(deadline.signal.reason as Error), { once: true });
    });
    try {
      const found = knowledge.search({ text, fileIds, language, limit: PASSAGES, signal: deadline.signal });
      return await Promise.race([clock.settle(found, clock.nowMs() + VIRTUAL_LATENCY_MS), expired]);
    } finally {
      deadline.cancel();
    }
  }
}

function queryOf(text: string): string | null {
  try {
    const { query } = parseJson(text) as { query?: unknown };
    return typeof query === 'string' && query.trim() !== '' ? query.slice(0, MAX_QUERY_CHARS) : null;
  } catch {
    return null;
  }
}

function sourceOf({ fileName, page, heading }: Passage): string {
  return [fileName, page === null ? null : `page ${String(page)}`, heading].filter((part) => part !== null).join(', ');
}
