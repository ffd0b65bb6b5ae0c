import { afterEach, describe, expect, it } from 'vitest';
import { pcmBytes } from '../../src/transports/pcm.js';
import type { TalkSocketOptions } from '../../src/transports/talk-socket.js';
import { TalkLine } from './talk-line.js';

const lines: TalkLine[] = [];

async function open(options?: Omit<TalkSocketOptions, 'clock'>): Promise<TalkLine> {
  const line = await TalkLine.open(options);
  lines.push(line);
  return line;
}

async function started(options?: Omit<TalkSocketOptions, 'clock'>): Promise<TalkLine> {
  const line = await open(options);
  line.start();
  return line;
}

afterEach(async () => {
  await Promise.all(lines.splice(0).map((line) => line.end()));
});

/** Samples whose two bytes differ, so that a shift by one byte shows. */
function ramp(count: number): Int16Array {
  return Int16Array.from({ length: count }, (_, at) => ((at * 257 + 3) % 65_536) - 32_768);
}

describe('audio from the client', () => {
  it.each([
    ['of 256 bytes, as browsers send it', 256],
    ['of one byte each', 1],
    ['of 3 bytes, which end in the middle of a sample', 3],
    ['of 641 bytes', 641],
    ['in one piece', 100_000],
  ])('comes out whole when it is sent in messages %s', async (_name, bytes) => {
    const line = await started();
    const samples = ramp(2000);
    const pcm = pcmBytes(samples);
    for (let at = 0; at < pcm.length; at += bytes) line.client.send(pcm.subarray(at, at + bytes));
    await line.settled();
    expect(line.reported.samples).toEqual([...samples]);
  });

  it('keeps half a sample over empty messages, control messages and fragments', async () => {
    const line = await started();
    line.client.send(Buffer.from([0x34]));
    line.client.send(Buffer.alloc(0));
    await line.settled();
    line.client.send(Buffer.from([0x12, 0xff]), { fin: false });
    line.client.send(Buffer.from([0x7f]), { fin: true });
    await line.settled();
    expect(line.reported.samples).toEqual([0x1234, 0x7fff]);
  });

  it('that came before the session listened is delivered with its messages, in order', async () => {
    const line = await open();
    line.client.send(pcmBytes(Int16Array.of(1, 2, 3)));
    line.client.send(JSON.stringify({ method: 'text', data: 'early' }));
    line.client.send(JSON.stringify({ method: 'ping', data: 'first' }));
    await new Promise((resolve) => setImmediate(resolve));
    line.start();
    expect(await line.inbox.next()).toEqual({ method: 'pong', data: 'first' });
    expect(line.reported.samples).toEqual([1, 2, 3]);
    expect(line.reported.texts).toEqual(['early']);
  });

  it('is bounded: what comes faster than it can be spoken is dropped and counted', async () => {
    const line = await started({ maxAheadMs: 1000 });
    for (let second = 0; second < 30; second++) line.client.send(Buffer.alloc(32_000));
    await line.settled();
    expect(line.reported.samples).toHaveLength(16_000);
    expect(line.transport.stats.droppedMs).toBe(29_000);
    await line.clock.advanceBy(500);
    for (let at = 0; at < 50; at++) line.client.send(Buffer.alloc(640));
    await line.settled();
    expect(line.reported.samples).toHaveLength(24_000);
  });

  it('cannot be saved up over a pause', async () => {
    const line = await started({ maxAheadMs: 1000, pingIntervalMs: 1e9 });
    await line.clock.advanceBy(60_000);
    for (let at = 0; at < 60 * 50; at++) line.client.send(Buffer.alloc(640));
    await line.settled();
    expect(line.reported.samples.length).toBeLessThanOrEqual(2 * 16_000);
  });
});

describe('messages from the client', () => {
  it.each([
    [
      { method: 'ping', data: 'abc' },
      { method: 'pong', data: 'abc' },
    ],
    [
      { method: 'ping', data: 0 },
      { method: 'pong', data: 0 },
    ],
    [
      { method: 'ping', data: null },
      { method: 'pong', data: null },
    ],
    [
      { method: 'ping', data: { t: [1, 'ü'] } },
      { method: 'pong', data: { t: [1, 'ü'] } },
    ],
    [{ method: 'ping' }, { method: 'pong' }],
  ])('%j is answered by %j', async (sent, answer) => {
    const line = await started();
    line.client.send(JSON.stringify(sent));
    expect(await line.inbox.next()).toEqual(answer);
    expect(line.transport.stats.badMessages).toBe(0);
  });

  it('typed text, keys and forms reach the session', async () => {
    const line = await started();
    for (const message of [
      { method: 'text', data: 'a table for four' },
      { method: 'dtmf', data: '12*#' },
      { method: 'form_result', payload: { id: 'f1', value: { email: 'a@b.c' } } },
      { method: 'form_result', payload: { id: 'f2' } },
    ]) {
      line.client.send(JSON.stringify(message));
    }
    await line.settled();
    expect(line.reported.texts).toEqual(['a table for four']);
    expect(line.reported.digits).toEqual(['12*#']);
    expect(line.reported.forms).toEqual([
      { id: 'f1', value: { email: 'a@b.c' } },
      { id: 'f2', value: null },
    ]);
  });

  it.each([
    ['no JSON', '{"method":'],
    ['nothing', ''],
    ['null', 'null'],
    ['a number', '7'],
    ['an array', '["ping"]'],
    ['an unknown method', '{"method":"dance"}'],
    ['a second initiate', '{"method":"initiate","data":{}}'],
    ['a method that every object has', '{"method":"constructor"}'],
    ['text that is none', '{"method":"text","data":5}'],
    ['empty text', '{"method":"text","data":"  "}'],
    ['text beyond all measure', JSON.stringify({ method: 'text', data: 'x'.repeat(10_001) })],
    ['keys that no telephone has', '{"method":"dtmf","data":"12e"}'],
    ['no keys', '{"method":"dtmf","data":""}'],
    ['more keys than anybody presses', JSON.stringify({ method: 'dtmf', data: '1'.repeat(65) })],
    ['a form result without an id', '{"method":"form_result","payload":{"value":1}}'],
  ])('%s is answered by an error and counted, and the line goes on', async (_name, text) => {
    const line = await started();
    line.client.send(text);
    expect(await line.inbox.next()).toEqual({
      method: 'onerror',
      data: expect.stringContaining('no meaning') as string,
    });
    await line.settled();
    expect(line.transport.stats.badMessages).toBe(1);
    expect(line.reported).toMatchObject({ texts: [], digits: [], forms: [], closed: [] });
  });

  it('that never have a meaning end the line', async () => {
    const line = await started();
    for (let at = 0; at < 100; at++) line.client.send('junk');
    expect(await line.closed).toMatchObject({ code: 'TALK_TOO_MANY_BAD_MESSAGES' });
    await line.inbox.closed;
  });

  it('are rate-limited, and accepted again after a pause', async () => {
    const line = await started();
    for (let at = 0; at < 150; at++) line.client.send(JSON.stringify({ method: 'dtmf', data: '1' }));
    await line.inbox.find((message) => message['method'] === 'onerror');
    await line.clock.advanceBy(2000);
    await line.settled();
    expect(line.reported.digits).toHaveLength(100);
    expect(line.reported.closed).toEqual([]);
  });
});

describe('what the client gets', () => {
  it('20 ms frames as little-endian PCM', async () => {
    const line = await started();
    const frame = ramp(320);
    line.transport.play(frame);
    await line.inbox.heard(1);
    expect(line.inbox.audio[0]).toEqual(pcmBytes(frame));
    expect(line.inbox.audio[0]?.readInt16LE(2)).toBe(frame[1]);
  });

  it('every message as the protocol has it', async () => {
    const line = await started();
    const { transport, inbox } = line;
    const turn = {
      turn: 2,
      responseMs: 600,
      endOfTurnMs: 400,
      llmFirstMs: null,
      firstSentenceMs: 90,
      ttsFirstMs: 80,
    };
    transport.send({ type: 'ready', sessionId: 's1' });
    transport.send({ type: 'transcript', text: 'hello', isFinal: false, turn: 1, segment: 3 });
    transport.send({ type: 'response', text: 'Hi.', isFinal: true, answer: 2 });
    transport.send({ type: 'answering' });
    transport.send({ type: 'pause' });
    transport.send({ type: 'unpause' });
    transport.send({ type: 'clear' });
    transport.send({ type: 'action', id: 'a1', name: 'email', data: { param: 'email' } });
    transport.send({ type: 'metrics', turn });
    transport.send({ type: 'ended', status: 'agent-ended' });
    transport.send({ type: 'ended', status: 'timeout', limit: 'idle' });
    await line.settled();
    expect(inbox.messages.slice(0, -1)).toEqual([
      { method: 'onready', payload: { session_id: 's1' } },
      { method: 'ontranscript', data: 'hello', payload: { is_final: false, turn: 1, segment: 3 } },
      { method: 'onresponsetext', data: 'Hi.', payload: { is_final: true, answer: 2 } },
      { method: 'start_answering' },
      { method: 'pause' },
      { method: 'unpause' },
      { method: 'clear' },
      { method: 'ai_action', payload: { id: 'a1', name: 'email', param: 'email' } },
      {
        method: 'onmetrics',
        payload: {
          turn: 2,
          response_ms: 600,
          end_of_turn_ms: 400,
          llm_first_ms: null,
          first_sentence_ms: 90,
          tts_first_ms: 80,
        },
      },
      { method: 'onsessionended', payload: { status: 'agent-ended' } },
      { method: 'onsessionended', payload: { status: 'timeout', limit: 'idle' } },
    ]);
  });

  it('silence between sentences, then nothing', async () => {
    const line = await started({ silenceTailMs: 60 });
    for (let tick = 0; tick < 5; tick++) line.transport.play(null);
    line.transport.play(ramp(320));
    for (let tick = 0; tick < 10; tick++) line.transport.play(null);
    await line.settled();
    expect(line.inbox.audio.map((bytes) => bytes.some((byte) => byte !== 0))).toEqual([true, false, false, false]);
    expect(line.inbox.audio.every((bytes) => bytes.length === 640)).toBe(true);
  });

  it('no silence behind speech where that is sent ahead of time', async () => {
    const line = await started({ leadMs: 200 });
    expect(line.transport.leadMs).toBe(200);
    line.transport.play(ramp(320));
    for (let tick = 0; tick < 5; tick++) line.transport.play(null);
    await line.settled();
    expect(line.inbox.audio).toHaveLength(1);
  });

  it('no silence while it is to hold, nor after a drop', async () => {
    const line = await started({ silenceTailMs: 60 });
    const { transport } = line;
    transport.play(ramp(320));
    transport.send({ type: 'pause' });
    transport.play(ramp(320)); // the fade
    transport.play(null);
    transport.send({ type: 'unpause' });
    transport.play(ramp(320));
    transport.send({ type: 'clear' });
    transport.play(null);
    await line.settled();
    expect(line.inbox.audio).toHaveLength(3);
  });
});

describe('the end of the line', () => {
  it('is reported once when the client closes, and nothing is left running', async () => {
    const line = await started();
    line.client.close();
    expect(await line.closed).toBeUndefined();
    await line.transport.close();
    expect(line.reported.closed).toHaveLength(1);
    expect(line.clock.pending).toBe(0);
  });

  it('is reported when the client vanishes in mid-word', async () => {
    const line = await started();
    line.transport.play(ramp(320));
    line.client.send(Buffer.alloc(641));
    line.client.terminate();
    await line.closed;
    line.transport.play(ramp(320));
    line.transport.send({ type: 'clear' });
    expect(line.reported.closed).toHaveLength(1);
    expect(line.clock.pending).toBe(0);
  });

  it('is reported at the start to a session whose client has left before', async () => {
    const line = await open();
    line.client.terminate();
    line.start();
    await line.closed;
    expect(line.clock.pending).toBe(0);
  });

  it('closes with 1000 after all that was played, and may be closed twice', async () => {
    const line = await started();
    line.transport.play(ramp(320));
    line.transport.send({ type: 'ended', status: 'agent-ended' });
    await Promise.all([line.transport.close(), line.transport.close()]);
    expect((await line.inbox.closed).code).toBe(1000);
    expect(line.inbox.audio).toHaveLength(1);
    expect(line.inbox.messages).toHaveLength(1);
    expect(line.reported.closed).toHaveLength(1);
    expect(line.clock.pending).toBe(0);
  });

  it('does not wait for a client that never answers the close', async () => {
    const line = await started();
    line.client.pause();
    const closing = line.transport.close();
    await line.clock.advanceBy(2000);
    await closing;
    expect(line.clock.pending).toBe(0);
  });

  it('comes for a client that gives no sign any more', async () => {
    const line = await started({ pingIntervalMs: 20_000 });
    line.client.pause();
    await line.clock.advanceBy(40_000);
    expect(line.reported.closed).toEqual([]);
    await line.clock.advanceBy(20_000);
    expect(await line.closed).toMatchObject({ code: 'TALK_CLIENT_GONE' });
    expect(line.clock.pending).toBe(0);
  });

  it('does not come for a client that only listens: its pongs are signs', async () => {
    const line = await started({ pingIntervalMs: 1000 });
    for (let at = 0; at < 10; at++) {
      const pong = new Promise((resolve) => line.client.once('ping', resolve));
      await line.clock.advanceBy(1000);
      await pong;
      await line.settled();
    }
    expect(line.reported.closed).toEqual([]);
  });

  it('comes for a client that reads too slowly for its audio', async () => {
    const line = await started({ maxBufferedBytes: 100_000 });
    line.client.pause();
    for (let frame = 0; frame < 100_000 && line.reported.closed.length === 0; frame++) {
      line.transport.play(ramp(320));
      if (frame % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(line.reported.closed).toMatchObject([{ code: 'TALK_CLIENT_TOO_SLOW' }]);
    expect(line.clock.pending).toBe(0);
  });

  it('comes for a client that asks and never reads the answers', async () => {
    const line = await started({ maxBufferedBytes: 100_000 });
    line.client.pause();
    const data = 'x'.repeat(60_000);
    for (let at = 0; at < 2000 && line.reported.closed.length === 0; at++) {
      line.client.send(JSON.stringify({ method: 'ping', data }));
      await line.clock.advanceBy(20);
    }
    expect(await line.closed).toMatchObject({ code: 'TALK_CLIENT_TOO_SLOW' });
  });
});
