import type { CallHistoryItem } from '../session/call-history.js';

/** Members that are a column each; those of parts come behind. */
const COLUMNS = [
  ...(['session_id', 'call_id', 'ts', 'call_status', 'duration', 'agent_id', 'campaign_id'] as const),
  ...(['error_message', 'chars_used'] as const),
];
const PARTS = [
  'direction',
  'from',
  'to',
  'credit',
  'response_p50_ms',
  'turns',
  'recording',
  'metadata',
  'chat',
] as const;

/** The first line of a CSV (RFC 4180). */
export function csvHeader(): string {
  return [...COLUMNS, ...PARTS].join(',');
}

export function csvLine(item: CallHistoryItem): string {
  const { voip, call_metrics: metrics } = item;
  const parts: Record<(typeof PARTS)[number], unknown> = {
    direction: voip?.['direction'],
    from: voip?.['from'],
    to: voip?.['to'],
    credit: Math.round(item.cost_breakdown.reduce((sum, { credit }) => sum + credit, 0) * 1e6) / 1e6,
    response_p50_ms: metrics.utterance_latency?.p50,
    turns: metrics.turns,
    recording: item.recording?.recording_url,
    metadata: JSON.stringify(item.metadata),
    chat: item.chat,
  };
  return [...COLUMNS.map((name) => item[name]), ...PARTS.map((name) => parts[name])].map(cell).join(',');
}

/** In quotes where it has to be. What a spreadsheet would take for a formula is text: callers write some of it. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const harmless = /^[=@\t\r]|^[+-](?!\d+$)/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
