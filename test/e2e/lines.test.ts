import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Engine, type SessionReport } from '@parley-voice/parley';
import type { Line } from '@parley-voice/parley/lines';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { loadOpus } from '../../src/audio/codecs/opus.js';
import { packageFile } from '../../src/package-files.js';
import { PcmReader, pcmBytes } from '../../src/transports/pcm.js';
import { WeriftCaller } from '../../src/transports/webrtc/werift-caller.js';
import { type FarSide, Heard } from './line-examples.js';

/** What the examples return. */
interface Serving {
  line: Line<never>;
  server: Server;
}

const engine = new Engine();
const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closing) await close();
  await engine.close();
});
beforeEach(() => void vi.spyOn(console, 'log').mockReturnValue());

/** A file of examples/lines. */
async function example<F>(name: string): Promise<F> {
  const module = (await import(packageFile(`examples/lines/${name}.mjs`).href)) as Record<string, F>;
  return Object.values(module)[0] as F;
}

/** The port of an example's server, which is closed after the tests. */
async function listening({ line, server }: Serving): Promise<number> {
  if (!server.listening) await once(server, 'listening');
  closing.push(async () => {
    await line.close();
    await line.close();
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Both sides were heard and understood. */
function expectConversation(report: SessionReport, { words }: Heard, status = 'user-ended'): void {
  expect({ status: report.status, messages: report.messages }).toEqual({
    status,
    messages: [
      { role: 'assistant', content: 'Good evening.' },
      { role: 'user', content: words },
      { role: 'assistant', content: `You want ${words}.` },
    ],
  });
}

describe.concurrent('the examples of lines hold conversations', () => {
  it('over the talk socket', async () => {
    const serveTalk = await example<(...args: unknown[]) => Promise<Serving>>('talk-socket');
    const heard = new Heard(engine);
    const port = await listening(await serveTalk(engine, heard.agent, 0));
    const socket = new WebSocket(`ws://127.0.0.1:${String(port)}/talk`);
    const reader = new PcmReader();
    socket.on('message', (data: Buffer, isBinary: boolean) => {
      if (isBinary) heard.hear(reader.read(data));
    });
    await once(socket, 'open');
    socket.send(JSON.stringify({ method: 'initiate', data: { agent: { agent_id: 'waiter' } } }));
    const far: FarSide = { send: (frame) => socket.send(pcmBytes(frame)), leave: () => socket.close() };
    expectConversation(await heard.converse(far), heard);
  });

  it('over WebRTC', async () => {
    const serveWebRtc = await example<(...args: unknown[]) => Promise<Serving>>('webrtc');
    const heard = new Heard(engine);
    const serving = await serveWebRtc(engine, heard.agent, 0, ['127.0.0.1']);
    const port = await listening(serving);
    const opus = await loadOpus();
    const [encoder, decoder] = [opus.encoder({ sampleRateHz: 16_000, dtx: false }), opus.decoder(16_000)];
    const caller = new WeriftCaller({ addresses: ['127.0.0.1'], ipv6: false });
    caller.onAudio = ({ payload }) => heard.hear(decoder.decode(payload));
    const url = `http://127.0.0.1:${String(port)}/offer`;
    const reply = await fetch(url, { method: 'POST', body: await caller.offer() });
    expect(reply.status).toBe(200);
    await caller.accept(await reply.text());
    await caller.connected;
    let ticks = 0;
    const far: FarSide = {
      send: (frame) => caller.sendAudio(encoder.encode(frame), (ticks += 960)),
      // A peer that closes is missed only after some seconds of silence: the agent hangs up here.
      leave: async () => {
        for (const call of serving.line.calls) await call.hangUp();
        await caller.close();
      },
    };
    const report = await heard.converse(far);
    caller.onAudio = () => undefined;
    encoder.close();
    decoder.close();
    expectConversation(report, heard, 'api-ended');

    const refused = await fetch(url, { method: 'POST', body: 'v=0' });
    expect([refused.status, await refused.text()]).toEqual([422, 'The offer cannot be answered: it has no audio']);
  });
});
