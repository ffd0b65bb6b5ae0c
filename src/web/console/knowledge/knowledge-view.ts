import type { AgentConfig } from '../../../agent/agent.js';
import { el } from '../../shared/elements.js';
import { actionButton, actionForm, labelled, select } from '../actions.js';
import { card, empty, failure, Loaded, type View, type ViewOptions } from '../view.js';
import { bytes, wholeTime } from '../words.js';
import type { ConsoleApi } from '../api.js';

export interface KnowledgeFileItem {
  id: string;
  name: string;
  description: string | null;
  file_type: string;
  size: number;
  create_at: number;
}

export interface AgentWithFiles {
  id: string;
  name: string;
  config: AgentConfig;
}

interface Upload {
  object_key: string;
  name: string;
  file_type: string | null;
  size: number;
}

/** Supported file types (docs/knowledge.md). */
const KINDS = '.txt,.md,.csv,.json,.html,.pdf,.docx';
/** The daemon reads and indexes a file before it answers. */
const READ_MS = 130_000;

/** The agents' documents: upload, list, assign, delete. */
export function knowledgeView({ api }: ViewOptions): View {
  const given = el('div', {});
  const list = new Loaded('Loading files', async () => {
    const [files, agents] = await Promise.all([
      api.get<KnowledgeFileItem[]>('/knowledge/list_files'),
      api.get<AgentWithFiles[]>('/agents'),
    ]);
    given.replaceChildren(...(files.length === 0 || agents.length === 0 ? [] : [agentFiles(api, agents, files)]));
    if (files.length === 0)
      return [empty('No files yet. Agents search files for answers. Send one below, and give it to an agent.')];
    return [el('ol', { class: 'calls' }, ...files.map(fileItem))];
  });

  function fileItem({ id, name, description, file_type: type, size, create_at: at }: KnowledgeFileItem): HTMLElement {
    const remove = async (): Promise<void> => {
      await api.send('POST', '/knowledge/delete_file', { id });
      await list.refresh();
    };
    return el(
      'li',
      { class: 'item' },
      el('div', {}, el('b', {}, name)),
      el('span', { class: 'figure soft' }, bytes(size)),
      el('p', { class: 'soft' }, [...(description === null ? [] : [description]), type, wholeTime(at)].join(' · ')),
      actionButton('Delete', remove, {
        class: 'quiet-button danger',
        confirm: 'Really delete?',
        label: `Delete ${name}`,
      }),
    );
  }

  const files = el('input', { type: 'file', multiple: '', required: '', accept: KINDS });
  const about = el('input', { type: 'text', maxlength: '2000', placeholder: 'What is in it, for people' });
  const state = el('p', { role: 'status' });
  const form = actionForm(
    'Send files',
    [labelled('Files', files), labelled('Description', about)],
    'Send',
    async () => {
      const chosen = [...(files.files ?? [])];
      try {
        for (const [at, file] of chosen.entries()) {
          state.textContent = `${file.name} is sent and read (${String(at + 1)} of ${String(chosen.length)}) …`;
          await send(file, about.value.trim());
        }
        state.textContent = `${chosen.map(({ name }) => name).join(', ')} can be searched.`;
        form.reset();
      } catch (error) {
        state.textContent = '';
        throw error;
      } finally {
        await list.refresh();
      }
    },
  );

  async function send(file: File, description: string): Promise<void> {
    const body = new FormData();
    body.append('file', file);
    const upload = await api.send<Upload>('POST', '/knowledge/upload', body);
    const made = { ...upload, description: description === '' ? undefined : description };
    await api.send('POST', '/knowledge/create_file', made, AbortSignal.timeout(READ_MS));
  }

  const kinds = 'Text, Markdown, CSV, JSON, HTML, PDF and Word (docx). What is kept is the text and its index.';
  const element = el(
    'div',
    { class: 'stack' },
    el('h1', {}, 'Knowledge'),
    list.element,
    card('Send files', el('p', { class: 'soft' }, kinds), form, state),
    given,
  );
  return { element, title: 'Knowledge', close: () => undefined };
}

/** Assigns files to an agent, in addition to those of its configuration. */
export function agentFiles(
  api: ConsoleApi,
  agents: readonly AgentWithFiles[],
  files: readonly KnowledgeFileItem[],
): HTMLElement {
  const agent = select(
    'agent',
    agents[0]?.id ?? '',
    agents.map(({ id, name }) => [id, name] as const),
  );
  const boxes = el('div', { class: 'boxes', role: 'group', 'aria-label': 'Files' });
  const state = el('p', { role: 'status' });
  const show = async (): Promise<void> => {
    const id = agent.value;
    boxes.replaceChildren();
    state.textContent = '';
    const { file_ids: given } = await api.get<{ file_ids: string[] }>('/knowledge/agent_files', { agent_id: id });
    if (id !== agent.value) return;
    const listed = new Set(agents.find((one) => one.id === id)?.config.knowledge_base?.files ?? []);
    boxes.replaceChildren(...files.map((file) => fileBox(file, listed.has(file.id), given.includes(file.id))));
  };
  const load = (): void => {
    show().catch((error: unknown) => boxes.replaceChildren(failure(error, load)));
  };
  agent.addEventListener('change', load);
  load();
  const form = actionForm('Files of an agent', [labelled('Agent', agent), boxes], 'Give', async () => {
    const chosen = [...boxes.querySelectorAll<HTMLInputElement>('input:checked:enabled')].map(({ value }) => value);
    await api.send('POST', '/knowledge/set_agent_files', { agent_id: agent.value, file_ids: chosen });
    const count =
      chosen.length === 0 ? 'no files' : chosen.length === 1 ? 'one file' : `${String(chosen.length)} files`;
    state.textContent = `Given: ${count}, from the next session on.`;
  });
  const about = 'The agent searches the files that are checked. Those of its configuration are changed there.';
  return card('Files of an agent', el('p', { class: 'soft' }, about), form, state);
}

function fileBox({ id, name }: KnowledgeFileItem, isListed: boolean, isGiven: boolean): HTMLElement {
  const box = el('input', {
    type: 'checkbox',
    value: id,
    checked: isListed || isGiven ? '' : null,
    disabled: isListed ? '' : null,
  });
  const note = isListed ? [el('span', { class: 'soft' }, ' by its configuration')] : [];
  return el('label', {}, box, ` ${name}`, ...note);
}
