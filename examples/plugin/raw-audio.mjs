/**
 * A plug-in with a line of its own: `/transports/raw-audio/talk?key=…&agent=…` is a WebSocket with audio both ways, PCM of
 * 16 kHz as signed 16-bit little-endian numbers.
 */
import { MemoryTransport } from '@parley-voice/parley';
import { WebSocketServer } from 'ws';

const SILENCE = new Int16Array(320);

export default {
  name: 'raw-audio',
  transports: {
    'raw-audio': ({ begin, onError }) => {
      const sockets = new WebSocketServer({ noServer: true });
      const serve = async (client, agentId) => {
        const line = new MemoryTransport({ onFrame: (frame) => client.send(frame ?? SILENCE) });
        client.on('message', (data) =>
          line.pushAudio(Int16Array.from({ length: data.length >> 1 }, (_, i) => data.readInt16LE(2 * i))),
        );
        client.on('close', () => line.hangUp());
        const session = await begin(line, { agentId, metadata: { from: 'a socket of our own' } });
        await session.finished;
        client.close();
      };
      return {
        upgrade: (request, socket, head) => {
          const { searchParams } = new URL(request.url, 'http://parley');
          if (searchParams.get('key') !== process.env.RAW_AUDIO_KEY) {
            socket.end('HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-length: 0\r\n\r\n');
            return;
          }
          sockets.handleUpgrade(request, socket, head, (client) => {
            serve(client, searchParams.get('agent')).catch((error) => {
              onError(error);
              client.close(1011, error.message.slice(0, 100));
            });
          });
        },
        close: () => sockets.close(),
      };
    },
  },
};
