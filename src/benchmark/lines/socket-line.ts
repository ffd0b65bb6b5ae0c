import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';
import { frameSamples } from '../../audio/frame.js';
import { PcmReader, pcmBytes } from '../../transports/pcm.js';
import { TALK_RATE_HZ, TalkSocketTransport } from '../../transports/talk-socket.js';
import { type LineOptions, type RecordingLine, sayInFrames } from './line.js';

/** The talk socket over loopback: uncompressed PCM in both directions, as in browsers. */
export async function openSocketLine(options: LineOptions): Promise<RecordingLine> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const client = new WebSocket(`ws://127.0.0.1:${String(port)}`, { perMessageDeflate: false });
  const [[socket]] = (await Promise.all([once(server, 'connection'), once(client, 'open')])) as [[WebSocket], unknown];
  server.close(); // accepts no further connection; the existing one stays open
  const reader = new PcmReader();
  client.on('message', (data, isBinary) => {
    if (isBinary) options.onHeard(reader.read(data as Buffer));
  });
  const transport = new TalkSocketTransport(socket, { clock: options.clock });
  let stop = (): void => undefined;
  return {
    transport,
    speak: () => {
      stop = sayInFrames(options, frameSamples(TALK_RATE_HZ), (frame) => client.send(pcmBytes(frame)));
    },
    hangUp: async () => {
      stop();
      client.close();
      await transport.close();
    },
  };
}
