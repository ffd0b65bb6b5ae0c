import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { RealClock } from '../../src/base/real-clock.js';
import { Ticker } from '../../src/base/ticker.js';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { type ContractLine, transportContract } from '../../src/testing/contracts/transport-contract.js';
import { FileTransport } from '../../src/transports/file.js';
import { MemoryTransport } from '../../src/transports/memory.js';
import { PcmReader, pcmBytes } from '../../src/transports/pcm.js';
import { TalkSocketTransport } from '../../src/transports/talk-socket.js';

async function memoryLine(): Promise<ContractLine> {
  const frames: number[] = [];
  const transport = new MemoryTransport({ sampleRateHz: 8000, onFrame: (frame) => frames.push(...(frame ?? [])) });
  return {
    transport,
    heard: () => Int16Array.from(frames),
    hangUp: () => transport.hangUp(),
    settle: () => Promise.resolve(),
    dispose: () => transport.close(),
    sendAudio: (samples) => transport.pushAudio(samples),
    sendDigits: (digits) => transport.pushDigits(digits),
    sendText: (text) => transport.pushText(text),
  };
}

async function fileLine(): Promise<ContractLine> {
  const clock = new VirtualClock();
  const transport = new FileTransport({
    samples: new Int16Array(320),
    sampleRateHz: 16_000,
    ticker: new Ticker(clock),
    hangUpAfterMs: 0,
  });
  return {
    transport,
    heard: () => transport.recording(),
    // The recording is over: that is how its user hangs up. Before the start only a close can end it.
    hangUp: async () => {
      await clock.advanceBy(100);
      await transport.close();
    },
    settle: () => Promise.resolve(),
    dispose: () => transport.close(),
  };
}

async function talkLine(): Promise<ContractLine> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  const accepted = once(server, 'connection') as Promise<[WebSocket]>;
  const client = new WebSocket(`ws://127.0.0.1:${String((server.address() as AddressInfo).port)}`);
  await once(client, 'open');
  const [socket] = await accepted;
  socket.pause(); // as the daemon does until the session listens
  const transport = new TalkSocketTransport(socket, { clock: new RealClock() });
  const heard: number[] = [];
  const pcm = new PcmReader();
  client.on('message', (data: Buffer, isBinary) => {
    if (isBinary) heard.push(...pcm.read(data));
  });
  const closed = once(client, 'close');
  return {
    transport,
    heard: () => Int16Array.from(heard),
    hangUp: () => client.close(),
    // A ping that comes back has everything before it in front of it, both ways; a closed socket has nothing coming.
    settle: async () => {
      if (client.readyState === WebSocket.CLOSING || socket.readyState >= WebSocket.CLOSING) {
        socket.resume();
        await closed;
        return;
      }
      if (socket.isPaused) return;
      if (client.readyState !== WebSocket.OPEN) return;
      const back = Promise.race([once(client, 'pong'), closed]);
      client.ping();
      await back;
      const forth = Promise.race([once(socket, 'pong'), closed]);
      socket.ping();
      await forth;
    },
    dispose: async () => {
      client.terminate();
      socket.terminate();
      await closed;
      server.close();
      await once(server, 'close');
    },
    sendAudio: (samples) => {
      if (client.readyState === WebSocket.OPEN) client.send(pcmBytes(samples));
    },
    sendDigits: (digits) => client.send(JSON.stringify({ method: 'dtmf', data: digits })),
    sendText: (text) => {
      if (client.readyState === WebSocket.OPEN) client.send(JSON.stringify({ method: 'text', data: text }));
    },
  };
}

for (const [kind, open] of [
  ['memory', memoryLine],
  ['file', fileLine],
  ['talk socket', talkLine],
] as const) {
  const checks = await transportContract(open);
  describe(`the transport contract: ${kind}`, () => {
    for (const { name, run } of checks) it(name, run);
  });
}
