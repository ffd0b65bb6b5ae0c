import { el } from '../../docs/elements.js';
import { actionForm, labelled } from '../actions.js';
import type { Api } from '../api.js';
import { card } from '../view.js';
import { metadataText } from './campaign.js';
import { type FileRecord, inPieces, readRecords } from './records-file.js';

/** So many are shown before they are added. */
const SHOWN = 3;

/** Adds people from a file, which is read in the page. */
export function recordsUpload(api: Api, path: string, onAdded: () => void): HTMLElement {
  const file = el('input', { type: 'file', accept: '.csv,.tsv,.txt,.json', required: '' });
  const state = el('div', { role: 'status' });
  let records: FileRecord[] = [];
  file.addEventListener('change', () => {
    void read(file.files?.[0] ?? null);
  });

  async function read(chosen: File | null): Promise<void> {
    records = [];
    state.replaceChildren();
    file.setCustomValidity('');
    if (chosen === null) return;
    try {
      records = readRecords(await chosen.text());
      state.replaceChildren(...preview(records));
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      file.setCustomValidity(message);
      state.replaceChildren(el('p', { class: 'fault' }, `${chosen.name} cannot be read: ${message}`));
    }
  }

  const form = actionForm('Add people', [labelled('CSV or JSON', file)], 'Add', async () => {
    let isWhole = true;
    const pieces = inPieces(records);
    for (const [at, piece] of pieces.entries()) {
      state.replaceChildren(el('p', {}, `Adding, ${String(at + 1)} of ${String(pieces.length)} …`));
      const { success } = await api.send<{ success: boolean }>('POST', `${path}/records`, piece);
      isWhole &&= success;
    }
    const count = records.length;
    form.reset();
    records = [];
    const done = isWhole
      ? `All ${String(count)} are in it.`
      : `Some of the ${String(count)} were refused: they are below, under “rejected”, with the reason.`;
    state.replaceChildren(el('p', {}, done));
    onAdded();
  });
  const about = 'A table with a column “phone”, numbers with their country’s code; the other columns become metadata.';
  return card('Add people', el('p', { class: 'soft' }, about), form, state);
}

function preview(records: readonly FileRecord[]): HTMLElement[] {
  const items = records
    .slice(0, SHOWN)
    .map(({ phone, metadata }) => el('li', {}, `${phone} ${metadataText(metadata)}`));
  const more = records.length - items.length;
  const rest = more > 0 ? [el('li', { class: 'soft' }, `and ${String(more)} more`)] : [];
  return [el('ul', { class: 'preview' }, ...items, ...rest)];
}
