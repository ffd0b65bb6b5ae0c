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
  version: number;
  config: unknown;
  extensions?: Extensions | null;
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
export class PronunciationCard<Agent extends PronouncingAgent> {
  readonly element: HTMLElement;
  readonly #api: ConsoleApi;
  readonly #path: string;
  readonly #onStored: (agent: Agent, before: number) => void;
  readonly #rows = el('tbody', {});
  readonly #state = el('p', { class: 'soft', role: 'status' });
  #agent: Agent | null = null;
  #words: Word[] = [];
  #isChanged = false;

  /**
   * @param path of the agent
   * @param onStored gets the agent with the new words, and the version that it was before
   */
  constructor(api: ConsoleApi, path: string, onStored: (agent: Agent, before: number) => void) {
    this.#api = api;
    this.#path = path;
    this.#onStored = onStored;
    const add = el('button', { type: 'button', class: 'quiet-button' }, 'Add a word');
    add.addEventListener('click', () => {
      this.#words.push({ word: '' });
      this.#changed();
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
  }

  /** Shows the words of an agent, unless some are not stored yet. */
  take(agent: Agent): void {
    this.#agent = agent;
    if (this.#isChanged) return;
    this.#words = (agent.extensions?.pronunciation?.words ?? []).map((word) => ({ ...word }));
    this.#state.textContent = '';
    this.#show();
  }

  #changed(): void {
    this.#isChanged = true;
    this.#state.textContent = 'Not stored';
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
        this.#changed();
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
      this.#changed();
      this.#show();
    });
    return el('tr', {}, ...cells, el('td', {}, hear, ' ', remove));
  }

  async #hear(word: Word): Promise<void> {
    const { voice, language } = (this.#agent?.config ?? {}) as { voice?: Voice | null; language?: string | null };
    const { provider, voice_id, model, settings } = voice ?? {};
    const pronunciation = { ...this.#agent?.extensions?.pronunciation, words: [filled(word)] };
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
    // The rest stays as it is stored: not what the editor has, which may be half edited or old.
    const { extensions, version } = await this.#api.get<Agent>(this.#path);
    const words = this.#words.map(filled);
    const pronunciation = { ...extensions?.pronunciation, words };
    const changed = await this.#api.send<Agent>('PUT', this.#path, {
      extensions: { ...extensions, pronunciation },
      if_version: version,
    });
    // Somebody may have typed on meanwhile.
    this.#isChanged = JSON.stringify(this.#words.map(filled)) !== JSON.stringify(words);
    this.#onStored(changed, version);
    this.take(changed);
    if (!this.#isChanged) this.#state.textContent = `Stored: version ${String(changed.version)}`;
  }
}

/** Without what is empty. */
function filled(word: Word): Word {
  return Object.fromEntries(
    Object.entries(word).filter(([, value]) => value !== '' && value !== null),
  ) as unknown as Word;
}
