import { el } from '../../shared/elements.js';
import { actionButton, labelled, select } from '../actions.js';
import type { ConsoleApi } from '../api.js';
import { card } from '../view.js';
import { savedCase } from './case-editor.js';
import { type Suite, type SuiteItem, suitePath } from './eval-types.js';
import { TextEditor } from './text-editor.js';

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
