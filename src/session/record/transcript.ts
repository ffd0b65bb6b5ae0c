import type { CallHistoryItem } from './call-history.js';
import type { LogEntry } from './event-log.js';

/** Something that was said or done in a call. */
export interface TranscriptLine {
  /** On the session's clock; null = unknown. */
  atMs: number | null;
  who: 'user' | 'agent' | 'tool' | 'participant';
  /** Of a participant; of the agent, where several spoke. */
  name?: string;
  text: string;
}

/**
 * A session's transcript from its trace; the agent's part as far as it was heard.
 * @param goesOn what is being said is not cut off
 */
export function transcriptOf({ entries }: { entries: readonly LogEntry[] }, goesOn = false): TranscriptLine[] {
  const lines: TranscriptLine[] = [];
  const turns = new Map<number, TranscriptLine>();
  const calls = new Map<string, TranscriptLine>();
  const texts = new Map<number, string>();
  const spoken = new Map<number, TranscriptLine>();
  /** Who says an utterance, from the first hand-over on. */
  const speakers = new Map<number, string>();
  let speaker: string | null = null;
  const heard = new Map<number | null, number>();
  const add = (line: TranscriptLine): TranscriptLine => {
    lines.push(line);
    return line;
  };
  for (const entry of entries) {
    const { t: atMs } = entry;
    if (entry.kind === 'event') {
      const { event, position } = entry;
      heard.set(position.utteranceId, position.heardChars);
      if (event.type === 'utterance.started') {
        const { utteranceId: id } = event;
        spoken.set(id, add(agentLine(atMs, texts.get(id) ?? '', speakers.get(id))));
      } else if (event.type === 'utterance.finished') spoken.delete(event.utteranceId);
      else if (event.type === 'tool.result') {
        const call = calls.get(event.callId);
        if (call !== undefined) call.text += ` → ${event.ok ? '' : 'FAILED: '}${event.content}`;
      }
    } else if (entry.kind === 'effect') {
      const { effect } = entry;
      if (effect.type === 'speak') {
        texts.set(effect.utteranceId, effect.text);
        if (speaker !== null) speakers.set(effect.utteranceId, speaker);
      } else if (effect.type === 'agent.handover') speaker = effect.to.name;
      else if (effect.type === 'speak.more') {
        texts.set(effect.utteranceId, (texts.get(effect.utteranceId) ?? '') + effect.text);
        const line = spoken.get(effect.utteranceId);
        if (line !== undefined) line.text += effect.text;
      } else if (effect.type === 'tool.start') {
        const { id, name, arguments: args } = effect.call;
        calls.set(id, add({ atMs, who: 'tool', text: `${name}(${args})` }));
      } else if (effect.type === 'participant.words') {
        const { name, text, whispered } = effect;
        add({ atMs, who: 'participant', name, text: whispered ? `(to the agent) ${text}` : text });
      } else if (effect.type === 'user.said') {
        // The same turn again: it had not been over, and this is the complete text.
        const known = turns.get(effect.turn);
        if (known === undefined) turns.set(effect.turn, add({ atMs, who: 'user', text: effect.text }));
        else known.text = effect.text;
      }
    }
  }
  for (const [id, line] of spoken) {
    line.text = `${line.text.slice(0, heard.get(id) ?? 0)}${goesOn ? '' : ' [cut]'}`.trim();
  }
  return lines;
}

function agentLine(atMs: number | null, text: string, name: string | undefined): TranscriptLine {
  const line: TranscriptLine = { atMs, who: 'agent', text };
  if (name !== undefined) line.name = name;
  return line;
}

interface Message {
  role: string;
  content: string;
  name?: string;
  tool_call_id?: string;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
}

/** The same from the call log, without a trace; times are unknown. */
export function transcriptOfChat({
  chat,
  function_calls,
}: Pick<CallHistoryItem, 'chat' | 'function_calls'>): TranscriptLine[] {
  const lines: TranscriptLine[] = [];
  const calls = new Map<string, TranscriptLine>();
  for (const message of JSON.parse(chat) as Message[]) {
    if (message.role === 'tool') {
      const call = calls.get(message.tool_call_id ?? '');
      if (call !== undefined) call.text += ` → ${message.content}`;
      continue;
    }
    const who = message.role === 'user' ? 'user' : 'agent';
    if (message.name !== undefined && who === 'user')
      lines.push({ atMs: null, who: 'participant', name: message.name, text: message.content });
    else if (message.content !== '')
      lines.push(
        who === 'user' ? { atMs: null, who, text: message.content } : agentLine(null, message.content, message.name),
      );
    for (const { id, function: called } of message.tool_calls ?? []) {
      const line: TranscriptLine = { atMs: null, who: 'tool', text: `${called.name}(${called.arguments})` };
      calls.set(id, line);
      lines.push(line);
    }
  }
  return [...lines, ...afterwards({ function_calls })];
}

/** The calls after the session. */
export function afterwards({ function_calls }: Pick<CallHistoryItem, 'function_calls'>): TranscriptLine[] {
  return function_calls
    .filter(({ run_after_call }) => run_after_call)
    .map(({ name, params, result }) => ({
      ...({ atMs: null, who: 'tool' } as const),
      text: `${name}(${JSON.stringify(params)}) → ${result}`,
    }));
}
