import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { InvalidConfigError } from '../../../src/schema/issues.js';
import { ParleyError } from '../../../src/base/errors.js';
import { type Methods, Rpc } from '../../../src/threads/wire/rpc.js';

interface Ends<M extends Methods> {
  clock: VirtualClock;
  asker: Rpc<M>;
  other: Rpc<Methods>;
  faults: Error[];
}

/** Two ends in one thread; what crosses is cloned, as between threads. */
function ends<M extends Methods>(methods: M): Ends<M> {
  const clock = new VirtualClock();
  const faults: Error[] = [];
  const onFault = (error: Error): void => void faults.push(error);
  const post = (to: () => Rpc<Methods>) => (message: unknown) => {
    const clone: unknown = structuredClone(message);
    queueMicrotask(() => to().receive(clone));
  };
  const asker = new Rpc<M>({ methods: {}, clock, onFault, post: post(() => other) });
  const other: Rpc<Methods> = new Rpc({ methods, clock, onFault, post: post(() => asker) });
  return { clock, asker, other, faults };
}

const never = (): Promise<never> => new Promise(() => undefined);

describe('questions between threads', () => {
  it('are answered, after the notifications before them', async () => {
    const order: string[] = [];
    const { asker } = ends({
      note: (text: string) => void order.push(text),
      double: async (n: number) => {
        order.push('asked');
        return 2 * n;
      },
    });
    asker.tell('note', 'first');
    const answer = asker.ask('double', 21, { timeoutMs: 1_000 });
    asker.tell('note', 'last');
    expect(await answer).toBe(42);
    expect(order).toEqual(['first', 'asked', 'last']);
  });

  it('raise what the other side has raised', async () => {
    const issue = { loc: ['prompt'], msg: 'Field required', type: 'missing' };
    const { asker } = ends({
      own: () => Promise.reject(new ParleyError('RTP_PORTS_FULL', { range: '1-2' })),
      config: () => Promise.reject(new InvalidConfigError([issue])),
      system: () => {
        throw Object.assign(new Error('bind'), { code: 'EADDRINUSE' });
      },
    });
    const options = { timeoutMs: 1_000 };
    await expect(asker.ask('own', null, options)).rejects.toMatchObject({
      name: 'ParleyError',
      code: 'RTP_PORTS_FULL',
      details: { range: '1-2' },
    });
    await expect(asker.ask('config', null, options)).rejects.toMatchObject({ issues: [issue] });
    await expect(asker.ask('system', null, options)).rejects.toMatchObject({ code: 'EADDRINUSE' });
  });

  it('have a deadline, and are aborted on the other side when the answer is not needed any more', async () => {
    let reported: AbortSignal | null = null;
    const { asker, clock } = ends({
      work: (_what: string, signal: AbortSignal) => {
        reported = signal;
        return never();
      },
    });
    const late = asker.ask('work', 'a', { timeoutMs: 500 });
    const refused = expect(late).rejects.toMatchObject({ code: 'MEDIA_THREAD_SILENT' });
    await clock.advanceBy(500);
    await refused;
    expect((reported as AbortSignal | null)?.aborted).toBe(true);
    const abort = new AbortController();
    const given = asker.ask('work', 'b', { timeoutMs: 500, signal: abort.signal });
    abort.abort(new Error('the user has gone'));
    await expect(given).rejects.toThrow('the user has gone');
  });

  it('end with the channel, and so does what is asked later', async () => {
    let reported: AbortSignal | null = null;
    const { asker, other } = ends({
      work: (_what: null, signal: AbortSignal) => {
        reported = signal;
        return never();
      },
    });
    const open = asker.ask('work', null, { timeoutMs: 500 });
    await Promise.resolve();
    asker.close(new ParleyError('MEDIA_THREAD_LOST', { reason: 'it ended' }));
    other.close(new Error('the main thread has gone'));
    await expect(open).rejects.toMatchObject({ code: 'MEDIA_THREAD_LOST' });
    await expect(asker.ask('work', null, { timeoutMs: 500 })).rejects.toMatchObject({ code: 'MEDIA_THREAD_LOST' });
    expect((reported as AbortSignal | null)?.aborted).toBe(true);
  });

  it('are refused if they are not plain data; faults of notifications are reported on the receiving side', async () => {
    const { asker, faults } = ends({
      keep: async (what: unknown) => what,
      give: async () => () => 'a function',
      fail: () => {
        throw new Error('cannot');
      },
    });
    const options = { timeoutMs: 1_000 };
    await expect(asker.ask('keep', () => 1, options)).rejects.toThrow(/could not be cloned/);
    await expect(asker.ask('give', null, options)).rejects.toThrow(/could not be cloned/);
    asker.tell('fail', null);
    await expect(asker.ask('keep', 1, options)).resolves.toBe(1);
    expect(faults.map(({ message }) => message)).toEqual(['cannot']);
  });
});
