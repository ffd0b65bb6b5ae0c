import type { Clock } from '../../base/clock.js';
import type { ToolCall, ToolSpec } from '../../agent/chat.js';
import { parseJson } from '../../base/json.js';
import { reasonOf } from '../../base/errors.js';
import { withTimeout } from '../../base/deadlines.js';
import type { Tool, ToolContext, ToolResult, ToolSpeech } from '../tool.js';
import type { Knowledge, Passage } from './knowledge.js';
import { sentences } from './chunker.js';
import { textQuery } from './query.js';
import { wordsOf } from './words.js';

/** Longest answer that is spoken verbatim, in characters. */
const MAX_CHARS = 300;

/**
 * The sentence that matches the question best, for agents without an LLM; null if none contains half of the question's
 * words.
 */
export function bestSentence(question: string, language: string, passages: readonly Passage[]): string | null {
  const { stems } = textQuery(question, language);
  if (stems.length === 0) return null;
  let best: { text: string; score: number } | null = null;
  passages.forEach(({ text, heading }, rank) => {
    const above = covered(stems, heading ?? '');
    for (const sentence of sentences(text)) {
      if (sentence.length > MAX_CHARS) continue;
      const own = covered(stems, sentence);
      const together = new Set([...own, ...above]);
      if (own.size === 0 || together.size * 2 < stems.length) continue;
      // Words in the sentence count more than words in its headings, earlier passages more than later ones.
      const score = own.size + together.size / 2 - rank / 10;
      if (best === null || score > best.score) best = { text: sentence, score };
    }
  });
  return (best as { text: string } | null)?.text ?? null;
}

function covered(stems: readonly string[], text: string): Set<string> {
  const words = wordsOf(text);
  return new Set(stems.filter((stem) => words.some((word) => word.startsWith(stem))));
}

export const SEARCH_KNOWLEDGE = 'search_knowledge';

export interface SearchToolOptions {
  knowledge: Knowledge;
  /** At least one. */
  fileIds: readonly string[];
  /** Descriptions of the files, if their authors gave any. Default none. */
  descriptions?: readonly { name: string; description: string }[];
  /** The session's, such as `en-US`. */
  language: string;
  /** Spoken while the search runs, with variables filled in. */
  messages: readonly string[];
  clock: Clock;
}

/** Number of passages for the model. */
const PASSAGES = 5;
/** Search timeout. */
const TIMEOUT_MS = 3_000;
/** Duration of a search in virtual time. */
const VIRTUAL_LATENCY_MS = 20;
const MAX_QUERY_CHARS = 1_000;
/** Limit on descriptions, which are part of every request to the model. */
const MAX_DESCRIPTION_CHARS = 4_000;

const NOTHING = 'Nothing in the files fits that. Search again in other words, or say that you do not know.';

/** `search_knowledge`: searches the agent's files when the model asks for it. */
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
      return { ok: true, content: JSON.stringify({ best: best ?? undefined, passages: shown }) };
    } catch (error) {
      signal.throwIfAborted();
      return { ok: false, content: `The documents could not be searched: ${reasonOf(error)}` };
    }
  }

  async #search(text: string, signal: AbortSignal): Promise<Passage[]> {
    signal.throwIfAborted();
    const { knowledge, fileIds, language, clock } = this.#options;
    const search = (inTime: AbortSignal): Promise<Passage[]> => {
      const found = knowledge.search({ text, fileIds, language, limit: PASSAGES, signal: inTime });
      return clock.settle(found, clock.nowMs() + VIRTUAL_LATENCY_MS);
    };
    return withTimeout(clock, TIMEOUT_MS, search, signal);
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
