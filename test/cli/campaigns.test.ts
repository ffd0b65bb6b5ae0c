import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stateLine } from '../../src/cli/campaigns.js';
import { Callers } from '../daemon/callers.js';
import { PRIVATE_KEY } from '../daemon/house.js';
import { parley } from './support.js';

let callers: Callers;
let folder: string;
let env: Record<string, string>;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'parley-cli-campaigns-'));
  callers = await Callers.open();
  env = { PARLEY_URL: callers.house.address, PARLEY_API_KEY: PRIVATE_KEY };
}, 60_000);
afterAll(async () => {
  await callers.close();
  rmSync(folder, { recursive: true, force: true });
});

const run = (...args: string[]) => parley(['campaigns', ...args], { env });

describe('parley campaigns', () => {
  it('makes a campaign, fills it, starts it and follows it to the end', async () => {
    const made = await run('create', 'Autumn', '--caller', callers.ours);
    expect(made).toMatchObject({ code: 0, err: '' });
    const id = made.out.trim();
    expect((await run('list')).out).toBe(`${id}  idle      ${callers.ours}  Autumn  (0 of 0 done, 0 failed)\n`);
    const list = join(folder, 'list.csv');
    writeFileSync(list, 'phone;Name\n(202) 555-0107;Ann\n+12025550115;Bob\nnobody;Carol\n+12025550107;Dave\n');
    const uploaded = await run('upload', 'Autumn', list, '--country', 'US');
    expect(uploaded).toMatchObject({ code: 1, out: '2 added, 2 refused\n' });
    expect(uploaded.err).toBe(
      '  line 4: nobody;Carol: not a phone number\n' +
        '  line 5: +12025550107;Dave: +12025550107 is in this campaign already\n',
    );
    const schedule = ['schedule', id, '--hours', '00:00-24:00', '--days', 'mon,tue,wed,thu,fri,sat', '--days', 'sun'];
    const changed = await run(...schedule, '--per-minute', '60000', '--retry', 'busy=', '--json');
    expect(JSON.parse(changed.out)).toMatchObject({
      calling_hours: { start: '00:00', end: '24:00', days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] },
      calls_per_minute: 60_000,
      retries: { busy: [], no_answer: [3600, 14_400] },
    });
    expect((await run('schedule', id)).out).toMatch(/^max_concurrent_calls +5\ncalls_per_minute +60000\n/);
    expect(await run('schedule', id, '--hours', 'always')).toMatchObject({ code: 2 });
    expect(await run('progress', id)).toMatchObject({ code: 0, out: 'idle: 0 of 2 done (0 finished, 0 failed)\n' });
    expect(await run('start', id.slice(0, 8))).toMatchObject({
      out: 'started\n',
      err: expect.stringContaining('"Baker" has no flow.voicemail') as string,
    });
    const followed = await run('progress', 'Autumn');
    expect(followed.code).toBe(0);
    expect(followed.out.trim().split('\n').at(-1)).toBe('finished: 2 of 2 done (0 finished, 2 failed)');
    const records = await run('records', id);
    expect(records.out).toMatch(
      /^\+12025550107 {6}failed {7}1 call {2}busy.*\n\+12025550115 {6}failed {7}1 call {2}failed: /,
    );
    const rejected = JSON.parse((await run('records', id, '--status', 'rejected', '--json')).out) as unknown[];
    expect(rejected).toHaveLength(2);
    expect(await run('stop', id)).toMatchObject({ code: 1, err: expect.stringMatching(/is finished/) as string });
  }, 60_000);

  it('draws a bar in a terminal', async () => {
    const { err, code } = await parley(['campaigns', 'progress', 'Autumn'], { env, terminal: true });
    expect(code).toBe(0);
    expect(err).toMatch(/█{30} finished: 2 of 2 done/);
  });

  it('says what is wrong', async () => {
    expect(await run()).toMatchObject({ code: 2, err: expect.stringMatching(/list, create, upload/) as string });
    expect(await run('start')).toMatchObject({ code: 2 });
    expect(await run('start', 'Nothing')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/no campaign "Nothing"/) as string,
    });
    expect(await parley(['campaigns', 'list'], { env: { PARLEY_URL: env['PARLEY_URL'] ?? '' } })).toMatchObject({
      code: 2,
      err: expect.stringMatching(/PARLEY_API_KEY/) as string,
    });
    expect(await run('list', '--key', 'wrong')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/key is missing or wrong/) as string,
    });
    expect(await run('list', '--url', 'http://127.0.0.1:9')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/no daemon answers at http:\/\/127.0.0.1:9/) as string,
    });
  });
});

describe('how far a campaign is, in a line', () => {
  const state = {
    ...({ status: 'started', reason: null, total: 10, not_started: 5, started: 2, finished: 2, failed: 1 } as const),
    rejected: 0,
    calls: 1,
    next_call_at: 1_700_000_000,
  };

  it('tells of the next call where that is not soon', () => {
    expect(stateLine(state, 1_699_999_990_000)).toBe('started: 3 of 10 done (2 finished, 1 failed), 1 call');
    expect(stateLine(state, 1_699_990_000_000)).toMatch(/1 call, next call 2023-11-14 22:13 UTC$/);
  });

  it('tells why the next call is later', () => {
    const later = { ...state, next_call_reason: 'outside the calling hours' };
    expect(stateLine(later, 0)).toMatch(/next call 2023-11-14 22:13 UTC: outside the calling hours$/);
  });

  it('tells why it has failed', () => {
    const failed = { ...state, status: 'failed', reason: 'no agent', calls: 0, next_call_at: null } as const;
    expect(stateLine(failed, 0)).toBe('failed: no agent: 3 of 10 done (2 finished, 1 failed)');
  });
});
