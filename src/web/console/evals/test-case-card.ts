import { el } from '../../shared/elements.js';
import { actionButton, labelled, select } from '../actions.js';
import { type ConsoleApi, ApiError } from '../api.js';
import { card, failure, loading } from '../view.js';
import { type Suite, type SuiteItem, suitePath, type Run } from './eval-types.js';
import { TextEditor } from './text-editor.js';
import type { Fault } from '../fault.js';

/** Stands for a new suite in the list of suites. */
const NEW = '';

/** A button that makes a test case of a call, to look at and to add to a suite. */
export function testCaseCard(
  api: ConsoleApi,
  { sessionId, agentId, hasRecording }: { sessionId: string; agentId: string | null; hasRecording: boolean },
): HTMLElement {
  const place = el('div', { class: 'stack' });
  const caller = select('caller', 'text', [
    ['text', 'speaks the words'],
    ['audio', 'plays the recording'],
  ]);
  const make = async (): Promise<void> => {
    const [made, suites] = await Promise.all([
      api.send<{ text: string }>('POST', '/evals/cases/from-call', {
        call_id: sessionId,
        audio: caller.value === 'audio',
      }),
      api.get<SuiteItem[]>('/evals/suites', agentId === null ? {} : { agent_id: agentId }),
    ]);
    place.replaceChildren(...chooser(api, made.text, suites, agentId));
  };
  return card(
    'Test case',
    el(
      'p',
      { class: 'soft' },
      'The caller’s words become a script, results of tools become mocks, and what happened becomes expectations.',
    ),
    el(
      'div',
      { class: 'filters' },
      ...(hasRecording ? [labelled('The caller', caller)] : []),
      actionButton('Make a test case', make),
    ),
    place,
  );
}

function chooser(api: ConsoleApi, text: string, suites: readonly SuiteItem[], agentId: string | null): HTMLElement[] {
  const editor = new TextEditor('The case as YAML', text);
  const choice = select('suite', suites[0]?.id ?? NEW, [
    ...suites.map(({ id, name }) => [id, name] as const),
    [NEW, 'A new suite'],
  ]);
  const add = async (): Promise<void> => {
    const { id } = await savedCase(editor, () =>
      choice.value === NEW
        ? api.send<Suite>('POST', '/evals/suites', { suite: suiteWith(editor.text), agent_id: agentId })
        : api.send<Suite>('POST', `${suitePath(choice.value)}/cases`, { case: editor.text }),
    );
    location.hash = `#/evals/${encodeURIComponent(id)}`;
  };
  return [
    editor.element,
    el('div', { class: 'filters' }, labelled('Add to', choice), actionButton('Add', add, { class: 'main-button' })),
  ];
}

/** A suite with one case, whose lines are those of the case and two more. */
function suiteWith(caseText: string): string {
  const [first = '', ...rest] = caseText.trimEnd().split('\n');
  return ['name: Calls', 'cases:', `  - ${first}`, ...rest.map((line) => (line === '' ? '' : `    ${line}`)), ''].join(
    '\n',
  );
}

interface CaseEditorOptions {
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
async function savedCase(editor: TextEditor, save: () => Promise<Suite>): Promise<Suite> {
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
