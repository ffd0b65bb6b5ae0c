import { build, stop } from 'esbuild';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RealClock } from '../../../src/base/real-clock.js';
import { NO_LOG } from '../../../src/daemon/operations/log.js';
import { House, PRIVATE_KEY } from '../../daemon/house.js';
import { httpServer, type LocalServer } from '../../net/local-server.js';
import { finishChunk, OpenAiDouble, stream, textChunk } from '../../providers/llm/openai-double.js';
import { hasChromium, spokenText, TalkingBrowser } from '../browser.js';

const CODE = `
  import { OpenAIRealtimeWebRTC, RealtimeAgent, RealtimeSession } from '@openai/agents-realtime';
  globalThis.talk = async (daemon, apiKey, model) => {
    const transport = new OpenAIRealtimeWebRTC({ baseUrl: daemon + '/v1/realtime/calls' });
    const session = new RealtimeSession(new RealtimeAgent({ name: 'Desk' }), { transport, model });
    globalThis.events = [];
    session.on('transport_event', (event) => events.push(event));
    session.on('error', (error) => events.push({ type: 'error', error: JSON.stringify(error) }));
    await session.connect({ apiKey });
    globalThis.hangUp = () => session.close();
    globalThis.heardBytes = async () => {
      const stats = [...(await transport.connectionState.peerConnection.getStats()).values()];
      return stats.find(({ type, kind }) => type === 'inbound-rtp' && kind === 'audio')?.bytesReceived ?? 0;
    };
    return transport.callId;
  };
`;

describe.skipIf(!hasChromium)("the agents SDK's WebRTC in a real browser", { timeout: 120_000 }, () => {
  let house: House;
  let llm: OpenAiDouble;
  let browser: TalkingBrowser;
  /** The developer's own page, on another origin. */
  let site: LocalServer;

  beforeAll(async () => {
    llm = new OpenAiDouble();
    llm.answer = (response) => stream(response, [textChunk('For what time?'), finishChunk('stop')]);
    const route = { provider: 'openai', baseUrl: await llm.listen(), apiKey: null, model: 'double' };
    site = await httpServer((_request, response) => {
      response.setHeader('content-type', 'text/html');
      response.end('<!doctype html><link rel="icon" href="data:,">');
    });
    house = await House.open({ allowedOrigins: [site.origin] }, new RealClock(), NO_LOG, {
      models: new Map([['double', route]]),
    });
    browser = await TalkingBrowser.launch(10_000, ['--allow-loopback-in-peer-connection'], 5_000, 'chromium');
  }, 90_000);
  afterAll(async () => {
    await browser.close();
    await house.close();
    await llm.close();
    await site.close();
    await stop();
    expect([...browser.errors, ...house.faults]).toEqual([]);
  }, 30_000);

  it('greets, understands the microphone and answers', async () => {
    const config = {
      prompt: `Users say: "${spokenText()}"`,
      first_message: 'Welcome.',
      // A busy machine takes so long to connect that the microphone speaks first.
      flow: { interruption: { first_messsage: false } },
      llm: { model: 'double' },
    };
    const headers = { authorization: PRIVATE_KEY, 'content-type': 'application/json' };
    const made = await house.ask('/agents', {
      method: 'POST',
      headers,
      body: JSON.stringify({ name: 'Desk', config }),
    });
    const { id: model } = made.body as { id: string };
    const openai = new OpenAI({ apiKey: PRIVATE_KEY, baseURL: `${house.address}/v1` });
    const { value } = await openai.realtime.clientSecrets.create({ session: { type: 'realtime', model } });

    const { outputFiles } = await build({
      stdin: { contents: CODE, resolveDir: import.meta.dirname },
      bundle: true,
      write: false,
      format: 'iife',
      platform: 'browser',
    });
    const page = await browser.visit(site.origin);
    await page.evaluate(outputFiles[0]?.text ?? '');
    const callId = await page.evaluate(`talk(...${JSON.stringify([house.address, value, model])})`);
    expect(callId).toMatch(/^[\w-]+$/);

    const events = (): Promise<{ type: string; transcript?: string }[]> => page.evaluate('events');
    const transcripts = async (type: string): Promise<(string | undefined)[]> =>
      (await events()).filter((event) => event.type === type).map(({ transcript }) => transcript);
    const said = (): Promise<unknown[]> => transcripts('response.output_audio_transcript.done');
    const heard = (): Promise<unknown[]> => transcripts('conversation.item.input_audio_transcription.completed');
    await expect.poll(said, { timeout: 30_000 }).toContain('Welcome.');
    await expect.poll(heard, { timeout: 60_000 }).toContainEqual(expect.stringContaining('table'));
    await expect.poll(said, { timeout: 30_000 }).toContain('For what time?');
    expect(await page.evaluate('heardBytes()')).toBeGreaterThan(2_000);
    expect((await events()).filter(({ type }) => type === 'error')).toEqual([]);
    await page.evaluate('hangUp()');
    expect(await house.ended).toMatchObject({ status: 'user-ended' });
  });
});
