import type { Clock } from '../../base/clock.js';
import type { LlmProvider } from '../../providers/llm/llm.js';
import type { ChatMessage, ToolSpec } from '../../agent/chat.js';
import { parseJson } from '../../base/json.js';
import { reasonOf } from '../../base/errors.js';
import { untilAborted, withTimeout } from '../../base/deadlines.js';
import type { FunctionCall } from '../record/session-report.js';
import type { UsageBook } from '../record/usage.js';

/** What one session with a user established. */
export interface Memory {
  /** Whose it is; agents do not see each other's. */
  agentId: string;
  /** The value of the agent's `memory.user_identifier_key`. */
  user: string;
  sessionId: string;
  text: string;
  /** When the session ended, in milliseconds since 1970. */
  unixMs: number;
}

/** Where memories are kept. The daemon's is in SQLite. */
export interface MemoryStore {
  /** The latest ones, newest first. */
  recall(agentId: string, user: string, limit: number): Promise<readonly Memory[]>;
  /** Another memory of the same session takes the place of the first. */
  keep(memory: Memory): Promise<void>;
}

/** Where a session leaves what it established. */
export interface MemoryKeeper {
  keep(text: string): Promise<void>;
}

/** Keeps memories as long as the process lives. */
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

/** A session that is over, as far as a later one may go on from it. */
export interface FinishedSession {
  sessionId: string;
  /** Sessions of other agents are not found. Null = an agent without an id. */
  agentId: string | null;
  /** Its metadata, as far as it is texts and numbers, with `FromPhone` and `ToPhone`. */
  identifiers: ReadonlyMap<string, string>;
  messages: readonly ChatMessage[];
  /** Milliseconds since 1970. */
  endedUnixMs: number;
}

/** What was said in sessions that are over. */
export interface SessionMemory {
  /** Null where it is not known. */
  byId(sessionId: string, agentId: string | null): readonly ChatMessage[] | null;
  /** Of the latest session with this value of the identifier. */
  latest(identifier: string, value: string, agentId: string | null): readonly ChatMessage[] | null;
  keep(session: FinishedSession): void;
}

/** Longest value that can identify somebody, in characters. */
const MAX_VALUE_CHARS = 200;
/** As many sessions are remembered where there is no database. */
const MAX_SESSIONS = 200;

/** Members of a session's metadata that can identify its user, and the numbers of its call. */
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

/** A memory that lasts as long as the process, of the latest sessions. */
export class RecentSessions implements SessionMemory {
  /** The latest comes last. */
  #sessions: FinishedSession[] = [];

  byId(sessionId: string, agentId: string | null): readonly ChatMessage[] | null {
    const found = this.#sessions.findLast((one) => one.sessionId === sessionId && one.agentId === agentId);
    return found?.messages ?? null;
  }

  latest(identifier: string, value: string, agentId: string | null): readonly ChatMessage[] | null {
    const found = this.#sessions.findLast(
      (one) => one.identifiers.get(identifier) === value && one.agentId === agentId,
    );
    return found?.messages ?? null;
  }

  keep(session: FinishedSession): void {
    this.#sessions = [...this.#sessions.filter(({ sessionId }) => sessionId !== session.sessionId), session];
    this.#sessions.splice(0, this.#sessions.length - MAX_SESSIONS);
  }
}

interface RememberOptions {
  memory?: MemoryKeeper | null | undefined;
  llm: LlmProvider;
  model: string;
  clock: Clock;
  /** What the model reads and writes for it counts too. */
  usage: UsageBook;
}

/** How long the model may take to sum up. */
const SUMMARY_TIMEOUT_MS = 15_000;
/** How long the store may take. */
const KEEP_TIMEOUT_MS = 3_000;
/** Longest memory of one session, in characters. */
const MAX_CHARS = 1_000;

/** A model that answers in the form of a call says nothing but the summary. */
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
 * Sums the conversation up and gives that to the user's memory. The model is asked; where it does not answer so, or not in
 * time, the user's own words and what was done for them are kept.
 * @param messages the conversation as the model knows it, system prompt included
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

/** Null where the model gives none; empty where there is nothing to remember. */
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

/** Calls that say nothing about the user. */
const ENGINE_CALLS = /^(end_call|press_digits|search_knowledge|switch_language)$/;
/** Fewer words than this answer something that is not told with them. */
const MIN_WORDS = 3;
/** Remarks of the user that are kept, the last ones. */
const REMARKS = 8;

/** Without a model: what was done, and what the user said. */
export function plainSummary(messages: readonly ChatMessage[], calls: readonly FunctionCall[]): string {
  const done = calls
    .filter(({ name, ok }) => ok && !ENGINE_CALLS.test(name))
    .map(({ name, arguments: text }) => `${name.replaceAll('_', ' ')}${argumentsIn(text)}`);
  const said = messages
    .filter(({ role, content }) => role === 'user' && content.split(/\s+/).length >= MIN_WORDS)
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
