import { el } from '../../shared/elements.js';
import type { Fault } from '../fault.js';

/** A fault with its line in a text. */
interface LineFault {
  /** From 1; null = not known. */
  line: number | null;
  msg: string;
}

/** A text area with line numbers, in which faults are marked at their lines. */
export class TextEditor {
  readonly element: HTMLElement;
  readonly #area: HTMLTextAreaElement;
  readonly #numbers = el('div', { class: 'editor-numbers', 'aria-hidden': 'true' });
  readonly #faultList = el('ol', { class: 'editor-faults', role: 'alert' });
  #faults: readonly LineFault[] = [];

  /** @param name for screen readers */
  constructor(name: string, text: string, onChange: () => void = () => undefined) {
    this.#area = el('textarea', {
      class: 'code editor-text',
      'aria-label': name,
      spellcheck: 'false',
      wrap: 'off',
      autocomplete: 'off',
    });
    this.#area.addEventListener('input', () => {
      this.#show();
      onChange();
    });
    this.#area.addEventListener('scroll', () => (this.#numbers.scrollTop = this.#area.scrollTop));
    this.element = el('div', {}, el('div', { class: 'editor' }, this.#numbers, this.#area), this.#faultList);
    this.text = text;
  }

  get text(): string {
    return this.#area.value;
  }

  set text(text: string) {
    this.#area.value = text;
    this.#area.rows = Math.min(40, Math.max(12, text.split('\n').length + 1));
    this.showFaults([]);
  }

  /** Marks faults whose messages begin with their line, as those of suites do. */
  showFaults(faults: readonly Fault[]): void {
    this.#faults = faults.map(({ loc, msg }) => {
      const [whole = '', line] = /^Line (\d+): /.exec(msg) ?? [];
      const words = msg.slice(whole.length);
      // Nothing at the line has the name of what is missing there.
      const named = words === 'Field required' ? `${words}: ${String(loc.at(-1))}` : words;
      return { line: line === undefined ? null : Number(line), msg: named };
    });
    this.#faultList.replaceChildren(
      ...this.#faults.map(({ line, msg }) => {
        if (line === null) return el('li', { class: 'fault' }, msg);
        const go = el('button', { type: 'button', class: 'stamp' }, `Line ${String(line)}`);
        go.addEventListener('click', () => this.goTo(line));
        return el('li', { class: 'fault' }, go, ` ${msg}`);
      }),
    );
    this.#area.toggleAttribute('aria-invalid', faults.length > 0);
    this.#show();
    const first = this.#faults.find(({ line }) => line !== null)?.line;
    if (first != null) this.goTo(first);
  }

  /** Selects a line and scrolls to it. */
  goTo(line: number): void {
    const lines = this.text.split('\n');
    const start = lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0);
    this.#area.focus();
    this.#area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
    const height = this.#area.scrollHeight / Math.max(1, lines.length);
    this.#area.scrollTop = Math.max(0, (line - 4) * height);
  }

  #show(): void {
    const wrong = new Set(this.#faults.map(({ line }) => line));
    const count = this.text.split('\n').length;
    this.#numbers.replaceChildren(
      ...Array.from({ length: count }, (_, at) =>
        el('span', wrong.has(at + 1) ? { class: 'wrong' } : {}, `${String(at + 1)}\n`),
      ),
    );
    this.#numbers.scrollTop = this.#area.scrollTop;
  }
}
