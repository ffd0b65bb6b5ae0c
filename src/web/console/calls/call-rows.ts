import type { CallHistoryItem } from '../../../session/record/call-history.js';
import { el } from '../../shared/elements.js';
import { duration } from '../../page/times.js';
import { clock, endsOf, shortTime, wholeTime } from '../words.js';
import { endWords, type StatusWords, statusWords } from '../statuses.js';

export function statusPill({ label, group, why }: StatusWords): HTMLElement {
  return el('span', { class: `pill ${group}`, title: why }, label);
}

/** A call as a row of the list. */
export function callRow(call: CallHistoryItem, agentName: string, nowMs: number): HTMLElement {
  const { session_id: id, ts, call_metrics: metrics, call_status: status } = call;
  const { who, direction } = endsOf(call);
  const times = metrics.utterance_latency;
  const isRunning = statusWords(status).group === 'running';
  const arrow = direction === null ? '' : direction === 'outbound' ? '↗ ' : '↙ ';
  const answers =
    times === null
      ? [el('span', { class: 'soft' }, '–')]
      : [duration(times.p50), el('span', { class: 'soft' }, ` / ${duration(times.p95)}`)];
  return el(
    'li',
    {},
    el(
      'a',
      { class: 'call-row', href: `#/calls/${encodeURIComponent(id)}`, 'data-id': id },
      el('time', { datetime: new Date(ts * 1000).toISOString(), title: wholeTime(ts) }, shortTime(ts, nowMs)),
      el('span', { class: 'call-agent' }, agentName),
      el('span', { class: 'call-who', title: direction }, `${arrow}${who}`),
      el('span', { class: 'figure' }, isRunning ? '' : clock(call.duration)),
      el('span', { class: 'figure call-times', title: 'Response time: p50 / p95' }, ...answers),
      statusPill(endWords(call)),
    ),
  );
}
