import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CallFiles } from '../../src/daemon/files/call-files.js';
import { CallLog } from '../../src/daemon/call-log/call-log.js';
import type { CallHistoryItem } from '../../src/session/record/call-history.js';
import type { SessionReport } from '../../src/session/record/session-report.js';
import { CallStore } from '../../src/store/calls.js';
import { openDatabase } from '../../src/store/database.js';
import { SqliteDatabase } from '../../src/store/sqlite/sqlite-database.js';
import { parley } from './support.js';

let folder: string;
let dataDir: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-calls-'));
  dataDir = join(folder, 'data');
});
afterEach(() => rmSync(folder, { recursive: true }));

const run = (...args: string[]) => parley(['calls', ...args], { env: { PARLEY_DATA_DIR: dataDir } });
const ANN = '+12025550103';
const BEN = '+442079460000';
const CHAT = JSON.stringify([
  { role: 'assistant', content: 'Hello, what can I do for you?' },
  { role: 'user', content: 'A table, "please",\nfor two' },
  {
    role: 'assistant',
    content: '',
    tool_calls: [{ id: 't1', type: 'function', function: { name: 'book', arguments: '{"n":2}' } }],
  },
  { role: 'tool', content: 'booked', tool_call_id: 't1' },
]);

/** Calls one minute apart from noon on; the last one of each is the newest. */
async function kept(
  ...some: { id: string; phone: string; change?: Partial<CallHistoryItem>; recorded?: boolean }[]
): Promise<void> {
  let nowMs = Date.UTC(2026, 2, 1, 12);
  const database = new SqliteDatabase(openDatabase(dataDir), () => nowMs);
  const files = new CallFiles(dataDir);
  const store = new CallStore(database);
  const log = new CallLog({ database, store, files });
  for (const { id, phone, change = {}, recorded = false } of some) {
    const begun = await log.begin({
      ...({ sessionId: id, callId: `call-${id}`, channel: 'phone', agentId: 'baker', agentConfig: {} } as const),
      phones: { from: phone, to: '+14155550100' },
    });
    const recording = recorded ? join(files.recordings, `${id}.wav`) : null;
    for (const [path, text] of [
      [recording, 'RIFF'],
      [files.traceHere(id), ''],
    ] as const) {
      if (path === null) continue;
      mkdirSync(join(path, '..'), { recursive: true });
      writeFileSync(path, text);
    }
    rmSync(files.traceHere(id));
    const item = { ...begun.item, call_status: 'user-ended', duration: 75, chat: CHAT, ...change };
    await log.keep(item, { recording } as SessionReport);
    nowMs += 60_000;
  }
  await database.close();
}

describe('parley calls', () => {
  it('lists calls in a table of 100 columns, with filters and pages', async () => {
    expect(await run('list')).toMatchObject({ code: 0, out: '', err: 'no calls\n' });
    expect(existsSync(dataDir)).toBe(false);
    await kept(
      { id: 'aaaaaaaa-1', phone: ANN },
      { id: 'bbbbbbbb-2', phone: BEN, change: { call_status: 'voicemail-message', agent_id: 'x' } },
      { id: 'cccccccc-3', phone: ANN, change: { call_status: 'busy', duration: 0 } },
    );
    const { out, err } = await run('list');
    const lines = out.trimEnd().split('\n');
    expect(lines.every((line) => line.length <= 100)).toBe(true);
    expect(lines.map((line) => line.slice(17, 25).trim())).toEqual(['session', 'cccccccc', 'bbbbbbbb', 'aaaaaaaa']);
    expect(lines[2]).toBe(
      '2026-03-01 12:01 bbbbbbbb in   +442079460000 → +14155550100  baker       voicemail-message 1:15',
    );
    expect(err).toBe('');
    const ids = async (...flags: string[]): Promise<string[]> => {
      const page = JSON.parse((await run('list', '--json', ...flags)).out) as { histories: CallHistoryItem[] };
      return page.histories.map(({ session_id }) => session_id.slice(0, 1));
    };
    expect(await ids()).toEqual(['c', 'b', 'a']);
    expect(await ids('--phone', '(202) 555-0103')).toEqual(['c', 'a']);
    expect(await ids('--status', 'failed')).toEqual(['c']);
    expect(await ids('--since', '2026-03-01T12:01Z', '--until', '2026-03-01T12:01:30Z')).toEqual(['b']);
    expect(await ids('--agent', 'nobody')).toEqual([]);
    const first = await run('list', '--limit', '2');
    const [, cursor = ''] = /--after (\S+)/.exec(first.err) ?? [];
    expect(await ids('--limit', '2', '--after', cursor)).toEqual(['a']);
  });

  it('shows a call with what was said and done', async () => {
    await kept({ id: 'aaaaaaaa-1', phone: ANN, recorded: true }, { id: 'aaab', phone: BEN });
    const { out } = await run('show', 'aaaaaaaa');
    expect(out).toContain('2026-03-01 12:00:00 UTC  user-ended after 1:15  phone, inbound');
    expect(out).toMatch(/from\s+\+12025550103/);
    expect(out).toMatch(
      /agent {2}Hello, what can I do for you\?\n\s+user {3}A table, "please", for two\n\s+tool {3}book\({"n":2}\) → booked/,
    );
    expect(out).toContain(join(dataDir, 'recordings', 'aaaaaaaa-1.wav'));
    expect(JSON.parse((await run('show', 'aaab', '--json')).out)).toMatchObject({
      session_id: 'aaab',
      recording: null,
    });
    expect(await run('show', 'aaa')).toMatchObject({ code: 2, err: expect.stringContaining('several') as string });
    expect(await run('show', 'zzz')).toMatchObject({
      code: 1,
      err: expect.stringContaining('no call "zzz"') as string,
    });
  });

  it('shows when things were said, from the trace', async () => {
    await kept({ id: 'traced', phone: ANN });
    const nowhere = { utteranceId: null, heardChars: 0 };
    const playing = { utteranceId: 1, heardChars: 5 };
    const call = { id: 't1', name: 'book', arguments: '{}' };
    const entries = [
      { v: 1, t: 0, kind: 'start', sessionId: 'traced', config: {} },
      { t: 100, kind: 'effect', effect: { type: 'speak', utteranceId: 1, text: 'Hello there.', kind: 'opening' } },
      { t: 160, kind: 'event', event: { type: 'utterance.started', utteranceId: 1 }, position: nowhere },
      { t: 900, kind: 'event', event: { type: 'time' }, position: playing },
      { t: 4240, kind: 'effect', effect: { type: 'user.said', turn: 1, text: 'a table' } },
      { t: 5240, kind: 'effect', effect: { type: 'user.said', turn: 1, text: 'a table please' } },
      { t: 5300, kind: 'effect', effect: { type: 'tool.start', call } },
      {
        t: 5400,
        kind: 'event',
        event: { type: 'tool.result', callId: 't1', ok: false, content: 'no' },
        position: nowhere,
      },
    ];
    const path = new CallFiles(dataDir).traceHere('traced');
    writeFileSync(path, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    const { out } = await run('show', 'traced');
    expect(out).toContain(
      '   0.16 s  agent  Hello [cut]\n   4.24 s  user   a table please\n   5.30 s  tool   book({}) → FAILED: no\n',
    );
    expect(out).toContain(path);
  });

  it('exports all of them as lines of JSON or CSV', async () => {
    await kept({ id: 'one', phone: ANN }, { id: 'two', phone: BEN, change: { error_message: '=HYPERLINK("x")' } });
    const { out, err } = await run('export');
    const items = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as CallHistoryItem);
    expect([items.map(({ session_id }) => session_id), err]).toEqual([['two', 'one'], 'exported: 2\n']);
    const path = join(folder, 'calls.csv');
    expect((await run('export', '--format', 'csv', '--out', path, '--phone', ANN, '--json')).err).toBe(
      '{"exported":1}\n',
    );
    const [header = '', ...cells] = readFileSync(path, 'utf8').split('\n');
    expect(header.split(',').slice(0, 4)).toEqual(['session_id', 'call_id', 'ts', 'call_status']);
    expect(cells.join('\n')).toContain(',+12025550103,+14155550100,0,');
    expect((await run('export', '--format', 'csv')).out).toContain(`"'=HYPERLINK(""x"")"`);
  });

  it('erases the calls of a number with their files', async () => {
    await kept({ id: 'one', phone: ANN, recorded: true }, { id: 'two', phone: BEN });
    expect((await run('erase', '--phone', '+1 202 555 0103')).out).toMatch(
      /^erased: calls: 1, going on: 0, recordings: 1,/,
    );
    expect(existsSync(join(dataDir, 'recordings', 'one.wav'))).toBe(false);
    expect(JSON.parse((await run('erase', '--phone', BEN, '--json')).out)).toMatchObject({ erased: { calls: 1 } });
    expect((await run('list')).err).toBe('no calls\n');
    expect((await run('erase', '--phone', '0103')).code).toBe(1);
  });

  it.each([
    [[]],
    [['list', 'x']],
    [['show']],
    [['erase']],
    [['list', '--status', 'asleep']],
    [['list', '--since', 'soon']],
    [['list', '--limit', '0']],
    [['export', '--format', 'xml']],
    [['burn']],
  ])('%j is wrong usage', async (args) => {
    expect((await run(...args)).code).toBe(2);
  });
});
