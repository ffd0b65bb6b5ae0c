import Fastify, { type FastifyInstance } from 'fastify';
import { connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/base/virtual-clock.js';
import { EventStream } from '../../../src/daemon/http/event-stream.js';
import { event } from '../../net/local-server.js';

let app: FastifyInstance;
let clock: VirtualClock;
let socket: Socket;
let text: string;
let opened: ReturnType<typeof event<EventStream>>;

beforeEach(async () => {
  clock = new VirtualClock();
  opened = event<EventStream>();
  app = Fastify();
  app.get('/', (_request, reply) => {
    opened.fire(new EventStream(reply, clock, { 'x-session-id': 's1' }));
  });
  const address = new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
  text = '';
  socket = connect(Number(address.port), '127.0.0.1');
  socket.on('data', (piece) => (text += piece.toString()));
  socket.on('error', () => undefined);
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
});
afterEach(async () => {
  socket.destroy();
  await app.close();
});

/** Resolves when the client has got this. */
async function got(part: string): Promise<void> {
  while (!text.includes(part)) await new Promise((resolve) => socket.once('data', resolve));
}

describe('EventStream', () => {
  it('sends nothing before it begins, then the headers and events', async () => {
    const stream = await opened.happened;
    expect(stream.begun).toBe(false);
    stream.begin();
    await stream.send('{"a":1}');
    stream.end();
    stream.end();
    await got('0\r\n\r\n');
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\ncontent-type: text\/event-stream/);
    expect(text).toContain('x-session-id: s1\r\n');
    expect(text).toContain('data: {"a":1}\n\n');
  });

  it('sends a comment after each ten silent seconds, from its beginning to its end', async () => {
    const stream = await opened.happened;
    await clock.advanceBy(60_000);
    expect(stream.begun).toBe(false);
    await stream.send('one');
    await clock.advanceBy(9_999);
    await stream.send('two');
    await clock.advanceBy(20_000);
    stream.end();
    await clock.advanceBy(60_000);
    await got('0\r\n\r\n');
    const lines = text.split('\n').filter((line) => /^(data|:)/.test(line));
    expect(lines).toEqual(['data: one', 'data: two', ': ping', ': ping']);
  });

  it('can be kept alive before there is anything to say', async () => {
    const stream = await opened.happened;
    stream.keepAlive();
    await clock.advanceBy(10_000);
    expect(stream.begun).toBe(true);
    await got(': ping');
  });

  it('knows when its client has gone', async () => {
    const stream = await opened.happened;
    stream.begin();
    const left = new Promise((resolve) => stream.left.addEventListener('abort', resolve));
    socket.destroy();
    await left;
    await expect(stream.send('x')).rejects.toThrow('the client has gone');
    expect(clock.nowMs()).toBe(0);
  });

  it('does not wait for ever for a client that reads nothing', async () => {
    const stream = await opened.happened;
    socket.pause();
    const flood = async (): Promise<void> => {
      for (;;) await stream.send('x'.repeat(1_000_000));
    };
    const stuck = expect(flood()).rejects.toThrow('reads too slowly');
    // The buffers of both ends fill up, then there is no more room.
    while (!stream.left.aborted) {
      await clock.advanceBy(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await stuck;
  });
});
