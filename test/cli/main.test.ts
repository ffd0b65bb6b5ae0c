import { describe, expect, it } from 'vitest';
import { packageVersion } from '../../src/package-files.js';
import { parley } from './support.js';

describe('parley', () => {
  it('tells its version and what it can do', async () => {
    expect(await parley(['--version'])).toEqual({ code: 0, out: `${packageVersion()}\n`, err: '' });
    for (const flag of ['--help', '-h', 'help']) {
      const { code, out } = await parley([flag]);
      expect(code).toBe(0);
      for (const command of ['serve', 'talk', 'run']) expect(out).toContain(`  ${command}`);
    }
    expect((await parley([])).code).toBe(2);
  });

  it('helps with every command', async () => {
    for (const command of ['serve', 'talk', 'run']) {
      const { code, out } = await parley([command, '--help']);
      expect([code, out.startsWith(`Usage: parley ${command} `)]).toEqual([0, true]);
      expect(out).toContain('--agent');
    }
  });

  it.each([
    [['fly'], /unknown command "fly"/],
    [['run'], /--agent is missing/],
    [['run', '--agent', 'a.json'], /--in is missing/],
    [['run', '--agent', 'a.json', '--in', 'x.wav', '--speed', 'warp'], /--speed must be real or max/],
    [['run', '--agent', 'a.json', '--in', 'x.wav', '--channel', '99'], /--channel/],
    [['run', '--agent', 'a.json', '--in', 'x.wav', '--hang-up-after', ''], /--hang-up-after/],
    [['run', '--agent', 'a.json', '--in', 'x.wav', '--now', 'soon'], /--now/],
    [['run', '--agent', 'a.json', '--in', 'x.wav', '--metadata', '[1]'], /--metadata/],
    [['run', '--agent', 'a.json', '--in', 'x.wav', '--loud'], /--loud/],
    [['talk', '--metadata', '{'], /--metadata/],
    [['talk', 'now'], /now/],
    [['serve', '--port'], /--port/],
  ])('calls wrong usage wrong: %j', async (args, words) => {
    const { code, out, err } = await parley(args);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(words);
  });
});
