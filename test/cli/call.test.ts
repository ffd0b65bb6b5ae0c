import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { CallReport } from '../../src/telephony/calls/agent-call.js';
import { levelOf } from '../../src/audio/dsp/level.js';
import { decodeWav } from '../../src/audio/files/wav.js';
import { inFolder, parley } from './support.js';

describe('parley numbers', () => {
  it('lists who is there and what they do', async () => {
    const { code, out } = await parley(['numbers']);
    expect(code).toBe(0);
    expect(out).toMatch(/\+12025550103.*mailbox.*beep/);
    const { out: json } = await parley(['numbers', '--json']);
    const { numbers, callers } = JSON.parse(json) as Record<'numbers' | 'callers', unknown[]>;
    expect([numbers.length > 10, callers.length > 0]).toEqual([true, true]);
  });
});

describe('parley call', () => {
  it('calls a person, shows the call and records both sides', { timeout: 120_000 }, async () => {
    await inFolder(async (path) => {
      const { code, out } = await parley(['call', '+12025550101', '--speed', 'max', '--out', path('call.wav')]);
      expect(code).toBe(0);
      for (const status of ['dispatching', 'initiated', 'ringing', 'in-progress', 'agent-ended']) {
        expect(out).toMatch(new RegExp(`\\d\\.\\d +${status}`));
      }
      expect(out).toMatch(/them +yes that is right/);
      expect(out).toMatch(/agent +Lovely/);
      const wav = await readFile(path('call.wav'));
      for (const channel of [0, 1]) expect(levelOf(decodeWav(wav, { channel }).samples).rmsDbfs).toBeGreaterThan(-40);
    });
  });

  it('leaves a message after the beep of a mailbox', { timeout: 120_000 }, async () => {
    const { code, out } = await parley(['call', '+12025550103', '--speed', 'max', '--json']);
    expect(code).toBe(0);
    const report = JSON.parse(out) as CallReport;
    expect(report.status).toBe('voicemail-message');
    expect(report.session?.messages.at(-1)?.content).toContain('please call us back');
  });

  it('ends with 1 where the call fails, and says why', { timeout: 60_000 }, async () => {
    const { code, out } = await parley(['call', '+12025550115', '--speed', 'max']);
    expect([code, out]).toEqual([1, expect.stringContaining('ended: failed, 503 Service Unavailable')]);
  });

  it.each([
    [[], 'the number to call is missing'],
    [['+12025550101', '+12025550102'], 'unexpected argument "+12025550102"'],
    [['+12025550101', '--ring', 'long'], '--ring must be a number'],
    [['+12025550101', '--speed', 'warp'], '--speed must be real or max'],
  ])('refuses %j', async (args, why) => {
    const { code, err } = await parley(['call', ...args]);
    expect([code, err]).toEqual([2, expect.stringContaining(why)]);
  });

  it.each([
    ['what is no number', 'Tom', 'NUMBER_INVALID'],
    ['an emergency number', '911', 'CALL_FORBIDDEN'],
    ['a short code', '12', 'CALL_FORBIDDEN'],
  ])('refuses %s', { timeout: 60_000 }, async (_what, number, error) => {
    const { code, err } = await parley(['call', number, '--speed', 'max']);
    expect([code, err]).toEqual([1, expect.stringContaining(error)]);
  });
});
