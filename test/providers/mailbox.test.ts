import { describe, expect, it } from 'vitest';
import { Mailbox } from '../../src/providers/mailbox.js';

describe('a mailbox', () => {
  it('gives what was pushed before and after it was asked, in order, then ends', async () => {
    const mailbox = new Mailbox<number>();
    mailbox.push(1);
    expect(await mailbox.next()).toEqual({ value: 1, done: false });
    const waiting = mailbox.next();
    mailbox.push(2);
    mailbox.push(3);
    mailbox.close();
    mailbox.push(4);
    expect((await waiting).value).toBe(2);
    expect((await mailbox.next()).value).toBe(3);
    expect((await mailbox.next()).done).toBe(true);
    expect((await mailbox.next()).done).toBe(true);
  });

  it('reports a failure once, after what came before it', async () => {
    const mailbox = new Mailbox<number>();
    mailbox.push(1);
    mailbox.fail(new Error('broken'));
    mailbox.fail(new Error('again'));
    expect((await mailbox.next()).value).toBe(1);
    await expect(mailbox.next()).rejects.toThrow('broken');
    expect((await mailbox.next()).done).toBe(true);
  });

  it('wakes a waiting reader with the failure or the end', async () => {
    const failing = new Mailbox<number>();
    const first = failing.next();
    failing.fail(new Error('broken'));
    await expect(first).rejects.toThrow('broken');
    const ending = new Mailbox<number>();
    const second = ending.next();
    ending.close();
    expect((await second).done).toBe(true);
  });

  it('tells the writer once that the reader left, and only before the end', async () => {
    let left = 0;
    const count = (): void => {
      left++;
    };
    const mailbox = new Mailbox<number>(count);
    mailbox.push(1);
    await mailbox.return();
    await mailbox.return();
    expect(left).toBe(1);
    expect((await mailbox.next()).done).toBe(true);
    const ended = new Mailbox<number>(count);
    ended.close();
    await ended.return();
    expect(left).toBe(1);
  });

  it('releases a pending read when the reader leaves', async () => {
    const mailbox = new Mailbox<number>();
    const pending = mailbox.next();
    await mailbox.return();
    expect((await pending).done).toBe(true);
  });
});
