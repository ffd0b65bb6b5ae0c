/** Calls through a running daemon, whose carrier is the simulated network. */
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Callers } from '../daemon/callers.js';
import { PRIVATE_KEY } from '../daemon/house.js';
import { inFolder, parley, type RunOptions } from './support.js';

/** A person who picks up at once, and a number that is busy. */
const [JUDY, BUSY] = ['+12025550114', '+12025550107'];

let callers: Callers;
let env: Record<string, string>;

beforeAll(async () => {
  callers = await Callers.open();
  env = { PARLEY_URL: callers.house.address, PARLEY_API_KEY: PRIVATE_KEY };
}, 60_000);
afterAll(() => callers.close());

const run = (args: string[], options: RunOptions = {}) => parley(args, { env, ...options });

/** Runs a command and calls `then` once, when its output has `words`. */
async function whenItSays(words: string, then: (soFar: string) => void, args: string[], options: RunOptions = {}) {
  let said = '';
  let isDone = false;
  const onOutput = (text: string): void => {
    said += text;
    if (isDone || !said.includes(words)) return;
    isDone = true;
    then(said);
  };
  return run(args, { ...options, onOutput });
}

describe('parley calls start', { timeout: 60_000 }, () => {
  it('follows a call to its end', async () => {
    const end = (soFar: string): void => {
      const id = /session (\S+);/.exec(soFar)?.[1] ?? '';
      void callers.ask('POST', `/sessions/${id}/terminate`, {});
    };
    const metadata = ['--metadata', '{"Name": "Ann"}'];
    const { code, out } = await whenItSays('them ', end, ['calls', 'start', JUDY, '--agent', 'baker', ...metadata]);
    expect(code).toBe(0);
    expect(out).toMatch(/ringing\n(?:.*\n)*.*in-progress\n(?:.*\n)*.*them {3}.+\n(?:.*\n)*.*api-ended, \d+ s\n$/);
    const listed = await run(['calls', 'list', '--limit', '1', '--json']);
    expect(JSON.parse(listed.out)).toMatchObject({
      histories: [{ call_status: 'api-ended', metadata: { Name: 'Ann' }, voip: { to: JUDY, from: callers.ours } }],
    });
  });

  it('ends a call with Ctrl-C', async () => {
    const abort = new AbortController();
    const stop = (): void => abort.abort(new Error('SIGINT'));
    const args = ['calls', 'start', JUDY, '--from', callers.ours, '--json'];
    const { code, out } = await whenItSays('"in-progress"', stop, args, { signal: abort.signal });
    expect(code).toBe(130);
    const last: unknown = JSON.parse(out.trim().split('\n').at(-1) ?? '');
    expect(last).toMatchObject({ event: 'status', call_status: 'api-ended', ended: true });
  });

  it('fails where nobody can be reached, and where the daemon refuses', async () => {
    const busy = await run(['calls', 'start', BUSY]);
    expect([busy.code, busy.out]).toEqual([1, expect.stringMatching(/initiated\n.* {2}busy: The line was busy/)]);
    const refused = await run(['calls', 'start', '911']);
    expect(refused).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/: 911 must not be called: .* \[CALL_FORBIDDEN\]\n$/) as string,
    });
    for (const args of [['calls', 'list'], ['status'], ['calls', 'start', BUSY]]) {
      const { code, err } = await run([...args, '--key', 'sk_wrong']);
      expect([code, err]).toEqual([
        1,
        expect.stringMatching(/^parley \w+: (?!The request failed).* \[AUTH_REQUIRED\]\n$/),
      ]);
    }
    expect((await run(['calls', 'start', JUDY, '--agent', 'bakre'])).err).toContain('"bakre". Did you mean baker?');
  });

  it('leaves a call to the daemon, and needs to know which number calls', async () => {
    const { code, out } = await run(['calls', 'start', BUSY, '--detach']);
    expect(code).toBe(0);
    expect(await callers.statuses(out.trim())).toContain('busy');
    const second = await callers.bought();
    const { code: wrong, err } = await run(['calls', 'start', BUSY]);
    expect([wrong, err.includes('--from is missing'), err.includes(second)]).toEqual([2, true, true]);
  });
});

describe('parley calls of a daemon', () => {
  it('lists, shows and exports as from the data folder', async () => {
    const folder = ['--data-dir', callers.house.dataDir];
    const [there, here] = [await run(['calls', 'list']), await run(['calls', 'list', ...folder])];
    expect(there.out.split('\n').length).toBeGreaterThan(4);
    expect(there).toEqual(here);
    const { histories } = JSON.parse((await run(['calls', 'list', '--json'])).out) as {
      histories: { session_id: string }[];
    };
    const id = histories.at(-1)?.session_id ?? '';
    const shown = await run(['calls', 'show', id.slice(0, 8)]);
    const facts = (await run(['calls', 'show', id, ...folder])).out.replace(/trace .*\n/, '');
    expect(shown.out).toBe(facts);
    expect(shown.out).toMatch(/\d s {2}user {3}\S/);
    await inFolder(async (path) => {
      const exported = await run(['calls', 'export', '--phone', BUSY, '--format', 'csv', '--out', path('calls.csv')]);
      expect(exported.err).toBe('exported: 2\n');
      expect(await readFile(path('calls.csv'), 'utf8')).toBe(
        (await run(['calls', 'export', '--phone', BUSY, '--format', 'csv', ...folder])).out,
      );
    });
    expect((await run(['calls', 'show', 'zzzz'])).code).toBe(1);
    expect((await run(['calls', 'list', '--url', 'http://127.0.0.1:9', ...folder])).code).toBe(2);
  });
});

describe('parley status', () => {
  it('tells whether the daemon is ready, and what goes on', async () => {
    expect(await run(['status'])).toMatchObject({
      code: 1,
      out: expect.stringMatching(/^state +warming up\n/) as string,
    });
    await callers.house.daemon.warmUp();
    const { code, out } = await run(['status']);
    expect([code, out]).toEqual([0, expect.stringMatching(/^state +ready\n/)]);
    expect(out).toMatch(/\nsessions +0 of 100\noutbound +0 of 10000 at once, \d of 10000 in a minute, /);
    const { session_id: id } = await callers.started(JUDY);
    await callers.until(id, 'ringing');
    expect((await run(['status'])).out).toContain(`  ${id}  `);
    const json = JSON.parse((await run(['status', '--json'])).out) as Record<string, unknown>;
    expect(json).toMatchObject({
      status: 'ready',
      nodes: [{ this_node: true }],
      calls: [{ session_id: id, to: JUDY }],
    });
    await callers.ask('POST', `/sessions/${id}/terminate`, {});
    expect(await run(['status', '--url', 'http://127.0.0.1:9'])).toMatchObject({ code: 1, out: '' });
  });
});

describe('parley phones', () => {
  it('buys a number and gives it to an agent', async () => {
    const { code, out } = await run(['phones', 'buy', '--area', '212']);
    expect([code, out]).toEqual([0, expect.stringMatching(/^\+1212\d{7}\n$/)]);
    const number = out.trim();
    expect((await run(['phones', 'assign', number, 'Baker'])).out).toBe(`${number.padEnd(16)}  active    baker\n`);
    expect((await run(['phones', 'assign', number, 'bakre'])).err).toContain('Did you mean baker?');
    expect(await run(['phones', 'assign', '+12125559999', 'baker'])).toMatchObject({ code: 1, out: '' });
  });

  it('lists the numbers with their agents', async () => {
    const { out } = await run(['phones', 'list']);
    expect(out).toContain(`${callers.ours.padEnd(16)}  active    baker\n`);
    expect(out).toContain('  active    no agent\n');
    const all = JSON.parse((await run(['phones', 'list', '--json'])).out) as { id: string }[];
    expect(all.map(({ id }) => id)).toContain(callers.ours);
  });
});
