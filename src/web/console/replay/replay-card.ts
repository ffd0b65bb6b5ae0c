import type { ConfigChanges, ConversationConfig } from '../../../agent/flow/conversation-config.js';
import type { Replayed } from '../../../replay/replay.js';
import type { WhatIf } from '../../../replay/what-if.js';
import { el } from '../../shared/elements.js';
import { valueAt, withValue } from '../draft.js';
import { comparisonOf, summaryOf } from './comparison.js';
import { comparisonView } from './comparison-view.js';
import { replaySettings, type ReplaySetting } from './replay-settings.js';
import type { ReplayAnswer, ReplayRequest } from './replay-messages.js';

export interface ReplayEvents {
  /** The log is loaded: the session's settings, and whether this version decides as the log says. */
  onReady(config: ConversationConfig, again: Replayed): void;
  onPlayed(result: WhatIf): void;
  /** The log cannot be replayed, or not with these settings. */
  onFault(message: string): void;
}

/** The built worker, beside the console's script. */
const WORKER = '/assets/replay-worker.js';

/** Replays a call's event log with other settings, in a worker. */
export class ReplayRunner {
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

export interface ReplayCardOptions {
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
