import type { ChatMessage, ToolCall } from '../../agent/chat.js';
import { arrivalOf, passedNote } from '../../agent/flow/handover.js';
import type { HistoryConfig } from '../../agent/flow/conversation-config.js';
import type { AddedRole } from '../control/command.js';
import type { Core } from '../core.js';
import type { AssistantEntry, Handover, HistoryEntry } from '../state.js';

/** The user turn for speech that was not understood. */
export const INAUDIBLE = '[inaudible]';

const STILL_RUNNING = 'Still running; the result will follow.';

export function addUserMessage(core: Core, content: string): number {
  return core.state.history.push({ role: 'user', content, atMs: core.nowMs }) - 1;
}

/**
 * The turn was not over: empties its message, because another one will contain all of it. Other indices do not change.
 */
export function takeBackUserMessage(core: Core, entry: number): void {
  core.state.history[entry] = { role: 'user', content: '', atMs: core.nowMs };
}

/** Adds a message that nobody has said. */
export function addMessage(core: Core, as: AddedRole, content: string): void {
  core.state.history.push({ role: 'added', as, content, atMs: core.nowMs });
}

/** Adds a participant's words; those that follow each other are one message. */
export function addParticipantMessage(core: Core, name: string, content: string, whispered: boolean): void {
  const last = core.state.history.at(-1);
  if (last?.role === 'participant' && last.name === name && last.whispered === whispered) {
    last.content += ` ${content}`;
  } else core.state.history.push({ role: 'participant', name, whispered, content, atMs: core.nowMs });
}

/** Adds an assistant message; its parts follow as they are spoken. */
export function addAssistantMessage(core: Core): number {
  const entry: AssistantEntry = { role: 'assistant', parts: [], calls: [], interrupted: false, atMs: core.nowMs };
  if (core.state.handovers.length > 0) entry.agent = core.agent.name;
  return core.state.history.push(entry) - 1;
}

/** Adds a call without a result to an assistant message. */
export function addToolCall(core: Core, entry: number, call: ToolCall): void {
  assistantAt(core, entry).calls.push({ call, result: null });
}

export function setToolResult(core: Core, entry: number, callId: string, result: string): void {
  const made = assistantAt(core, entry).calls.find(({ call }) => call.id === callId);
  if (made !== undefined) made.result = result;
}

export function assistantAt(core: Core, entry: number): AssistantEntry {
  const message = core.state.history[entry];
  if (message?.role !== 'assistant') throw new Error(`history entry ${String(entry)} is not an assistant message`);
  return message;
}

/** Records how much of an utterance was heard; the rest counts as not said. */
export function markHeard(core: Core, entry: number, utteranceId: number, heardChars: number): void {
  const part = assistantAt(core, entry).parts.find((candidate) => candidate.utteranceId === utteranceId);
  if (part !== undefined) part.heardChars = Math.max(0, Math.min(heardChars, part.text.length));
}

/** The heard part of a message; with `expected`, including what is still to be played. */
export function spokenText(entry: AssistantEntry, expected: boolean): string {
  return entry.parts
    .map((part) => (part.heardChars === null ? (expected ? part.text : '') : part.text.slice(0, part.heardChars)))
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .join(' ');
}

/** The agent's last words, including those that are still to be played. */
export function lastSpoken(core: Core): string {
  const last = lastSaid(core);
  return last === undefined ? '' : spokenText(last, true);
}

/** Whether the user cut the agent's last words off. */
export function wasCutOff(core: Core): boolean {
  return lastSaid(core)?.interrupted === true;
}

function lastSaid({ state }: Core): AssistantEntry | undefined {
  return state.history.findLast((entry) => entry.role === 'assistant' && entry.parts.length > 0) as
    AssistantEntry | undefined;
}

/** The index of the user's last message; null = there is none. */
export function lastUserMessage({ state }: Core): number | null {
  const at = state.history.findLastIndex((entry) => entry.role === 'user' && entry.content !== '');
  return at < 0 ? null : at;
}

/**
 * The user has said something, and has heard nothing since: neither the agent, whose words may all have been cut off, nor
 * a participant.
 */
export function isUnanswered(core: Core): boolean {
  const wasSaid = (entry: HistoryEntry): boolean =>
    entry.role === 'user'
      ? entry.content !== ''
      : entry.role === 'assistant'
        ? spokenText(entry, true) !== ''
        : entry.role === 'participant' && !entry.whispered;
  return core.state.history.findLast(wasSaid)?.role === 'user';
}

/**
 * The history as messages. `expected`: what is still playing counts as said, and notes for the model are included (for
 * the model's next request).
 */
export function historyMessages(
  history: readonly HistoryEntry[],
  options: { expected: boolean; keepInterrupted: boolean },
): ChatMessage[] {
  const messages: ChatMessage[] = [];
  for (const entry of history) {
    if (entry.role === 'added') {
      const { as: role, content } = entry;
      if (role !== 'system' || options.expected) messages.push({ role, content });
      continue;
    }
    if (entry.role === 'participant') {
      const { name, content, whispered } = entry;
      if (!whispered) messages.push({ role: 'user', name, content });
      else if (options.expected) messages.push({ role: 'system', content: whisperNote(name, content) });
      continue;
    }
    if (entry.role === 'user') {
      if (entry.content !== '') messages.push({ role: 'user', content: entry.content });
      continue;
    }
    const content = entry.interrupted && !options.keepInterrupted ? '' : spokenText(entry, options.expected);
    if (entry.calls.length > 0) {
      messages.push(named({ role: 'assistant', content, toolCalls: entry.calls.map(({ call }) => call) }, entry));
    } else if (content !== '') messages.push(named({ role: 'assistant', content }, entry));
    for (const { call, result } of entry.calls) {
      messages.push({ role: 'tool', toolCallId: call.id, content: result ?? STILL_RUNNING });
    }
  }
  return messages;
}

function named(message: Extract<ChatMessage, { role: 'assistant' }>, { agent }: AssistantEntry): ChatMessage {
  if (agent !== undefined) message.name = agent;
  return message;
}

/**
 * What the agent that speaks sees of the history: a note in place of each hand-over. One that gets the conversation back
 * sees again what it saw before, and what came after.
 */
function seenHistory({ state: { history, handovers } }: Core): readonly HistoryEntry[] {
  const current = handovers.at(-1);
  if (current === undefined) return history;
  const passed = new Map(handovers.map((one) => [one.callId, one]));
  const arrival = current.back ? arrivalOf(handovers, current.to) : undefined;
  const isTold = (one: Handover): boolean => one === current || one === arrival;
  return history.flatMap((entry, at) => {
    const isSeen = at >= current.since || at === current.only || at === arrival?.only;
    if (entry.role !== 'assistant') return isSeen ? [entry] : [];
    const handedOver = entry.calls.flatMap(({ call }) => passed.get(call.id) ?? []);
    if (handedOver.length === 0) return isSeen ? [entry] : [];
    const calls = entry.calls.filter(({ call }) => !passed.has(call.id));
    const notes = handedOver.filter((one) => isSeen || isTold(one)).map((one) => noteEntry(one, isTold(one)));
    return isSeen ? [{ ...entry, calls }, ...notes] : notes;
  });
}

function noteEntry(handover: Handover, isTold: boolean): HistoryEntry {
  const content = isTold ? handover.note : passedNote(handover);
  return { role: 'added', as: 'system', content, atMs: handover.atMs };
}

/** Messages for a model, which must not take another person's words for the user's. */
export function forModel(messages: readonly ChatMessage[]): ChatMessage[] {
  return messages.map((message) =>
    message.role === 'user' && message.name !== undefined
      ? { role: 'system', content: `[${message.name}, who has joined the call, says to the user:] ${message.content}` }
      : message,
  );
}

function whisperNote(name: string, content: string): string {
  return `[${name} tells you, and the user does not hear it:] ${content}`;
}

/**
 * The model's input: system prompt and the latest messages within the agent's limits.
 * @param next a message that is not in the history (yet)
 */
export function modelMessages(core: Core, next?: ChatMessage): ChatMessage[] {
  const { allowed, keepMessage } = core.config.interruption;
  const all = historyMessages(seenHistory(core), { expected: true, keepInterrupted: !allowed || keepMessage });
  if (next !== undefined) all.push(next);
  const latest = limitMessages(forModel([...core.config.earlier, ...all]), core.config.history);
  const limited = withNote(latest, core.state.handovers.at(-1)?.note ?? null);
  const notes = core.actions.map((action) => action.promptNote?.(core) ?? '');
  const system = [core.config.systemPrompt, ...notes].filter((part) => part !== '').join('\n\n');
  return system === '' ? limited : [{ role: 'system', content: system }, ...limited];
}

/** What an agent was told when it got the conversation stays with it, beyond any limit: it may be all that it knows. */
export function withNote(messages: readonly ChatMessage[], note: string | null): ChatMessage[] {
  if (note === null || messages.some(({ role, content }) => role === 'system' && content === note)) {
    return [...messages];
  }
  return [{ role: 'system', content: note }, ...messages];
}

/**
 * Keeps the latest messages within the limit. A tool result never stays without its call: results at the start are left
 * out. If nothing else would be left, their call is kept beyond the limit.
 */
export function limitMessages(messages: readonly ChatMessage[], limits: HistoryConfig): ChatMessage[] {
  let kept = [...messages];
  if (limits.messageLimit !== null && kept.length > limits.messageLimit) {
    let start = kept.length - limits.messageLimit;
    while (kept[start]?.role === 'tool') start++;
    if (start === kept.length) start = kept.findLastIndex(({ role }) => role !== 'tool');
    kept = kept.slice(Math.max(0, start));
  }
  if (limits.toolResultLimit !== null) {
    let budget = limits.toolResultLimit;
    for (let index = kept.length - 1; index >= 0; index--) {
      const message = kept[index] as ChatMessage;
      if (message.role !== 'tool') continue;
      if (budget > 0) budget--;
      else kept[index] = { ...message, content: '[left out]' };
    }
  }
  return kept;
}
