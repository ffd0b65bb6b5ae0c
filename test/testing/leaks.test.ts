import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { RealClock } from '../../src/base/real-clock.js';
import { assertNothingLeft, runningResources } from '../../src/testing/leaks.js';

const NOW = { graceMs: 0 };

/** Starts something, which must be found, and ends it, which must be enough. */
async function found(resources: string, start: () => Promise<() => unknown>): Promise<void> {
  const before = runningResources();
  const end = await start();
  await expect(assertNothingLeft(before, NOW)).rejects.toMatchObject({
    code: 'LEFT_RUNNING',
    details: { resources: expect.stringContaining(resources) as string },
  });
  await end();
  await assertNothingLeft(before);
}

describe('what is left running is found:', () => {
  it('a timer', () => found('1 timer', () => Promise.resolve(new RealClock().schedule(60_000, () => undefined))));

  it('several timers', () =>
    found('2 timers', () => {
      const clock = new RealClock();
      const cancels = [1, 2].map(() => clock.schedule(60_000, () => undefined));
      return Promise.resolve(() => {
        for (const cancel of cancels) cancel();
      });
    }));

  it('a TCP server and its sockets', () =>
    found('TCP server', async () => {
      const server = createServer((socket) => socket.resume()).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
      await once(client, 'connect');
      return () => {
        client.destroy();
        server.close();
      };
    }));

  it('a UDP socket', () =>
    found('1 UDP socket', async () => {
      const socket = createSocket('udp4').bind(0, '127.0.0.1');
      await once(socket, 'listening');
      return () => socket.close();
    }));

  it('a child process', () =>
    found('1 child process', async () => {
      const child = spawn(process.execPath, ['-e', 'process.stdin.resume()']);
      await once(child, 'spawn');
      return async () => {
        child.kill();
        await once(child, 'close');
      };
    }));

  it('a worker thread, even an unreferenced one', () =>
    found('1 worker thread', async () => {
      const worker = new Worker("require('node:worker_threads').parentPort.on('message', () => {})", { eval: true });
      await once(worker, 'online');
      worker.unref();
      return () => worker.terminate();
    }));
});

it('waits for what is about to end', async () => {
  const before = runningResources();
  new RealClock().schedule(30, () => undefined);
  await assertNothingLeft(before);
});

it('does not mind that less is running than before', async () => {
  const cancel = new RealClock().schedule(60_000, () => undefined);
  const before = runningResources();
  cancel();
  await assertNothingLeft(before, NOW);
});
