import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import { DEFAULT_CONVERSATION } from '../../../src/agent/flow/conversation-config.js';
import type { LogEntry } from '../../../src/session/record/event-log.js';
import { TraceFolder } from '../../../src/session/record/trace-folder.js';
import { readLog } from '../../../src/replay/read-log.js';
import { replay } from '../../../src/replay/replay.js';

let folder: string;
const faults: string[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'parley-traces-'));
  faults.length = 0;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const traces = (maxBytes = 1_000_000): TraceFolder =>
  new TraceFolder({ path: join(folder, 'traces'), clock: new RealClock(), maxBytes });
const onFault = (reason: string): void => void faults.push(reason);
const start: LogEntry = { v: 1, t: 0, kind: 'start', sessionId: 's1', config: DEFAULT_CONVERSATION };
const nowhere = { utteranceId: null, heardChars: 0 };
const typed = (t: number): LogEntry => ({ t, kind: 'event', event: { type: 'time' }, position: nowhere });

describe('the folder of traces', () => {
  it('keeps the log of a session as it can be replayed, for its owner only', async () => {
    const all = traces();
    const trace = all.open('s1', onFault);
    for (const entry of [start, typed(10)]) trace.log(entry);
    await all.flush('s1');
    expect(readLog(readFileSync(all.pathOf('s1'), 'utf8')).entries).toHaveLength(1);
    trace.log(typed(20));
    await trace.close();
    await trace.close();
    trace.log(typed(30));
    const log = readLog(readFileSync(all.pathOf('s1'), 'utf8'));
    expect([log.entries.length, log.isCut]).toEqual([2, false]);
    expect(statSync(all.pathOf('s1')).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'traces')).mode & 0o777).toBe(0o700);
    await all.close();
  });

  it('ends a log that is too large between two events, and says so', async () => {
    const all = traces(1);
    const trace = all.open('s1', onFault);
    trace.log(start);
    trace.log({ t: 5, kind: 'effect', effect: { type: 'stt.endTurn' } });
    for (const t of [10, 20, 30]) trace.log(typed(t));
    await all.close();
    const log = readLog(readFileSync(all.pathOf('s1'), 'utf8'));
    expect(log.entries.map(({ kind }) => kind)).toEqual(['effect', 'note']);
    expect(log.entries[1]).toMatchObject({ t: 10, name: 'trace.full' });
    expect(replay({ ...log, entries: log.entries.slice(1) }).difference).toBeNull();
  });

  it('makes no file for a session that never ran, and none outside', async () => {
    const all = traces();
    await all.open('s1', onFault).close();
    expect(existsSync(join(folder, 'traces'))).toBe(false);
    expect(all.pathOf('../../etc/passwd')).toBe(join(folder, 'traces', '__.._etc_passwd.jsonl'));
    await all.close();
  });

  it('tells of what it cannot write, once', async () => {
    writeFileSync(join(folder, 'traces'), 'a file in its place');
    const all = traces();
    const trace = all.open('s1', onFault);
    trace.log(start);
    await all.flush('s1');
    trace.log(typed(10));
    await trace.close();
    expect(faults).toHaveLength(1);
    await all.close();
  });
});
