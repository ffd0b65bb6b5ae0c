import { el } from '../../shared/elements.js';
import { actionButton } from '../actions.js';
import { ApiError, type ConsoleApi } from '../api.js';
import type { Fault } from '../fault.js';
import { failure, loading } from '../view.js';
import { type Run, type Suite, suitePath } from './eval-types.js';
import { TextEditor } from './text-editor.js';

export interface CaseEditorOptions {
  api: ConsoleApi;
  suiteId: string;
  caseName: string;
  /** Starts a run of the case alone. @param caseName as it is called by now */
  rerun: (caseName: string) => Promise<Run>;
  onStarted: (run: Run) => void;
}

/** One case of a suite, to change and run again. */
export function caseEditor({ api, suiteId, caseName, rerun, onStarted }: CaseEditorOptions): HTMLElement {
  const element = el('div', { class: 'stack' }, loading('Loading the case'));
  const path = `${suitePath(suiteId)}/cases/${encodeURIComponent(caseName)}`;
  const load = async (): Promise<void> => {
    try {
      const { text } = await api.get<{ text: string }>(path);
      const editor = new TextEditor('The case as YAML', text);
      const run = async (): Promise<void> => {
        const { suite } = await savedCase(editor, () => api.send<Suite>('PUT', path, { case: editor.text }));
        const name = suite.cases.find((one) => one.name === caseName)?.name ?? nameIn(editor.text) ?? caseName;
        onStarted(await rerun(name));
      };
      element.replaceChildren(editor.element, actionButton('Save and run this case', run, { class: 'main-button' }));
    } catch (error) {
      element.replaceChildren(failure(error, () => void load()));
    }
  };
  void load();
  return element;
}

/** Saves the text of an editor. @throws Error; faults are at their lines */
export async function savedCase(editor: TextEditor, save: () => Promise<Suite>): Promise<Suite> {
  try {
    const suite = await save();
    editor.showFaults([]);
    return suite;
  } catch (error) {
    const faults: readonly Fault[] = error instanceof ApiError ? error.faults : [];
    if (faults.length === 0) throw error;
    editor.showFaults(faults);
    throw new Error('The case is not saved.', { cause: error });
  }
}

/** The name in the text of a case; null = it is not plain. */
function nameIn(text: string): string | null {
  return /^name: *(["']?)(.*?)\1 *(?:#.*)?$/m.exec(text)?.[2] ?? null;
}
