import * as z from 'zod';
import { ParleyError } from '../../base/errors.js';
import type { Api } from '../http/api.js';
import type { EvalSuites } from './eval-suites.js';
import { caseReplySchema, suiteReply, suiteReplySchema } from './replies.js';
import { caseText, withCase } from './suite-text.js';
import { exampleSuite } from './suite-routes.js';

const suiteId = z.string().min(1).max(100);
const caseName = z.string().min(1).max(120);
const caseSchema = z
  .union([z.string().min(1), z.record(z.string(), z.unknown())])
  .describe('The case as YAML or JSON text, or as an object');
const tag = 'evals';
const errors = ['NOT_FOUND'] as const;
const CASE_PLACE = ['body', 'case'];

const EXAMPLE_TEXT = `name: asks for the opening hours
caller:
  script:
    - say: When are you open?
expect:
  - said: five
`;

/** Reads, adds and changes single cases of test suites. */
export function caseRoutes(api: Api, suites: EvalSuites): void {
  api.add({
    id: 'addEvalCase',
    method: 'POST',
    path: '/evals/suites/{suite_id}/cases',
    tag,
    summary: 'Add a case to a test suite',
    description: 'Saves a new version of the suite. All else of its text stays as it is.',
    params: { suite_id: suiteId },
    errors,
    body: z.strictObject({ case: caseSchema }).meta({ id: 'EvalCaseAdd' }),
    answer: suiteReplySchema,
    examples: () => ({ body: { case: EXAMPLE_TEXT }, answer: { ...exampleSuite(), version: 2, cases: 2 } }),
    handle: ({ params: { suite_id: id }, body, key }) => {
      const content = withCase(suites.get(id).text, body.case, null, CASE_PLACE);
      return suiteReply(suites.change(id, { content }, key?.name ?? ''));
    },
  });

  api.add({
    id: 'getEvalCase',
    method: 'GET',
    path: '/evals/suites/{suite_id}/cases/{case_name}',
    tag,
    summary: 'One case of a test suite, as YAML',
    params: { suite_id: suiteId, case_name: caseName },
    errors,
    answer: caseReplySchema,
    examples: () => ({ answer: { name: 'asks for the opening hours', text: EXAMPLE_TEXT } }),
    handle: ({ params: { suite_id: id, case_name: name } }) => ({ name, text: caseOf(suites, id, name) }),
  });

  api.add({
    id: 'updateEvalCase',
    method: 'PUT',
    path: '/evals/suites/{suite_id}/cases/{case_name}',
    tag,
    summary: 'Change one case of a test suite',
    description: 'Saves a new version of the suite. All else of its text stays as it is.',
    params: { suite_id: suiteId, case_name: caseName },
    errors,
    body: z.strictObject({ case: caseSchema }).meta({ id: 'EvalCaseChange' }),
    answer: suiteReplySchema,
    examples: () => ({ body: { case: EXAMPLE_TEXT }, answer: { ...exampleSuite(), version: 2 } }),
    handle: ({ params: { suite_id: id, case_name: name }, body, key }) => {
      caseOf(suites, id, name);
      const content = withCase(suites.get(id).text, body.case, name, CASE_PLACE);
      return suiteReply(suites.change(id, { content }, key?.name ?? ''));
    },
  });
}

/** @throws ParleyError NOT_FOUND */
function caseOf(suites: EvalSuites, id: string, name: string): string {
  const text = caseText(suites.get(id).text, name);
  if (text === null) throw new ParleyError('NOT_FOUND', { what: 'case', id: name });
  return text;
}
