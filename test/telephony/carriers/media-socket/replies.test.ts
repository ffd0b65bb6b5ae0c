import { describe, expect, it } from 'vitest';
import type { WebhookReply } from '../../../../src/telephony/carriers/media-socket/webhook-endpoint.js';
import { Replies } from '../../../../src/telephony/carriers/media-socket/replies.js';
import { VirtualClock } from '../../../../src/base/virtual-clock.js';

function open() {
  const clock = new VirtualClock();
  const replies = new Replies({ clock, keptMs: 1_000 });
  let made = 0;
  const make = (): WebhookReply => ({ status: 200, contentType: 'text/plain', body: String(++made) });
  return { clock, replies, make };
}

describe('replies to webhooks', () => {
  it('are the same to repetitions, for a time', async () => {
    const { clock, replies, make } = open();
    const ask = async (key: string) => (await replies.once(key, make)).body;
    expect([await ask('a'), await ask('b'), await ask('a')]).toEqual(['1', '2', '1']);
    await clock.advanceBy(999);
    expect(await ask('a')).toBe('1');
    await clock.advanceBy(1);
    expect(await ask('a')).toBe('3');
  });

  it('are waited for by repetitions, and made once', async () => {
    const { replies, make } = open();
    const { promise, resolve } = deferred<WebhookReply>();
    const both = [replies.once('a', () => promise), replies.once('a', make)];
    resolve(make());
    expect((await Promise.all(both)).map(({ body }) => body)).toEqual(['1', '1']);
  });

  it('are made anew where they failed', async () => {
    const { replies, make } = open();
    const fails = (): WebhookReply => {
      throw new Error('broken');
    };
    await expect(replies.once('a', fails)).rejects.toThrow('broken');
    expect((await replies.once('a', make)).body).toBe('1');
  });

  it('are remembered in a bounded number', async () => {
    const { replies, make } = open();
    await replies.once('first', make);
    for (let at = 0; at < 20_000; at++) void replies.once(String(at), make);
    expect((await replies.once('19999', make)).body).toBe('20001');
    expect((await replies.once('first', make)).body).toBe('20002');
  });
});

function deferred<T>() {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((done) => (resolve = done));
  return { promise, resolve };
}
