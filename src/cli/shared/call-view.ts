import { styleText } from 'node:util';
import type { CallHistoryItem } from '../../session/record/call-history.js';
import type { TranscriptLine } from '../../session/record/transcript.js';
import type { StoredCall } from '../../store/calls.js';

/** Line width in characters. */
const WIDTH = 100;
/** Length of an abbreviated session id. */
const ID_CHARS = 8;

const HEADINGS = ['start (UTC)', 'session', '', 'from → to', 'agent', 'status', 'length'];
const WIDTHS = [16, ID_CHARS, 4, 29, 11, 17, 6];

/** Calls as a table. */
export function callTable(calls: readonly StoredCall[]): string {
  const rows = calls.map(({ sessionId, channel, direction, fromPhone, toPhone, agentId, status, tsUs, item }) => {
    const parties = fromPhone === null ? '' : `${fromPhone} → ${toPhone ?? '?'}`;
    const how = channel !== 'phone' ? channel : direction === 'inbound' ? 'in' : 'out';
    const length = item.duration === 0 ? '' : lengthOf(item.duration);
    return [minute(tsUs), sessionId.slice(0, ID_CHARS), how, parties, agentId ?? '', status, length];
  });
  return [row(HEADINGS), ...rows.map(row)].map((line) => `${line}\n`).join('');
}

function row(cells: readonly string[]): string {
  return cells
    .map((cell, at) => fitting(cell, WIDTHS[at] ?? 0))
    .join(' ')
    .trimEnd();
}

/** Text truncated or padded to a width. */
function fitting(text: string, width: number): string {
  return text.length > width ? `${text.slice(0, width - 1)}…` : text.padEnd(width);
}

export interface ViewedCall {
  call: StoredCall;
  story: readonly TranscriptLine[];
  /** Path; null = none. */
  recording: string | null;
  /** Path; null = none. */
  trace: string | null;
  /** Currency of prices. */
  unit: string;
}

/** A call as text: its facts, the conversation, and the cost. */
export function callView({ call, story, recording, trace, unit }: ViewedCall): string {
  const { item, channel, direction } = call;
  const how = channel === 'phone' ? `phone, ${direction}` : channel;
  const ended = call.endedUs === null ? call.status : `${call.status} after ${lengthOf(item.duration)}`;
  const facts: [string, string | null][] = [
    ['session', call.sessionId],
    ['call', call.callId],
    ['from', call.fromPhone],
    ['to', call.toPhone],
    ['agent', call.agentId],
    ['campaign', call.campaignId],
    ['metadata', Object.keys(item.metadata).length === 0 ? null : JSON.stringify(item.metadata)],
    ['error', item.error_message],
  ];
  const lines = [
    styleText('bold', `${second(call.tsUs)} UTC  ${ended}  ${how}`),
    ...shown(facts),
    '',
    ...story.flatMap(storyLines),
    ...(story.length === 0 ? ['no transcript'] : []),
    '',
    ...shown([
      ['response', responses(item)],
      ['cost', costs(item, unit)],
      ['recording', recording],
      ['trace', trace],
    ]),
  ];
  return `${lines.join('\n')}\n`;
}

function shown(facts: readonly [string, string | null][]): string[] {
  return facts.flatMap(([name, value]) => (value === null ? [] : [`${styleText('dim', name.padEnd(10))}${value}`]));
}

/** A line of the conversation, wrapped. */
function storyLines({ atMs, who, text }: TranscriptLine): string[] {
  const time = atMs === null ? '' : `${(atMs / 1000).toFixed(2)} s`;
  const head = `${time.padStart(9)}  ${who.padEnd(6)}`;
  const lines: string[] = [];
  let line = head;
  for (const word of text.split(/\s+/)) {
    if (line.length + word.length + 1 > WIDTH && line.trim() !== '') {
      lines.push(line);
      line = ' '.repeat(head.length);
    }
    line += ` ${word}`;
  }
  return [...lines, line];
}

function responses({ call_metrics: { utterance_latency: latency, turns } }: CallHistoryItem): string | null {
  if (latency === null) return null;
  const [p50, p95] = [latency.p50, latency.p95].map((ms) => `${ms.toFixed(0)} ms`) as [string, string];
  return `${p50} (median), ${p95} (p95), ${String(turns)} turns`;
}

function costs({ cost_breakdown: items }: CallHistoryItem, unit: string): string | null {
  const total = items.reduce((sum, { credit }) => sum + credit, 0);
  const parts = items.filter(({ credit }) => credit > 0).map(({ type, credit }) => `${type} ${amount(credit)}`);
  return total === 0 ? null : `${amount(total)} ${unit} (${parts.join(', ')})`;
}

function amount(credit: number): string {
  return String(Math.round(credit * 1e6) / 1e6);
}

function minute(tsUs: number): string {
  return second(tsUs).slice(0, 16);
}

function second(tsUs: number): string {
  return new Date(tsUs / 1000).toISOString().slice(0, 19).replace('T', ' ');
}

/** Minutes and seconds. */
function lengthOf(seconds: number): string {
  const whole = Math.round(seconds);
  return `${String(Math.floor(whole / 60))}:${String(whole % 60).padStart(2, '0')}`;
}
