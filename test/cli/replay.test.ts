import { readFile, writeFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { DEMO_AGENT, fixture, inFolder, parley } from './support.js';

/** The log of a real session: the embedded engines in virtual time. */
let trace: string;

beforeAll(async () => {
  trace = await inFolder(async (path) => {
    const files = ['--in', fixture('booking/rms/table.wav'), '--trace', path('t.jsonl')];
    const ran = await parley(['run', '--agent', DEMO_AGENT, '--speed', 'max', ...files]);
    if (ran.code !== 0) throw new Error(ran.err);
    return readFile(path('t.jsonl'), 'utf8');
  });
}, 120_000);

async function replayed(log: string, config?: unknown, more: readonly string[] = []) {
  return inFolder(async (path) => {
    await writeFile(path('log.jsonl'), log);
    if (config !== undefined) await writeFile(path('other.json'), JSON.stringify(config));
    const changes = config === undefined ? [] : ['--config', path('other.json')];
    return parley(['replay', path('log.jsonl'), ...changes, ...more]);
  });
}

describe('parley replay', () => {
  it('of a real session is the same, bit for bit', async () => {
    const { code, out, err } = await replayed(trace);
    expect([code, err]).toEqual([0, '']);
    const events = trace.split('\n').filter((line) => line.includes('"kind":"event"')).length;
    expect(out).toMatch(new RegExp(`^Identical: ${String(events)} events, \\d+ effects\\n$`));
  });

  it('tells the first difference and exits with 1', async () => {
    const changed = trace.replace(/("type":"user.said","text":")[^"]*/, '$1nothing of the kind');
    const { code, out } = await replayed(changed);
    expect(code).toBe(1);
    expect(out).toMatch(/^Different at \d+ ms, after event \d+: \{"type":"/);
    expect(out).toContain('  log     {"type":"user.said","text":"nothing of the kind"');
    expect(out).toContain('  replay  {"type":"user.said"');
    const { difference } = JSON.parse((await replayed(changed, undefined, ['--json'])).out) as { difference: unknown };
    expect(difference).toMatchObject({ logged: { text: 'nothing of the kind' } });
  });

  it('shows side by side what other settings would have led to', async () => {
    const { code, out } = await replayed(trace, { endpointing: { responseDelayMs: 2500 } });
    expect(code).toBe(0);
    expect(out).toContain('original settings');
    expect(out).toMatch(/ user +i would like .* ≠ .* user +i would like/);
    expect(out).toMatch(/\d+ turns, [1-9]\d* different\n$/);
    const same = await replayed(trace, {});
    expect(same.out).toMatch(/ 0 different\n$/);
    expect(same.out).not.toContain('≠');
  });

  it('goes on without a last line that was not written to its end, and says so', async () => {
    const { code, err } = await replayed(trace.slice(0, -20));
    expect(code).toBe(0);
    expect(err).toMatch(/ignoring the last line/);
  });

  it.each([
    [[], 2, /LOG is missing/],
    [['a', 'b'], 2, /unexpected argument "b"/],
    [['/nowhere/log.jsonl'], 1, /FILE_NOT_READABLE/],
    [[DEMO_AGENT], 1, /LOG_INVALID/],
  ])('%j: exit code %i', async (args, expected, message) => {
    const { code, err } = await parley(['replay', ...args]);
    expect(code).toBe(expected);
    expect(err).toMatch(message);
  });

  it('refuses settings that are none', async () => {
    const { code, err } = await replayed(trace, { nonsense: true });
    expect(code).toBe(1);
    expect(err).toMatch(/nonsense: unknown setting \[CONFIG_INVALID\]/);
  });
});
