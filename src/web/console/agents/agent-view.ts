import type { OpenApiDocument } from '../../docs/document.js';
import { el } from '../../shared/elements.js';
import { actionButton } from '../actions.js';
import { ApiError, messageOf } from '../api.js';
import type { Fault } from '../fault.js';
import { card, failure, laterView, loading, type View, type ViewOptions } from '../view.js';
import type { CallHistoryItem } from '../../../session/record/call-history.js';
import { ConfigForm } from '../forms/config-form.js';
import { type Path, withoutUnset, withValue } from '../draft.js';
import { ExpectedTimes } from './expected-times.js';
import { Faults } from '../forms/faults.js';
import type { FlowEditor } from '../flow/editor.js';
import { PronunciationCard, type PronouncingAgent } from './pronunciation-card.js';
import type { PublishingPanel } from './publishing.js';

interface Agent extends PronouncingAgent {
  id: string;
  name: string;
  script: unknown;
  extensions: Readonly<Record<string, unknown>> | null;
  is_draft: boolean;
  warnings: readonly Fault[];
}

/** Number of the agent's latest calls for its response times. */
const MEASURED_CALLS = 100;

/** One agent: its configuration as fields and as JSON, and its versions. */
export function agentView(options: ViewOptions): View {
  const editor = new AgentEditor(options);
  return { element: editor.element, title: 'Agent', close: () => editor.close(), isUnsaved: () => editor.isChanged };
}

class AgentEditor {
  readonly element = el('div', { class: 'stack' });
  readonly #api: ViewOptions['api'];
  readonly #path: string;
  readonly #id: string;
  readonly #save = el('button', { type: 'button', class: 'main-button', disabled: '' }, 'Save');
  readonly #state = el('p', { class: 'soft', role: 'status' });
  readonly #name = el('input', { type: 'text', 'aria-label': 'Name' });
  readonly #json = el('textarea', {
    class: 'code config-json',
    spellcheck: 'false',
    'aria-label': 'Configuration as JSON',
  });
  readonly #formPlace = el('div', {});
  readonly #times = el('p', { class: 'expected' });
  readonly #warnings = el('div', { class: 'stack' });
  readonly #problems = el('div', { class: 'problems' });
  readonly #open = new Set<string>();
  #document: OpenApiDocument | null = null;
  #publishing: PublishingPanel | null = null;
  #form: ConfigForm | null = null;
  #expected = new ExpectedTimes([]);
  #draft: unknown = {};
  #script: unknown = null;
  #extensions: Agent['extensions'] = null;
  /** The version that Save changes: it would undo what others have changed since. */
  #version = 0;
  readonly #words: PronunciationCard<Agent>;
  #flow: FlowEditor | null = null;
  #flowView: View | null = null;
  #faults = new Faults();
  #isChanged = false;
  #isClosed = false;

  constructor({ api, path }: ViewOptions) {
    this.#api = api;
    this.#id = path;
    this.#path = `/agents/${encodeURIComponent(path)}`;
    this.#words = new PronunciationCard(api, this.#path, (agent, before) => this.#onWords(agent, before));
    this.#save.addEventListener('click', () => void this.#store());
    this.#name.addEventListener('input', () => this.#changed());
    this.#json.addEventListener('input', () => this.#onJson());
    addEventListener('beforeunload', this.#onLeave);
    void this.#load();
  }

  /** Whether there are unsaved changes. */
  get isChanged(): boolean {
    return this.#isChanged;
  }

  close(): void {
    this.#isClosed = true;
    this.#publishing?.close();
    this.#flowView?.close();
    removeEventListener('beforeunload', this.#onLeave);
  }

  readonly #onLeave = (event: BeforeUnloadEvent): void => {
    if (this.#isChanged) event.preventDefault();
  };

  async #load(): Promise<void> {
    this.element.replaceChildren(loading('Loading the agent'));
    try {
      const [{ PublishingPanel }, agent, document, { histories }] = await Promise.all([
        import('./publishing.js'),
        this.#api.get<Agent>(this.#path),
        this.#api.get<OpenApiDocument>('/openapi.json'),
        this.#api.get<{ histories: CallHistoryItem[] }>('/call-logs', { agent_id: this.#id, limit: MEASURED_CALLS }),
      ]);
      this.#document = document;
      this.#expected = new ExpectedTimes(histories);
      this.#times.textContent = this.#expected.summary ?? '';
      if (this.#isClosed) return;
      this.#publishing?.close();
      const publishing = new PublishingPanel(this.#api, this.#id, {
        shown: (config) => this.#set(config),
        onChanged: () => void this.#reload(),
      });
      this.#publishing = publishing;
      this.#take(agent);
      this.element.replaceChildren(
        el(
          'header',
          { class: 'call-top' },
          el('a', { href: '#/agents', class: 'back' }, '← Agents'),
          el('h1', {}, agent.name),
        ),
        el(
          'div',
          { class: 'save-bar' },
          this.#name,
          this.#save,
          el('a', { href: `#/live/${encodeURIComponent(this.#id)}` }, 'Talk'),
          actionButton('Delete', () => this.#delete(), {
            class: 'quiet-button danger',
            confirm: 'Really delete, with its versions?',
          }),
          this.#state,
        ),
        publishing.banner,
        this.#warnings,
        this.#problems,
        card('Steps', this.#steps(document).element),
        el(
          'div',
          { class: 'columns' },
          card('Configuration', this.#times, this.#formPlace),
          el('div', { class: 'stack' }, card('As JSON', this.#json), this.#words.element, publishing.element),
        ),
      );
    } catch (error) {
      this.element.replaceChildren(failure(error, () => void this.#load()));
    }
  }

  /** Takes the working version, unless there are edits that it would lose. */
  async #reload(): Promise<void> {
    await this.#publishing?.load();
    const before = this.#version;
    const agent = await this.#api.get<Agent>(this.#path);
    if (!this.#isChanged && this.#version === before) this.#take(agent);
  }

  /** Takes words that were stored by themselves. @param before the version that got them */
  #onWords(agent: Agent, before: number): void {
    if (!this.#isChanged) this.#take(agent);
    else {
      const pronunciation = agent.extensions?.['pronunciation'];
      this.#extensions = { ...this.#extensions, pronunciation };
      // Where others have changed more than that, Save is refused.
      if (before === this.#version) this.#version = agent.version;
    }
    this.#publishing?.saved();
  }

  /** The flow, whose editor is loaded with the page of an agent. */
  #steps(document: OpenApiDocument): View {
    this.#flowView?.close();
    const load = async (): Promise<View> => {
      const { FlowEditor } = await import('../flow/editor.js');
      const editor = new FlowEditor({
        api: this.#api,
        agentId: this.#id,
        document,
        flow: this.#extensions?.['flow'],
        agentWith: (flow) => ({
          name: this.#name.value,
          config: this.#draft,
          script: this.#script,
          extensions: { ...this.#extensions, flow },
        }),
        onChange: (flow) => {
          this.#extensions = { ...this.#extensions, flow };
          this.#changed();
        },
      });
      this.#flow = editor;
      return { element: editor.element, title: 'Steps', close: () => editor.close() };
    };
    this.#flowView = laterView('the steps', load, 'console-flow.css');
    return this.#flowView;
  }

  async #delete(): Promise<void> {
    await this.#api.send('DELETE', this.#path);
    this.#isChanged = false;
    location.hash = '#/agents';
  }

  #take(agent: Agent): void {
    const { name, config, script, extensions, version, is_draft: isDraft, warnings } = agent;
    this.#warnings.replaceChildren(...warnings.map(({ msg }) => el('p', { class: 'agent-warnings' }, msg)));
    this.#draft = this.#set(config);
    this.#script = script;
    this.#extensions = extensions;
    this.#version = version;
    this.#words.take(agent);
    this.#flow?.show(extensions?.['flow']);
    this.#faults = new Faults();
    this.#name.value = name;
    this.#isChanged = false;
    this.#save.disabled = true;
    this.#state.textContent = isDraft ? `Draft ${String(version)}` : `Version ${String(version)}`;
    this.#problems.replaceChildren();
    this.#showJson();
    this.#showForm();
  }

  /** The members of a configuration that are set. */
  #set(config: unknown): unknown {
    const document = this.#document;
    const schema = document?.components.schemas['AgentConfig'];
    return document === null || schema === undefined ? config : withoutUnset(config, schema, document);
  }

  #showJson(): void {
    this.#json.setCustomValidity('');
    this.#json.value = JSON.stringify(this.#draft, null, 2);
  }

  #showForm(): void {
    const document = this.#document;
    const schema = document?.components.schemas['AgentConfig'];
    if (document === null || schema === undefined) return;
    const form = new ConfigForm(schema, {
      document,
      config: this.#draft,
      faults: this.#faults,
      open: this.#open,
      expected: (path) => this.#expected.at(path, this.#draft),
      onChange: (path, value, rebuilds) => this.#onField(path, value, rebuilds),
    });
    this.#form = form;
    this.#formPlace.replaceChildren(form.element);
    const others = this.#faults.outside(form.shown);
    if (this.#faults.count > 0) {
      this.#problems.replaceChildren(
        el(
          'div',
          { class: 'notice failure', role: 'alert' },
          el('p', {}, `${faultsText(this.#faults)}, shown at the fields. ${others.join(' ')}`),
        ),
      );
      form.element.querySelector<HTMLElement>('[aria-invalid]')?.focus();
    }
  }

  #onField(path: Path, value: unknown, rebuilds: boolean): void {
    this.#draft = withValue(this.#draft, path, value) ?? {};
    this.#showJson();
    this.#changed();
    if (rebuilds) this.#showForm();
    else this.#form?.refreshExpected();
  }

  #onJson(): void {
    try {
      this.#draft = JSON.parse(this.#json.value);
      this.#json.setCustomValidity('');
      this.#changed();
      this.#showForm();
    } catch (error) {
      this.#json.setCustomValidity(messageOf(error));
      this.#save.disabled = true;
      this.#state.textContent = `The JSON cannot be read: ${messageOf(error)}`;
    }
  }

  #changed(): void {
    this.#isChanged = true;
    this.#save.disabled = false;
    this.#state.textContent = 'Not saved';
  }

  async #store(): Promise<void> {
    this.#save.disabled = true;
    this.#state.textContent = 'Saving …';
    try {
      const agent = await this.#api.send<Agent>('PUT', this.#path, {
        name: this.#name.value,
        config: this.#draft,
        extensions: this.#extensions,
        if_version: this.#version,
      });
      this.#take(agent);
      const version = String(agent.version);
      this.#state.textContent = agent.is_draft
        ? `Saved as draft ${version}. Callers get it when it is published.`
        : `Saved: version ${version}. Sessions that begin now have it.`;
      this.#publishing?.saved();
    } catch (error) {
      this.#save.disabled = false;
      this.#faults = new Faults(error instanceof ApiError ? error.faults : []);
      this.#state.textContent = this.#faults.count === 0 ? 'Not saved' : `Not saved: ${faultsText(this.#faults)}`;
      if (error instanceof ApiError && error.status === 409) this.#problems.replaceChildren(this.#overtaken(error));
      else if (this.#faults.count === 0) this.#problems.replaceChildren(failure(error, () => void this.#store()));
      else this.#showForm();
    }
  }

  /** Others have changed the agent since it was loaded. */
  #overtaken(error: ApiError): HTMLElement {
    const anyway = async (): Promise<void> => {
      this.#version = (await this.#api.get<Agent>(this.#path)).version;
      await this.#store();
    };
    return el(
      'div',
      { class: 'notice failure', role: 'alert' },
      el('p', {}, error.message),
      actionButton('Save over it', anyway, { confirm: 'Really undo what others have changed?' }),
    );
  }
}

function faultsText({ count }: Faults): string {
  return count === 1 ? 'one fault' : `${String(count)} faults`;
}
