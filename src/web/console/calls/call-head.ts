import type {
  CallHistoryItem,
  CostItem,
  EvalCallFacts,
  HistoryParticipant,
} from '../../../session/record/call-history.js';
import { el } from '../../shared/elements.js';
import { duration } from '../../page/times.js';
import { runLink } from '../evals/eval-types.js';
import { card } from '../view.js';
import { clock, endsOf, wholeTime } from '../words.js';
import { statusPill } from './call-rows.js';
import { endWords, statusWords } from '../statuses.js';

/** The parties, the time, and the reason of the end. */
export function callHead(call: CallHistoryItem, agentName: string): HTMLElement {
  const { who, ours, direction } = endsOf(call);
  const way =
    call.eval !== undefined
      ? 'test call'
      : direction === null
        ? who
        : direction === 'outbound'
          ? `called ${who}`
          : `called by ${who}`;
  const line = ours === null ? '' : ` on ${ours}`;
  const isRunning = statusWords(call.call_status).group === 'running';
  const times = call.call_metrics.utterance_latency;
  const figures = [
    el('span', {}, wholeTime(call.ts)),
    ...(isRunning ? [] : [el('span', { class: 'figure' }, clock(call.duration))]),
    ...(times === null
      ? []
      : [
          el(
            'span',
            { title: 'Response time over the call' },
            'p50 ',
            el('b', {}, duration(times.p50)),
            ' · p95 ',
            el('b', {}, duration(times.p95)),
          ),
        ]),
  ];
  return el(
    'header',
    { class: 'call-top' },
    call.eval === undefined ? backToCalls() : backToRun(call.eval),
    el('h1', {}, agentName, el('span', { class: 'soft' }, ` ${way}${line}`)),
    el('p', { class: 'facts-line' }, statusPill(endWords(call)), ...figures),
    el('p', { class: 'why' }, call.error_message ?? endWords(call).why),
  );
}

function backToRun({ run_id: id, case: name }: EvalCallFacts): HTMLElement {
  return el('a', { href: runLink(id, name), class: 'back' }, `← Run, ${name}`);
}

export function backToCalls(): HTMLElement {
  return el('a', { href: '#/calls', class: 'back' }, '← Calls');
}

/** Costs and other facts of the log. */
export function callFacts(call: CallHistoryItem): HTMLElement[] {
  const { cost_breakdown: costs, metadata, carrier_call_log: carrier, voip } = call;
  const transfer = voip?.['transfer'];
  const total = costs.reduce((sum, { credit }) => sum + credit, 0);
  const rows = costs.map((item) =>
    el(
      'tr',
      {},
      el('th', { scope: 'row' }, item.type),
      el('td', {}, item.provider),
      el('td', {}, usage(item)),
      el('td', { class: 'figure' }, price(item.credit)),
    ),
  );
  const ids = Object.entries({
    session: call.session_id,
    call: call.call_id,
    agent: call.agent_id,
    campaign: call.campaign_id,
  });
  return [
    ...othersCard(call),
    ...(rows.length === 0
      ? []
      : [
          card(
            'Costs',
            el(
              'table',
              { class: 'costs' },
              el(
                'tbody',
                {},
                ...rows,
                el(
                  'tr',
                  { class: 'total' },
                  el('th', { scope: 'row', colspan: '3' }, 'in all'),
                  el('td', { class: 'figure' }, price(total)),
                ),
              ),
            ),
            ...(total === 0
              ? [el('p', { class: 'soft' }, 'Items without a price in the configuration file count as 0.')]
              : []),
          ),
        ]),
    card(
      'In the log',
      el(
        'dl',
        { class: 'ids' },
        ...ids.flatMap(([name, id]) => (id === null ? [] : [el('dt', {}, name), el('dd', {}, el('code', {}, id))])),
      ),
      ...json('Transfer', transfer ?? null),
      ...json('Metadata', Object.keys(metadata).length === 0 ? null : metadata),
      ...json('The carrier’s record', carrier),
      ...json('The agent as it was', call.agent_config),
    ),
  ];
}

const MODE_WORDS: Readonly<Record<HistoryParticipant['mode'], string>> = {
  listen: 'listened',
  whisper: 'whispered to the agent',
  barge_in: 'spoke with both',
  take_over: 'took over',
};

/** Who has listened in, or joined the user and the agent. */
function othersCard({ listeners = [], participants = [] }: CallHistoryItem): HTMLElement[] {
  const lines = [
    ...listeners.map(({ name = 'Somebody', from, to }) => `${name} listened from ${clock(from)} to ${clock(to)}`),
    ...participants.map(({ name, mode, from, to, modes = [{ mode, from }] }) => {
      const deeds = modes.map((one) => `${MODE_WORDS[one.mode]} from ${clock(one.from)}`);
      return `${name} ${deeds.join(', ')}, until ${clock(to)}`;
    }),
  ];
  return lines.length === 0
    ? []
    : [card('Others in this call', el('ul', {}, ...lines.map((text) => el('li', {}, text))))];
}

function usage(item: CostItem): string {
  switch (item.type) {
    case 'stt':
      return `${item.seconds.toFixed(1)} s`;
    case 'llm':
      return [
        `${item.model}: ${String(item.prompt_tokens)} + ${String(item.completion_tokens)} tokens`,
        ...(item.cached_tokens > 0 ? [`${String(item.cached_tokens)} cached`] : []),
      ].join(', ');
    case 'tts':
      return `${String(item.chars)} characters`;
    case 'voip':
      return `${item.minutes.toFixed(2)} min`;
  }
}

function price(value: number): string {
  return value === 0 ? '0' : value.toFixed(value < 0.01 ? 6 : 4);
}

function json(title: string, value: unknown): HTMLElement[] {
  if (value === null) return [];
  return [
    el(
      'details',
      {},
      el('summary', {}, title),
      el('pre', { tabindex: '0', role: 'region', 'aria-label': title }, JSON.stringify(value, null, 2)),
    ),
  ];
}
