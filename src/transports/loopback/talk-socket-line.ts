import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { PcmReader, pcmBytes } from '../pcm.js';
import { TALK_RATE_HZ, TalkSocketTransport } from '../talk-socket.js';
import { type LoopbackLine, type LoopbackOptions, pressInTurn, sendInTicks } from './loopback-line.js';

/** The talk socket over loopback: uncompressed PCM in both directions, as in browsers. */
export async function openTalkSocketLine({ clock, ticker }: LoopbackOptions): Promise<LoopbackLine> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = new WebSocket(`ws://127.0.0.1:${String(port)}`, { perMessageDeflate: false });
  const [[socket]] = (await Promise.all([once(server, 'connection'), once(client, 'open')])) as [[WebSocket], unknown];
  server.close(); // accepts no further connection; the existing one stays open
  const reader = new PcmReader();
  const transport = new TalkSocketTransport(socket, { clock });
  const over = new AbortController();
  let stop = (): void => undefined;
  return {
    transport,
    connect: (user) => {
      client.on('message', (data, isBinary) => {
        if (isBinary) user.heard(reader.read(data as Buffer), TALK_RATE_HZ);
      });
      stop = sendInTicks(ticker, user, (frame) => client.send(pcmBytes(frame)));
    },
    press: (keys) =>
      pressInTurn(keys, clock, (key) => client.send(JSON.stringify({ method: 'dtmf', data: key })), over.signal),
    hangUp: async () => {
      stop();
      over.abort(new Error('the call is over'));
      client.close();
      await transport.close();
    },
  };
}
