import { stringify } from 'yaml';
import * as z from 'zod';
import { ParleyError } from '../../base/errors.js';
import { caseFromCall, type RecordedSpeech, stretchOf } from '../../eval/from-call.js';
import { readLog } from '../../replay/read-log.js';
import { faultOf } from '../../schema/issues.js';
import type { LogEntry } from '../../session/record/event-log.js';
import type { StoredEvalSuite } from '../../store/eval-suites.js';
import type { CallArchive } from '../call-log/call-archive.js';
import { contentOf, type OpenFile } from '../../store/files/file-store.js';
import type { Api } from '../http/api.js';
import type { EvalSuiteChange, EvalSuites } from './eval-suites.js';
import { turnName } from './recorded-turns.js';
import { caseReplySchema, suiteReply, suiteReplySchema } from './replies.js';
import { caseText, STYLE, withCase } from './suite-text.js';
import { exampleSuite } from './suite-routes.js';

export interface CaseRoutesOptions {
  suites: EvalSuites;
  archive: Pick<CallArchive, 'get' | 'trace' | 'store'>;
}

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

/** Makes, reads, adds and changes single cases of test suites. */
export function caseRoutes(api: Api, { suites, archive }: CaseRoutesOptions): void {
  fromCallRoute(api, archive);
  itemRoutes(api, suites);
}

/** Makes cases from calls. */
function fromCallRoute(api: Api, archive: CaseRoutesOptions['archive']): void {
  api.add({
    id: 'makeEvalCase',
    method: 'POST',
    scope: 'evals',
    path: '/evals/cases/from-call',
    tag,
    summary: 'Make a case from a call',
    description:
      "The user's turns become a script, results of tools become mocks, and what happened becomes expectations to edit. " +
      'Stores nothing.',
    body: z.strictObject({
      call_id: z.string().min(1).max(200).describe('The `session_id` or the `call_id` of a call'),
      audio: z
        .boolean()
        .exactOptional()
        .describe(
          "The caller plays the turns of the call's recording, which has to be kept. Default false: they are text.",
        ),
    }),
    answer: caseReplySchema,
    errors,
    examples: () => ({
      body: { call_id: '007750c3-70b3-468b-8ed2-58d80e641cf6' },
      answer: { name: 'asks for the opening hours', text: EXAMPLE_TEXT },
      refusal: 'NOT_FOUND',
    }),
    handle: async ({ body: { call_id: id, audio = false } }) => {
      const call = (await archive.store.byCallId(id)) ?? (await archive.get(id));
      if (call.endedUs === null) throw faultOf(['body', 'call_id'], 'The call has not ended');
      if (audio && call.recording === null) throw faultOf(['body', 'audio'], 'The call has no recording');
      const log = await logOf(await archive.trace(call.sessionId));
      const made = caseFromCall(call.item, log, audio ? (speech) => playOf(call.sessionId, speech) : undefined);
      return { name: made.name, text: stringify(made, STYLE) };
    },
  });
}

function playOf(sessionId: string, speech: RecordedSpeech): string {
  const { fromMs, toMs } = stretchOf(speech);
  return turnName(sessionId, fromMs, toMs);
}

/** The entries of an event log; none if there is no such file. @throws ParleyError LOG_INVALID, FILE_STORE_… */
async function logOf(file: OpenFile | null): Promise<readonly LogEntry[]> {
  return file === null ? [] : readLog((await contentOf(file)).toString('utf8')).entries;
}

/** Reads, adds and changes cases of suites. */
function itemRoutes(api: Api, suites: EvalSuites): void {
  api.add({
    id: 'addEvalCase',
    method: 'POST',
    scope: 'evals',
    path: '/evals/suites/{suite_id}/cases',
    tag,
    summary: 'Add a case to a test suite',
    description: 'Saves a new version of the suite. All else of its text stays as it is.',
    params: { suite_id: suiteId },
    errors,
    body: z.strictObject({ case: caseSchema }).meta({ id: 'EvalCaseAdd' }),
    answer: suiteReplySchema,
    examples: () => ({ body: { case: EXAMPLE_TEXT }, answer: { ...exampleSuite(), version: 2, cases: 2 } }),
    handle: async ({ params: { suite_id: id }, body, key }) => {
      const added = ({ text }: StoredEvalSuite): EvalSuiteChange => {
        return { content: withCase(text, body.case, null, CASE_PLACE) };
      };
      return suiteReply(await suites.change(id, added, key?.name ?? ''));
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
    handle: async ({ params: { suite_id: id, case_name: name } }) => ({
      name,
      text: caseOf(await suites.get(id), name),
    }),
  });

  api.add({
    id: 'updateEvalCase',
    method: 'PUT',
    scope: 'evals',
    path: '/evals/suites/{suite_id}/cases/{case_name}',
    tag,
    summary: 'Change one case of a test suite',
    description: 'Saves a new version of the suite. All else of its text stays as it is.',
    params: { suite_id: suiteId, case_name: caseName },
    errors,
    body: z.strictObject({ case: caseSchema }).meta({ id: 'EvalCaseChange' }),
    answer: suiteReplySchema,
    examples: () => ({ body: { case: EXAMPLE_TEXT }, answer: { ...exampleSuite(), version: 2 } }),
    handle: async ({ params: { suite_id: id, case_name: name }, body, key }) => {
      const changed = (suite: StoredEvalSuite): EvalSuiteChange => {
        caseOf(suite, name);
        return { content: withCase(suite.text, body.case, name, CASE_PLACE) };
      };
      return suiteReply(await suites.change(id, changed, key?.name ?? ''));
    },
  });
}

/** @throws ParleyError NOT_FOUND */
function caseOf(suite: StoredEvalSuite, name: string): string {
  const text = caseText(suite.text, name);
  if (text === null) throw new ParleyError('NOT_FOUND', { what: 'case', id: name });
  return text;
}
