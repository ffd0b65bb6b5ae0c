import { el } from '../../shared/elements.js';
import { actionButton } from '../actions.js';
import type { ConsoleApi } from '../api.js';
import { card } from '../view.js';

interface Word {
  word: string;
  alias?: string | null;
  respelling?: string | null;
  ipa?: string | null;
}

interface Extensions {
  pronunciation?: { words?: Word[] | null } | null;
}

export interface PronouncingAgent {
  config: unknown;
  extensions?: Extensions | null;
}

/** Where the agent's editor keeps the extensions. */
export interface ExtensionsOfEditor {
  get(): Readonly<Record<string, unknown>> | null;
  set(extensions: Readonly<Record<string, unknown>> | null): void;
}

interface Voice {
  provider?: string | null;
  voice_id?: string | null;
  model?: string | null;
  settings?: object | null;
}

const FIELDS = [
  ['word', 'Word'],
  ['respelling', 'Respelling'],
  ['ipa', 'IPA'],
  ['alias', 'Alias'],
] as const;

/** The agent's dictionary: words are added, heard in the agent's voice, and saved. */
export class PronunciationCard {
  readonly element: HTMLElement;
  readonly #api: ConsoleApi;
  readonly #path: string;
  readonly #agent: PronouncingAgent;
  readonly #stored: ExtensionsOfEditor;
  readonly #rows = el('tbody', {});
  readonly #state = el('p', { class: 'soft', role: 'status' });
  #words: Word[];

  /**
   * @param path of the agent
   * @param stored the editor's copy of the extensions, which its own Save sends
   */
  constructor(api: ConsoleApi, path: string, agent: PronouncingAgent, stored: ExtensionsOfEditor) {
    this.#api = api;
    this.#path = path;
    this.#agent = agent;
    this.#stored = stored;
    this.#words = (agent.extensions?.pronunciation?.words ?? []).map((word) => ({ ...word }));
    const add = el('button', { type: 'button', class: 'quiet-button' }, 'Add a word');
    add.addEventListener('click', () => {
      this.#words.push({ word: '' });
      this.#show();
      this.#rows.querySelector<HTMLInputElement>('tr:last-child input')?.focus();
    });
    const heads = FIELDS.map(([, title]) => el('th', { scope: 'col' }, title));
    this.element = card(
      'Pronunciation',
      el('p', { class: 'about' }, 'How the agent says its words, with any voice. A word needs one of the others.'),
      el('table', { class: 'words' }, el('thead', {}, el('tr', {}, ...heads, el('td', {}))), this.#rows),
      el(
        'div',
        { class: 'save-bar' },
        add,
        actionButton('Store words', () => this.#save()),
      ),
      this.#state,
    );
    this.#show();
  }

  #show(): void {
    this.#rows.replaceChildren(...this.#words.map((word, at) => this.#row(word, at)));
  }

  #row(word: Word, at: number): HTMLElement {
    const cells = FIELDS.map(([name, title]) => {
      const input = el('input', {
        type: 'text',
        placeholder: title,
        'aria-label': `${title} ${String(at + 1)}`,
        value: word[name] ?? '',
      });
      input.addEventListener('input', () => {
        word[name] = input.value;
        this.#state.textContent = 'Not stored';
      });
      return el('td', {}, input);
    });
    const hear = actionButton('Hear', () => this.#hear(word), { label: `Hear word ${String(at + 1)}` });
    const remove = el(
      'button',
      { type: 'button', class: 'quiet-button', 'aria-label': `Remove word ${String(at + 1)}` },
      'Remove',
    );
    remove.addEventListener('click', () => {
      this.#words.splice(at, 1);
      this.#state.textContent = 'Not stored';
      this.#show();
    });
    return el('tr', {}, ...cells, el('td', {}, hear, ' ', remove));
  }

  async #hear(word: Word): Promise<void> {
    const { voice, language } = (this.#agent.config ?? {}) as { voice?: Voice | null; language?: string | null };
    const { provider, voice_id, model, settings } = voice ?? {};
    const pronunciation = { ...this.#agent.extensions?.pronunciation, words: [filled(word)] };
    const body = { text: word.word, provider, voice_id, model, settings, language, pronunciation };
    const { spoken, audio } = await this.#api.send<{ spoken: string; audio: string | null }>(
      'POST',
      '/voices/say',
      body,
    );
    this.#state.textContent = `Said: ${spoken}`;
    if (audio === null) return;
    const context = new AudioContext();
    const source = context.createBufferSource();
    source.buffer = await context.decodeAudioData(Uint8Array.from(atob(audio), (sign) => sign.charCodeAt(0)).buffer);
    source.connect(context.destination);
    source.addEventListener('ended', () => void context.close());
    source.start();
  }

  async #save(): Promise<void> {
    const extensions = this.#stored.get() as Extensions | null;
    const words = this.#words.map(filled);
    const pronunciation = { ...extensions?.pronunciation, words };
    const changed = await this.#api.send<PronouncingAgent & { version: number }>('PUT', this.#path, {
      extensions: { ...extensions, pronunciation },
    });
    this.#agent.extensions = changed.extensions ?? null;
    this.#stored.set((changed.extensions ?? null) as Readonly<Record<string, unknown>> | null);
    this.#state.textContent = `Stored: version ${String(changed.version)}`;
  }
}

/** Without what is empty. */
function filled(word: Word): Word {
  return Object.fromEntries(
    Object.entries(word).filter(([, value]) => value !== '' && value !== null),
  ) as unknown as Word;
}
