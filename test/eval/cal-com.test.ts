import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { loadAgentFile } from '../../src/agent/agent-file.js';
import type { CaseRun } from '../../src/eval/result.js';
import { runSuite } from '../../src/eval/run-suite.js';
import { loadSuite } from '../../src/eval/suite/load-suite.js';
import { packageFile } from '../../src/package-files.js';
import { CalCom } from '../vendors/cal-com.js';

/** The appointment line with its real app functions, in place of the suite's mocks. */
const EXAMPLE = 'examples/appointments';
const pathOf = (name: string): string => fileURLToPath(packageFile(`${EXAMPLE}/${name}`));

let cal: CalCom;
beforeEach(async () => {
  cal = await CalCom.start('cal_your_key', 77);
  // Nine, half past ten and two o'clock in New York, as in the suite.
  for (const time of ['13:00', '14:30', '18:00']) cal.free.add(`2026-06-16T${time}:00.000Z`);
});
afterEach(() => cal.close());

async function run(name: string): Promise<CaseRun> {
  const { suite, folder } = await loadSuite(pathOf('suite.yaml'));
  const file = await loadAgentFile(pathOf('agent.json'));
  const { tools: _mocks, ...defaults } = suite.defaults ?? {};
  const chosen = suite.cases.filter((one) => one.name === name).map((one) => ({ ...one, tools: undefined }));
  const { cases } = await runSuite({
    suite: { ...suite, defaults, cases: chosen },
    folder,
    agent: { ...file, name, agentId: null },
    modes: ['text'],
    engine: { appBaseUrls: { 'cal.com': cal.origin }, allowUrls: [cal.origin] },
    startUnixMs: 0,
    signal: AbortSignal.timeout(30_000),
  });
  const first = cases[0]?.runs[0];
  if (first === undefined) throw new Error(`there is no case ${name}`);
  return first;
}

function failuresOf({ expectations }: CaseRun): string[] {
  return expectations.filter(({ outcome }) => outcome !== 'pass').map(({ reason }) => reason);
}

it('books in the calendar what the caller has agreed to', async () => {
  expect(failuresOf(await run('books a free time'))).toEqual([]);
  expect(cal.bookings).toEqual([
    {
      start: '2026-06-16T14:30:00Z',
      attendee: { name: 'Miller', timeZone: 'America/New_York', language: 'en', phoneNumber: '+12025550143' },
    },
  ]);
});

it('says that a day is full where the calendar has nothing free', async () => {
  cal.free.clear();
  const { lines } = await run('takes the day with the first sentence');
  const said = lines.filter(({ type }) => type === 'agent').map((line) => ('text' in line ? line.text : ''));
  expect(said.join(' ')).toContain('tomorrow is fully booked');
});

it('books nothing at a time that has gone', async () => {
  cal.free.delete('2026-06-16T14:30:00.000Z');
  const { lines } = await run('books a free time');
  expect(cal.bookings).toEqual([]);
  const booking = lines.find((line) => line.type === 'tool' && line.name === 'book_meeting_slot');
  expect(booking).toMatchObject({ ok: false, result: expect.stringContaining('not available') as string });
  const said = lines.filter(({ type }) => type === 'agent').map((line) => ('text' in line ? line.text : ''));
  expect(said.join(' ')).toContain('Nothing is booked yet');
});
