/** A message across the page, with an action. */
export class Notice {
  readonly #root: HTMLElement;
  readonly #text: HTMLElement;
  readonly #action: HTMLButtonElement;
  #onAction: () => void = () => undefined;

  constructor(root: HTMLElement, text: HTMLElement, action: HTMLButtonElement) {
    this.#root = root;
    this.#text = text;
    this.#action = action;
    action.addEventListener('click', () => {
      const onAction = this.#onAction;
      this.hide();
      onAction();
    });
  }

  show(text: string, action: { label: string; run: () => void }): void {
    this.#action.textContent = action.label;
    this.#onAction = action.run;
    this.#root.hidden = false;
    this.#text.textContent = text; // last, because it is read out when it appears
  }

  hide(): void {
    this.#root.hidden = true;
    this.#text.textContent = '';
  }
}
