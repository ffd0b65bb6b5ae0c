import type { Clock } from '../../base/clock.js';
import type { LlmProvider } from '../../providers/llm/llm.js';
import type { ChatMessage, ToolSpec } from '../../agent/chat.js';
import { parseJson } from '../../base/json.js';
import { reasonOf } from '../../base/errors.js';
import { untilAborted, withTimeout } from '../../base/deadlines.js';
import type { FunctionCall } from '../record/session-report.js';
import type { UsageBook } from '../record/usage.js';

/** What one session with a user has established. */
export interface Memory {
  /** The agent; agents do not see each other's memories. */
  agentId: string;
  /** The value of the agent's `memory.user_identifier_key`. */
  user: string;
  sessionId: string;
  text: string;
  /** When the session ended, in milliseconds since 1970. */
  unixMs: number;
}

/** Storage of memories. The daemon's is SQLite. */
export interface MemoryStore {
  /** The latest ones, newest first. */
  recall(agentId: string, user: string, limit: number): Promise<readonly Memory[]>;
  /** Replaces an earlier memory of the same session. */
  keep(memory: Memory): Promise<void>;
}

/** Receives what a session has established. */
export interface MemoryKeeper {
  keep(text: string): Promise<void>;
}

/** Memories in memory only. */
export class InProcessMemories implements MemoryStore {
  #memories: Memory[] = [];

  async recall(agentId: string, user: string, limit: number): Promise<readonly Memory[]> {
    return this.#memories
      .filter((it) => it.agentId === agentId && it.user === user)
      .slice(-limit)
      .toReversed();
  }

  async keep(memory: Memory): Promise<void> {
    this.#memories = [...this.#memories.filter(({ sessionId }) => sessionId !== memory.sessionId), memory];
  }
}

/** A past session that a later one can continue. */
export interface FinishedSession {
  sessionId: string;
  /** Sessions of other agents are not found. Null = an agent without id. */
  agentId: string | null;
  /** Texts and numbers of its metadata, with `FromPhone` and `ToPhone`. */
  identifiers: ReadonlyMap<string, string>;
  messages: readonly ChatMessage[];
  /** Milliseconds since 1970. */
  endedUnixMs: number;
}

/** The conversations of past sessions. */
export interface SessionMemory {
  /** Null if it is not known. */
  byId(sessionId: string, agentId: string | null): Promise<readonly ChatMessage[] | null>;
  /** The latest session with this value of the identifier. */
  latest(identifier: string, value: string, agentId: string | null): Promise<readonly ChatMessage[] | null>;
  /** Replaces what is kept of the same session. */
  keep(session: FinishedSession): Promise<void>;
}

/** Maximum length of an identifier, in characters. */
const MAX_VALUE_CHARS = 200;
/** Number of sessions to remember without a database. */
const MAX_SESSIONS = 200;

/** Metadata of a session that can identify its user, and the numbers of its call. */
export function identifiersOf(
  metadata: Readonly<Record<string, unknown>>,
  phones: { readonly from: string; readonly to: string } | null,
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [name, value] of Object.entries(metadata)) {
    if (typeof value !== 'string' && typeof value !== 'number') continue;
    const text = String(value);
    if (text !== '' && text.length <= MAX_VALUE_CHARS) found.set(name, text);
  }
  if (phones !== null) found.set('FromPhone', phones.from).set('ToPhone', phones.to);
  return found;
}

/** A memory of the latest sessions, in memory only. */
export class RecentSessions implements SessionMemory {
  /** The latest is last. */
  #sessions: FinishedSession[] = [];

  async byId(sessionId: string, agentId: string | null): Promise<readonly ChatMessage[] | null> {
    const found = this.#sessions.findLast((one) => one.sessionId === sessionId && one.agentId === agentId);
    return found?.messages ?? null;
  }

  async latest(identifier: string, value: string, agentId: string | null): Promise<readonly ChatMessage[] | null> {
    const found = this.#sessions.findLast(
      (one) => one.identifiers.get(identifier) === value && one.agentId === agentId,
    );
    return found?.messages ?? null;
  }

  async keep(session: FinishedSession): Promise<void> {
    this.#sessions = [...this.#sessions.filter(({ sessionId }) => sessionId !== session.sessionId), session];
    this.#sessions.splice(0, this.#sessions.length - MAX_SESSIONS);
  }
}

interface RememberOptions {
  memory?: MemoryKeeper | null | undefined;
  llm: LlmProvider;
  model: string;
  clock: Clock;
  /** Also counts what the model uses for it. */
  usage: UsageBook;
}

/** Deadline for the model's summary. */
const SUMMARY_TIMEOUT_MS = 15_000;
/** Deadline for the store. */
const KEEP_TIMEOUT_MS = 3_000;
/** Maximum length of one session's memory, in characters. */
const MAX_CHARS = 1_000;

/** A model that answers with a tool call says nothing but the summary. */
const SUMMARY_TOOL: ToolSpec = {
  name: 'remember',
  description: 'Keeps what a conversation established, for the next one with the same user.',
  parameters: {
    type: 'object',
    properties: {
      summary: {
        type: 'string',
        description:
          'What will matter next time: who the user is, what they wanted, decided, prefer or were promised, and what is ' +
          'still open. Facts only, in at most 100 words, in the language of the conversation. Empty if there is nothing.',
      },
    },
    required: ['summary'],
    additionalProperties: false,
  },
};

const INSTRUCTION =
  'The conversation is over. Call remember now, with what it established about the user. Leave out what earlier ' +
  'conversations had established already, unless it has changed.';

/**
 * Summarises the conversation for the user's memory. The model writes the summary; if it fails or is late, the user's
 * own words and the calls made for them are stored.
 * @param messages the conversation as the model knows it, with the system prompt
 */
export async function remember(
  options: RememberOptions,
  messages: readonly ChatMessage[],
  calls: readonly FunctionCall[],
  onFault: (reason: string) => void,
): Promise<void> {
  const { memory, clock } = options;
  if (!memory || !messages.some(({ role }) => role === 'user')) return;
  try {
    const text = (await summaryOf(options, messages, onFault)) ?? plainSummary(messages, calls);
    if (text === '') return;
    await withTimeout(clock, KEEP_TIMEOUT_MS, () => memory.keep(text));
  } catch (error) {
    onFault(reasonOf(error));
  }
}

/** Null if the model gives none; empty if there is nothing to remember. */
async function summaryOf(
  { llm, model, clock, usage }: RememberOptions,
  messages: readonly ChatMessage[],
  onFault: (reason: string) => void,
): Promise<string | null> {
  try {
    return await withTimeout(clock, SUMMARY_TIMEOUT_MS, async (signal) => {
      usage.asked({ provider: llm.name, model });
      const pieces = llm.complete({
        model,
        messages: [...messages, { role: 'user', content: INSTRUCTION }],
        tools: [SUMMARY_TOOL],
        requiredTool: SUMMARY_TOOL.name,
        temperature: 0,
        clock,
        signal,
      });
      for await (const piece of untilAborted(pieces, signal)) {
        if (piece.type === 'usage') usage.counted({ provider: llm.name, model }, piece);
        if (piece.type === 'toolCall' && piece.call.name === SUMMARY_TOOL.name) return summaryIn(piece.call.arguments);
      }
      return null;
    });
  } catch (error) {
    onFault(reasonOf(error));
    return null;
  }
}

function summaryIn(text: string): string | null {
  try {
    const { summary } = parseJson(text) as { summary?: unknown };
    return typeof summary === 'string' ? cut(summary.replace(/\s+/g, ' ').trim(), MAX_CHARS) : null;
  } catch {
    return null;
  }
}

/** Calls without information about the user. */
const ENGINE_CALLS = /^(end_call|(?:pause|resume)_recording|press_digits|search_knowledge|switch_language)$/;
/** Remarks with fewer words are answers that mean nothing without the question. */
const MIN_WORDS = 3;
/** Number of the user's last remarks to keep. */
const REMARKS = 8;

/** Without a model: the calls, and the user's remarks. */
export function plainSummary(messages: readonly ChatMessage[], calls: readonly FunctionCall[]): string {
  const done = calls
    .filter(({ name, ok }) => ok && !ENGINE_CALLS.test(name))
    .map(({ name, arguments: text }) => `${name.replaceAll('_', ' ')}${argumentsIn(text)}`);
  const said = messages
    .filter((message) => message.role === 'user' && message.name === undefined)
    .filter(({ content }) => content.split(/\s+/).length >= MIN_WORDS)
    .map(({ content }) => cut(content.replace(/\s+/g, ' '), 200))
    .slice(-REMARKS);
  const parts = [
    ...(done.length > 0 ? [`Done: ${done.join('; ')}.`] : []),
    ...(said.length > 0 ? [`The user said: ${said.map((text) => `"${text}"`).join(' ')}`] : []),
  ];
  return cut(parts.join(' '), MAX_CHARS);
}

function argumentsIn(text: string): string {
  try {
    const given = Object.entries(parseJson(text) as object).map(
      ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
    );
    return given.length === 0 ? '' : ` (${given.join(', ')})`;
  } catch {
    return '';
  }
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).trimEnd()}…`;
}
