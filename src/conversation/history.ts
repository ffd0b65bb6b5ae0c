import type { ChatMessage, ToolCall } from '../config/chat.js';
import type { HistoryConfig } from './config.js';
import type { Core } from './core.js';
import type { HistoryEntry } from './state.js';

/** The user turn that stands for speech which was not understood. */
export const INAUDIBLE = '[inaudible]';

const STILL_RUNNING = 'Still running; the result will follow.';

type AssistantEntry = Extract<HistoryEntry, { role: 'assistant' }>;

export function addUserMessage(core: Core, content: string): number {
  return core.state.history.push({ role: 'user', content, atMs: core.nowMs }) - 1;
}

/** Opens an assistant message whose parts follow as they are spoken. */
export function addAssistantMessage(core: Core): number {
  const entry: HistoryEntry = { role: 'assistant', parts: [], toolCalls: [], interrupted: false, atMs: core.nowMs };
  return core.state.history.push(entry) - 1;
}

/** Adds a call to an assistant message, with its result (still open) right behind the message. */
export function addToolCall(core: Core, entry: number, call: ToolCall): number {
  assistantAt(core, entry).toolCalls.push(call);
  return core.state.history.push({ role: 'tool', callId: call.id, content: null, atMs: core.nowMs }) - 1;
}

export function setToolResult(core: Core, entry: number, content: string): void {
  const message = core.state.history[entry];
  if (message?.role === 'tool') message.content = content;
}

export function assistantAt(core: Core, entry: number): AssistantEntry {
  const message = core.state.history[entry];
  if (message?.role !== 'assistant') throw new Error(`history entry ${String(entry)} is no assistant message`);
  return message;
}

/** Notes how much of an utterance was heard; the rest was never said. */
export function markHeard(core: Core, entry: number, utteranceId: number, heardChars: number): void {
  const part = assistantAt(core, entry).parts.find((candidate) => candidate.utteranceId === utteranceId);
  if (part !== undefined) part.heardChars = Math.min(heardChars, part.text.length);
}

/** What was heard of a message; with `expected`, what is still to be played counts as well. */
export function spokenText(entry: AssistantEntry, expected: boolean): string {
  return entry.parts
    .map((part) => (part.heardChars === null ? (expected ? part.text : '') : part.text.slice(0, part.heardChars)))
    .map((text) => text.trim())
    .filter((text) => text !== '')
    .join(' ');
}

/** The history as messages. `expected`: count what is still being played as said (for the model's next request). */
export function historyMessages(
  history: readonly HistoryEntry[],
  options: { expected: boolean; keepInterrupted: boolean },
): ChatMessage[] {
  const messages: ChatMessage[] = [];
  for (const entry of history) {
    if (entry.role === 'user') messages.push({ role: 'user', content: entry.content });
    else if (entry.role === 'tool') {
      messages.push({ role: 'tool', toolCallId: entry.callId, content: entry.content ?? STILL_RUNNING });
    } else {
      const content = entry.interrupted && !options.keepInterrupted ? '' : spokenText(entry, options.expected);
      if (entry.toolCalls.length > 0) messages.push({ role: 'assistant', content, toolCalls: [...entry.toolCalls] });
      else if (content !== '') messages.push({ role: 'assistant', content });
    }
  }
  return messages.filter((message) => message.role !== 'user' || message.content !== '');
}

/** What the model is given: system prompt, then the latest messages within the agent's limits. */
export function modelMessages(core: Core): ChatMessage[] {
  const all = historyMessages(core.state.history, {
    expected: true,
    keepInterrupted: core.config.interruption.keepMessage,
  });
  const limited = limitMessages(all, core.config.history);
  return core.config.systemPrompt === ''
    ? limited
    : [{ role: 'system', content: core.config.systemPrompt }, ...limited];
}

/** Keeps the latest messages; a tool result never stays without its call, nor a call without its result. */
export function limitMessages(messages: readonly ChatMessage[], limits: HistoryConfig): ChatMessage[] {
  let kept = [...messages];
  if (limits.messageLimit !== null && kept.length > limits.messageLimit) {
    let start = kept.length - limits.messageLimit;
    while (start < kept.length && kept[start]?.role === 'tool') start++;
    kept = kept.slice(start);
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
