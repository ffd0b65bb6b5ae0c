import type { ConfigChanges, ConversationConfig } from '../../../agent/flow/conversation-config.js';
import type { Replayed } from '../../../replay/replay.js';
import type { WhatIf } from '../../../replay/what-if.js';
import { el } from '../../shared/elements.js';
import { valueAt, withValue } from '../draft.js';
import {
  comparisonOf,
  summaryOf,
  type ComparisonSummary,
  isNoticed,
  type TurnComparison,
  type TurnSide,
} from './comparison.js';
import { replaySettings, type ReplaySetting } from './replay-settings.js';
import type { ReplayAnswer, ReplayRequest } from './replay-messages.js';
import { duration } from '../../page/times.js';
import { statusWords } from '../statuses.js';
import { clock } from '../words.js';

interface ReplayEvents {
  /** The log is loaded: the session's settings, and whether this version decides as the log says. */
  onReady(config: ConversationConfig, again: Replayed): void;
  onPlayed(result: WhatIf): void;
  /** The log cannot be replayed, or not with these settings. */
  onFault(message: string): void;
}

/** The built worker, beside the console's script. */
const WORKER = 'assets/replay-worker.js';

/** Replays a call's event log with other settings, in a worker. */
class ReplayRunner {
  readonly #worker = new Worker(WORKER, { type: 'module' });
  readonly #events: ReplayEvents;
  /** Number of the latest request: earlier answers are ignored. */
  #asked = 0;

  constructor(log: string, events: ReplayEvents) {
    this.#events = events;
    this.#worker.addEventListener('message', ({ data }: MessageEvent<ReplayAnswer>) => this.#take(data));
    this.#worker.addEventListener('error', ({ message }) => events.onFault(message || 'The replay cannot be loaded.'));
    this.#send({ type: 'log', text: log });
  }

  play(changes: ConfigChanges): void {
    this.#send({ type: 'changes', id: ++this.#asked, changes });
  }

  /** May be called twice. */
  close(): void {
    this.#worker.terminate();
  }

  #send(request: ReplayRequest): void {
    this.#worker.postMessage(request);
  }

  #take(answer: ReplayAnswer): void {
    if (answer.type === 'ready') this.#events.onReady(answer.config, answer.again);
    else if (answer.id !== null && answer.id !== this.#asked) return;
    else if (answer.type === 'played') this.#events.onPlayed(answer.result);
    else this.#events.onFault(answer.message);
  }
}

interface ReplayCardOptions {
  /** The event log as stored. */
  log: string;
  /** Session time of the opening of the line. */
  zeroMs: number;
  /** Goes to a moment of the call; null = not possible. */
  onSeek: ((ms: number) => void) | null;
}

/** Debounces typing. */
const SETTLE_MS = 150;

/** Replay: shows the effect of other settings on a call while they are changed. */
export class ReplayCard {
  readonly element: HTMLDetailsElement;
  readonly #options: ReplayCardOptions;
  readonly #form = el('form', { class: 'replay-form', 'aria-label': 'Settings of the replay' });
  readonly #state = el('p', { class: 'soft', role: 'status' }, 'Reading the log …');
  readonly #result = el('div', { class: 'stack' });
  #runner: ReplayRunner | null = null;
  #changes: ConfigChanges = {};
  #timer = 0;

  constructor(options: ReplayCardOptions) {
    this.#options = options;
    this.element = el(
      'details',
      { class: 'card replay' },
      el('summary', {}, el('h2', {}, 'Replay'), ' the same call with other settings'),
      el(
        'p',
        { class: 'soft' },
        'The user says and does the same at the same times; model, tools and voice answer as they did, as long after they are asked. Nobody reacts to what they never heard: the longer ago the first difference, the less the rest means.',
      ),
      this.#form,
      this.#state,
      this.#result,
    );
    // The core is loaded on first use.
    this.element.addEventListener('toggle', () => this.#start(), { once: true });
    this.#form.addEventListener('submit', (event) => event.preventDefault());
  }

  /** May be called twice. */
  close(): void {
    clearTimeout(this.#timer);
    this.#runner?.close();
  }

  #start(): void {
    this.#runner = new ReplayRunner(this.#options.log, {
      onReady: (config, again) => this.#ready(config, again),
      onPlayed: (result) => this.#show(result),
      onFault: (message) => {
        this.#state.textContent = message;
        this.#result.replaceChildren();
      },
    });
  }

  #ready(config: ConversationConfig, again: Replayed): void {
    const fields = replaySettings(config).map((setting) => this.#field(setting, valueAt(config, setting.path)));
    const reset = el('button', { type: 'reset', class: 'quiet-button' }, 'As it was');
    this.#form.addEventListener('reset', () => {
      this.#changes = {};
      this.#settle();
    });
    this.#form.replaceChildren(el('div', { class: 'replay-fields' }, ...fields), reset);
    this.#state.textContent = sameness(again);
    this.#settle();
  }

  #field({ path, label, about, kind, field }: ReplaySetting, own: unknown): HTMLElement {
    const change = (value: unknown): void => {
      this.#changes = withValue(this.#changes, path, value) ?? {};
      this.#settle();
    };
    const of = field ?? 'the engine’s';
    const name = path.join('.');
    const input = kind === 'ms' ? msInput(own, change) : switchInput(own, change);
    input.id = `replay-${name}`;
    return el(
      'label',
      { title: about },
      el('span', {}, label),
      el('span', { class: 'replay-input' }, input, ...(kind === 'ms' ? [el('span', { class: 'soft' }, 'ms')] : [])),
      el('code', { class: 'soft' }, of),
    );
  }

  #settle(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#runner?.play(this.#changes), SETTLE_MS);
  }

  #show(result: WhatIf): void {
    const isChanged = Object.keys(this.#changes).length > 0;
    if (!isChanged) {
      this.#result.replaceChildren(el('p', { class: 'soft' }, 'Change a setting to see what it would have done.'));
      return;
    }
    const rows = comparisonOf(result, this.#options.zeroMs);
    const view = comparisonView(rows, summaryOf(result, rows), result, this.#options);
    const command = el(
      'details',
      {},
      el('summary', {}, 'As JSON, for parley replay LOG --config'),
      el(
        'pre',
        { tabindex: '0', role: 'region', 'aria-label': 'Changes as JSON' },
        JSON.stringify(this.#changes, null, 2),
      ),
    );
    this.#result.replaceChildren(view, command);
  }
}

function msInput(own: unknown, onChange: (value: unknown) => void): HTMLInputElement {
  const input = el('input', {
    type: 'number',
    min: '0',
    max: '60000',
    step: '10',
    inputmode: 'numeric',
    placeholder: typeof own === 'number' ? String(own) : 'off',
  });
  input.addEventListener('input', () => {
    // An incomplete number is not replayed.
    if (input.checkValidity() || input.value === '') onChange(input.value === '' ? undefined : Number(input.value));
  });
  return input;
}

function switchInput(own: unknown, onChange: (value: unknown) => void): HTMLSelectElement {
  const was = own === true ? 'on' : 'off';
  const select = el(
    'select',
    {},
    el('option', { value: '' }, `as it was: ${was}`),
    el('option', { value: 'true' }, 'on'),
    el('option', { value: 'false' }, 'off'),
  );
  select.addEventListener('change', () => onChange(select.value === '' ? undefined : select.value === 'true'));
  return select;
}

/** Whether this version of the engine still decides as the log says. */
function sameness({ events, effects, difference }: Replayed): string {
  const all = `${String(events)} events, ${String(effects)} decisions and their effects`;
  if (difference === null) return `Played again with its own settings the call is the same to the bit: ${all}.`;
  const at = (difference.atMs / 1000).toFixed(2);
  return `This version decides otherwise than the log from ${at} s on: what follows compares what it does itself.`;
}

interface ComparisonViewOptions {
  zeroMs: number;
  onSeek: ((ms: number) => void) | null;
}

/** Original and replayed turns on one scale. */
function comparisonView(
  rows: readonly TurnComparison[],
  summary: ComparisonSummary,
  { before, after }: WhatIf,
  { zeroMs, onSeek }: ComparisonViewOptions,
): HTMLElement {
  const longest = Math.max(1, ...rows.flatMap((row) => [widest(row.before), widest(row.after)]));
  const end = (side: WhatIf['before']): string =>
    side === null ? 'still open' : `${statusWords(side.status).label} at ${clock((side.atMs - zeroMs) / 1000)}`;
  const facts = [
    ['Turns decided otherwise', `${String(summary.changed)} of ${String(summary.turns)}`],
    ['Response time, median', fromTo(ms(summary.before.responseMs), ms(summary.after.responseMs))],
    ['Interruptions', fromTo(String(summary.before.interruptions), String(summary.after.interruptions))],
    ['End', fromTo(end(before), end(after))],
  ].map(([name = '', value = '']) => el('div', {}, el('dt', {}, name), el('dd', {}, value)));
  const items = rows.map((row, at) => turnItem(row, at, longest, onSeek));
  return el(
    'div',
    { class: 'stack' },
    el('dl', { class: 'replay-facts figures', 'aria-live': 'polite' }, ...facts),
    el('ol', { class: 'falls' }, ...items),
  );
}

const CHANGES: Readonly<Record<TurnComparison['change'], string>> = {
  same: 'the same',
  later: 'later',
  sooner: 'sooner',
  otherwise: 'otherwise',
  gone: 'no turn any more',
  new: 'a new turn',
};

function turnItem(
  { atMs, change, deltaMs, decidedDeltaMs, before, after, decisions }: TurnComparison,
  at: number,
  longest: number,
  onSeek: ComparisonViewOptions['onSeek'],
): HTMLElement {
  const side = before ?? after;
  const badge = isNoticed(deltaMs)
    ? signed(deltaMs ?? 0)
    : isNoticed(decidedDeltaMs)
      ? `turn over ${signed(decidedDeltaMs ?? 0)}`
      : CHANGES[change];
  const heading = el(
    'button',
    { type: 'button', class: 'fall-head', title: 'Go to this turn' },
    el('span', { class: 'fall-turn' }, at === 0 ? '–' : String(at)),
    el('span', { class: 'fall-words' }, side?.heard === '' ? 'The opening' : (side?.heard ?? '')),
    el('b', { class: `figure change-${change}` }, badge),
  );
  heading.disabled = onSeek === null;
  heading.addEventListener('click', () => onSeek?.(Math.max(0, atMs - 800)));
  return el(
    'li',
    { class: `fall replay-turn ${change === 'same' ? 'same' : ''}`, 'data-change': change },
    heading,
    ...(before === null ? [] : [waitRow('As it was', before, longest)]),
    ...(after === null || change === 'same' ? [] : [waitRow('With these', after, longest)]),
    ...(change === 'same' ? [] : words(before, after)),
    ...decisions.map(({ side: of, atMs: decidedMs, text }) =>
      el(
        'p',
        { class: `replay-decision ${of}` },
        el('span', {}, of === 'before' ? 'no more' : 'now'),
        ` ${clock(decidedMs / 1000)} ${text}`,
      ),
    ),
  );
}

/** Differences in words, and in the reason for the end of the turn. */
function words(before: TurnSide | null, after: TurnSide | null): HTMLElement[] {
  if (before === null || after === null) return [];
  const pairs: [string, string | null, string | null][] = [
    ['Heard', before.heard, after.heard],
    ['Turn over after', ms(before.endOfTurnMs), ms(after.endOfTurnMs)],
    ['Why', before.reason, after.reason],
    ['Answer', before.answer, after.answer],
  ];
  return pairs
    .filter(([, one, other]) => one !== other)
    .map(([name, one, other]) =>
      el(
        'p',
        { class: 'replay-words' },
        el('b', {}, name),
        ' ',
        el('del', {}, said(one)),
        ' ',
        el('ins', {}, said(other)),
      ),
    );
}

function said(text: string | null): string {
  return text === null || text === '' ? 'nothing' : text;
}

function waitRow(label: string, { endOfTurnMs, responseMs }: TurnSide, longest: number): HTMLElement {
  const share = (part: number): string => `${((Math.max(0, part) / longest) * 100).toFixed(2)}%`;
  const decided = endOfTurnMs ?? 0;
  const pause = el('span', { class: 'fall-bar pause' });
  pause.style.width = share(decided);
  const rest = el('span', { class: 'fall-bar voice' });
  rest.style.left = share(decided);
  rest.style.width = share((responseMs ?? decided) - decided);
  const about = `${endOfTurnMs === null ? '' : `The turn is over after ${duration(decided)}; `}${
    responseMs === null ? 'no answer is heard' : `the agent is heard after ${duration(responseMs)}`
  }`;
  return el(
    'div',
    { class: 'fall-row', title: about },
    el('span', {}, label),
    el(
      'span',
      { class: 'fall-track' },
      ...(endOfTurnMs === null ? [rest] : [pause, ...(responseMs === null ? [] : [rest])]),
    ),
    el('span', { class: 'figure' }, responseMs === null ? 'no answer' : duration(responseMs)),
  );
}

function widest(side: TurnSide | null): number {
  return Math.max(side?.endOfTurnMs ?? 0, side?.responseMs ?? 0);
}

function signed(value: number): string {
  return `${value < 0 ? '−' : '+'}${duration(Math.abs(value))}`;
}

function ms(value: number | null): string {
  return value === null ? '–' : duration(value);
}

function fromTo(before: string, after: string): string {
  return before === after ? before : `${before} → ${after}`;
}
