import { msToSamples } from '../audio/frame.js';
import type { LogEntry } from '../session/record/event-log.js';
import type { CallHistoryItem } from '../session/record/call-history.js';
import type { CallerStep } from './suite/caller-schema.js';
import type { Expectation } from './suite/expectation-schema.js';
import type { EvalCase, MockReply, ToolMock } from './suite/suite-schema.js';

/** A turn of the user in a recording: milliseconds from its start. */
export interface RecordedSpeech {
  startMs: number;
  endMs: number;
  text: string;
}

/** Sound before and after a turn that belongs to it, in ms. */
const MARGIN_MS = 200;

/** The stretch of a recording to play for a turn, in ms. */
export function stretchOf({ startMs, endMs }: RecordedSpeech): { fromMs: number; toMs: number } {
  return { fromMs: Math.max(0, startMs - MARGIN_MS), toMs: endMs + MARGIN_MS };
}

/** A stretch of a recording. */
export function cutSpeech(
  { samples, sampleRateHz }: { samples: Int16Array; sampleRateHz: number },
  fromMs: number,
  toMs: number,
): Int16Array {
  return samples.slice(msToSamples(fromMs, sampleRateHz), msToSamples(toMs, sampleRateHz));
}

/** What the user did, in order, with the stretch of the recording where it was spoken. */
type UserAct = { say: string; startMs: number; endMs: number | null } | { press: string; startMs: number };

/**
 * A case made from a call of the log: the user's turns as steps, the results of tools as mocks, and what happened as
 * expectations to edit.
 * @param log the call's event log; empty = the messages of the item are all that is known
 * @param audioOf what `play` names for a turn, such as the path of a WAV file. Default: the turns are text
 */
export function caseFromCall(
  item: CallHistoryItem,
  log: readonly LogEntry[] = [],
  audioOf?: (speech: RecordedSpeech, index: number) => string,
): EvalCase {
  const acts = actsOf(log);
  const steps = (acts.length > 0 ? acts : saidIn(item)).map((act, index): CallerStep => {
    if ('press' in act) return { press: act.press };
    if (audioOf === undefined || act.endMs === null) return { say: act.say };
    return { play: audioOf({ startMs: act.startMs, endMs: act.endMs, text: act.say }, index), text: act.say };
  });
  const { voip } = item;
  const isOutbound = voip?.['direction'] === 'outbound';
  const metadata = Object.keys(item.metadata).length === 0 ? undefined : { ...item.metadata };
  const [from, to] = [voip?.['from'], voip?.['to']];
  const made: EvalCase = {
    name: `call ${item.session_id.slice(0, 8)}`,
    description: `Made from the call ${item.session_id} of ${new Date(item.ts * 1000).toISOString()}.`,
    direction: isOutbound ? 'outbound' : 'inbound',
    start: new Date(item.ts * 1000).toISOString(),
    caller: { script: [...steps, ...lastStep(item, steps)] },
    expect: expectationsOf(item),
  };
  if (metadata !== undefined) made.metadata = metadata;
  if (typeof from === 'string' && typeof to === 'string') made.phones = { from, to };
  const tools = mocksOf(item);
  if (Object.keys(tools).length > 0) made.tools = tools;
  return made;
}

/** The stretches of speech that belong to the turns of `caseFromCall`. */
function actsOf(log: readonly LogEntry[]): UserAct[] {
  const acts: UserAct[] = [];
  let [startMs, endMs]: [number | null, number | null] = [null, null];
  let lastTurn: number | null = null;
  for (const entry of log) {
    if (entry.kind === 'event') {
      const { event } = entry;
      if (event.type === 'speech.started') startMs ??= event.startMs;
      else if (event.type === 'speech.stopped') endMs = event.endMs;
      else if (event.type === 'text') [startMs, endMs] = [entry.t, null];
      else if (event.type === 'digits') pressed(acts, event.digits, entry.t);
    } else if (entry.kind === 'effect' && entry.effect.type === 'user.said') {
      const { text, turn } = entry.effect;
      const last = acts.at(-1);
      // A turn that was answered too soon comes again with all of its words.
      if (turn === lastTurn && last !== undefined && 'say' in last) {
        last.say = text;
        last.endMs = endMs ?? last.endMs;
      } else if (!isKeys(text)) acts.push({ say: text, startMs: startMs ?? entry.t, endMs });
      lastTurn = turn;
      [startMs, endMs] = [null, null];
    }
  }
  return acts;
}

function pressed(acts: UserAct[], keys: string, atMs: number): void {
  const last = acts.at(-1);
  if (last !== undefined && 'press' in last) last.press += keys;
  else acts.push({ press: keys, startMs: atMs });
}

/** Keys are turns of their own in the history, in words. */
function isKeys(text: string): boolean {
  return /^\[.*\]$/.test(text.trim());
}

function saidIn({ chat }: CallHistoryItem): UserAct[] {
  const messages = JSON.parse(chat) as readonly { role?: string; content?: string | null }[];
  return messages.flatMap(({ role, content }): UserAct[] =>
    role === 'user' && typeof content === 'string' && content.trim() !== '' && !isKeys(content)
      ? [{ say: content, startMs: 0, endMs: null }]
      : [],
  );
}

function lastStep({ call_status: status }: CallHistoryItem, steps: readonly CallerStep[]): CallerStep[] {
  if (steps.length === 0) return [{ listen: true }, { hang_up: true }];
  return status === 'user-ended' ? [{ listen: true }, { hang_up: true }] : [];
}

function mocksOf({ function_calls: calls }: CallHistoryItem): Record<string, ToolMock> {
  const replies = new Map<string, MockReply[]>();
  for (const { name, result } of calls) replies.set(name, [...(replies.get(name) ?? []), { result: parsed(result) }]);
  return Object.fromEntries(
    [...replies].map(([name, list]): [string, ToolMock] => [
      name,
      list.length === 1 ? { result: list[0]?.result } : { sequence: list },
    ]),
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

function expectationsOf(item: CallHistoryItem): Expectation[] {
  const calls = item.function_calls.map(({ name, params }): Expectation => {
    const values = typeof params === 'object' && params !== null ? (params as Record<string, unknown>) : {};
    const plain = Object.entries(values).filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value));
    const args = Object.fromEntries(plain) as Record<string, string | number | boolean>;
    return { tool_called: plain.length === 0 ? name : { name, arguments: args } };
  });
  const transfer = item.voip?.['transfer'] as { to?: unknown; ok?: unknown } | null | undefined;
  if (transfer?.ok === true && typeof transfer.to === 'string') calls.push({ transferred: transfer.to });
  return [...calls, { ends: { status: item.call_status } }];
}
