import type { RunningCall } from '../../../daemon/live/running-call.js';
import { duration } from '../../page/times.js';
import { el } from '../../shared/elements.js';
import type { ConsoleApi } from '../api.js';
import { LiveCall } from '../calls/live-call.js';
import { clock } from '../words.js';
import { callerWords, stateWords, WARNING_WORDS } from './active-call.js';

/** Keys of a supervisor, and the names of the controls that they press. */
export const KEYS = [
  ['l', 'listen'],
  ['w', 'whisper'],
  ['t', 'take_over'],
  ['s', 'say'],
  ['x', 'transfer'],
  ['c', 'call_in'],
  ['h', 'hold'],
  ['m', 'mute'],
  ['.', 'stop'],
  ['e', 'end'],
] as const;

/** The chosen call: what is known of it, its transcript as it grows, and the controls of it. */
export class CallDetail {
  readonly element: HTMLElement;
  readonly sessionId: string;
  readonly #live: LiveCall;
  readonly #facts = el('dl', { class: 'active-facts' });
  readonly #warnings = el('ul', { class: 'active-reasons' });
  #call: RunningCall;
  #isOver = false;

  /** @param onBack the way back to the list, where it is not beside it */
  constructor(api: ConsoleApi, call: RunningCall, agent: string, onBack: () => void) {
    this.sessionId = call.session_id;
    this.#call = call;
    const back = el('button', { type: 'button', class: 'quiet-button active-back' }, 'All calls');
    back.addEventListener('click', onBack);
    const page = el('a', { href: `#/calls/${encodeURIComponent(call.session_id)}` }, 'Page of the call');
    this.#live = new LiveCall(api, call, () => this.end());
    for (const [key, name] of KEYS) this.#live.controls.get(name)?.setAttribute('aria-keyshortcuts', key);
    this.element = el(
      'section',
      { class: 'active-detail', 'aria-label': 'The chosen call' },
      el(
        'div',
        { class: 'row' },
        back,
        el('h2', {}, agent, el('span', { class: 'soft' }, ` ${callerWords(call)}`)),
        page,
      ),
      this.#warnings,
      this.#facts,
      this.#live.element,
    );
    this.show(call);
  }

  show(call: RunningCall): void {
    if (this.#isOver) return;
    this.#call = call;
    const reasons = call.live?.warnings ?? [];
    this.#warnings.replaceChildren(
      ...reasons.map(({ kind, detail }) => {
        const { label, why } = WARNING_WORDS[kind];
        return el('li', {}, el('span', { class: 'warning' }, label), ` ${why}${detail === null ? '' : ` (${detail})`}`);
      }),
    );
    this.tick();
  }

  tick(): void {
    if (this.#isOver) return;
    const { live, ts } = this.#call;
    const facts: [string, string][] = [['Now', stateWords(this.#call)]];
    if (live !== null) {
      facts[0]?.splice(1, 1, `${stateWords(this.#call)} for ${clock(Date.now() / 1000 - live.state_since)}`);
      facts.push(['Goes on for', clock(Date.now() / 1000 - ts)]);
      if (live.response_ms !== null && live.median_response_ms !== null) {
        const [last, middle] = [duration(live.response_ms), duration(live.median_response_ms)];
        facts.push(['Response time', `${last}, median ${middle}`]);
      }
      if (live.sentiment !== null) facts.push(['Last words sound', live.sentiment.label]);
      if (live.step !== null) facts.push(['Step', live.step]);
      const about = [...(live.topic.words ?? []), ...(live.topic.tool === null ? [] : [live.topic.tool])];
      if (about.length > 0) facts.push(['About', about.join(', ')]);
    }
    this.#facts.replaceChildren(
      ...facts.flatMap(([name, value]) => [el('div', {}, el('dt', {}, name), el('dd', {}, value))]),
    );
  }

  /** The call is over: what was said stays. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#live.end();
    this.#live.controls.forEach((control) => control.setAttribute('disabled', ''));
    this.#warnings.replaceChildren();
    this.#facts.replaceChildren(el('p', { class: 'soft', role: 'status' }, 'This call has ended.'));
  }

  /** Presses a control. Returns whether there is one for the key. */
  press(key: string): boolean {
    const name = KEYS.find(([letter]) => letter === key)?.[1];
    const control = name === undefined ? undefined : this.#live.controls.get(name);
    control?.click();
    return control !== undefined;
  }

  /** May be called twice. */
  close(): void {
    this.#live.close();
  }
}
