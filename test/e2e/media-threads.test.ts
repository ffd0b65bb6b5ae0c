import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { RealClock } from '../../src/base/real-clock.js';
import { WeriftCaller } from '../../src/transports/webrtc/werift-caller.js';
import type { FarPhones } from './far-phones.js';
import { ANN, BOB, type Item, LOOPBACK, OURS, PATIENCE, TrunkHouse } from './trunk-house.js';
import type { House } from '../daemon/house.js';

const CLERK = {
  name: 'Clerk',
  config: {
    prompt: 'You answer the phone.',
    first_message: 'Hello, this is the office of the harbour, what can I do for you today?',
    llm: { model: 'scripted' },
    flow: { call_transfer: { phone: BOB, instruction: 'Whenever they want a person.' } },
  },
  script: {
    rules: [
      { when: '5', say: 'You have pressed five.' },
      { when: '9', call: { tool: 'transfer_call', arguments: { phone: BOB }, ok: {}, failed: { say: 'No.' } } },
    ],
  },
};

// Two threads load their engines.
vi.setConfig({ testTimeout: 400_000, hookTimeout: 240_000 });

describe('a daemon with media threads', () => {
  let daemon: TrunkHouse;
  let house: House;
  let far: FarPhones;

  beforeAll(async () => {
    daemon = await TrunkHouse.open(2);
    ({ house, far } = daemon);
    await daemon.answeredBy(CLERK);
    await house.daemon.warmUp();
  });

  afterEach(() => daemon.hush());
  afterAll(() => daemon.close());

  it('has calls over SIP in them: sound, keys, the log, the trace, the figures', async () => {
    const phone = far.call(ANN, OURS);
    const id = await daemon.session();
    await expect.poll(() => phone.loud, PATIENCE).toBeGreaterThan(25);
    expect(await daemon.figure('parley_media_thread_lines')).toBe('parley_media_thread_lines{thread="1"} 1');
    expect(await daemon.figure('parley_rtp_sessions')).toBe('parley_rtp_sessions 1');
    await phone.press('5');
    await expect.poll(() => daemon.trace(id), PATIENCE).toContain('You have pressed five.');
    await daemon.asked('POST', `/sessions/${id}/terminate`);
    await expect.poll(() => phone.isOver, PATIENCE).toBe(true);
    const item = await daemon.logged(id);
    expect(item).toMatchObject({
      call_status: 'api-ended',
      carrier_call_log: { codec: 'PCMU', digitsReceived: '5', end: { cause: 'hangup', by: 'agent' } },
      call_metrics: { line: { codec: 'PCMU' } },
    });
    expect(String(item['chat'])).toMatch(/"Hello.*"user","content":"5"/);
    const { packets } = item['carrier_call_log'] as { packets: { sent: number; received: number } };
    expect(Math.min(packets.sent, packets.received)).toBeGreaterThan(25);
    await expect.poll(() => daemon.figure('parley_rtp_sessions'), PATIENCE).toBe('parley_rtp_sessions 0');
    expect(await daemon.figure('parley_rtp_calls_total')).toContain('codec="PCMU",srtp="false"} 1');
    const lines = (): Promise<string | undefined> => daemon.figure('parley_media_thread_lines');
    await expect.poll(lines, PATIENCE).toBe('parley_media_thread_lines{thread="1"} 0');
  });

  it('has calls handed over to another agent and back in them: by a rule, and by a program', async () => {
    const call = (tool: string) => ({ call: { tool, arguments: {}, ok: {}, failed: { say: 'No.' } } });
    const billing = { when: '5', say: 'Billing has heard five.' };
    const other = {
      name: 'Billing',
      config: { llm: { model: 'scripted' } },
      script: { rules: [billing, { when: '7', ...call('hand_back') }] },
    };
    const { id: otherId } = await daemon.asked<{ id: string }>('POST', '/agents', other);
    const rules = [
      { when: '5', ...call('hand_over') },
      { when: '7', say: 'The desk has heard seven.' },
    ];
    const extensions = { handover: { agents: [{ agent_id: otherId }] } };
    const desk = { ...CLERK, name: 'Desk', script: { rules }, extensions };
    const { id: deskId } = await daemon.asked<{ id: string }>('POST', '/agents', desk);
    await daemon.asked('POST', `/phones/${OURS}/set_agent`, { agent_id: deskId });
    const ann = far.call(ANN, OURS);
    const id = await daemon.session();
    await expect.poll(() => ann.loud, PATIENCE).toBeGreaterThan(25);
    await ann.press('5');
    await expect.poll(() => daemon.trace(id), PATIENCE).toContain('Billing has heard five.');
    await ann.press('7');
    await expect.poll(() => daemon.trace(id), PATIENCE).toContain('The desk has heard seven.');
    await daemon.asked('POST', `/sessions/${id}/control`, { type: 'hand_over', agent_id: otherId });
    await daemon.asked('POST', `/sessions/${id}/terminate`);
    const item = await daemon.logged(id);
    expect(item['agents']).toMatchObject([
      { name: 'Desk' },
      { name: 'Billing' },
      { name: 'Desk' },
      { name: 'Billing' },
    ]);
    await daemon.answeredBy(CLERK);
  });

  it('has the two far ends of a transfer talk to each other in one of them', async () => {
    const ann = far.call(ANN, OURS);
    const id = await daemon.session();
    await expect.poll(() => ann.loud, PATIENCE).toBeGreaterThan(25);
    await ann.press('9');
    await expect.poll(() => far.called.length, PATIENCE).toBe(1);
    const [bob] = far.called;
    const item = await daemon.logged(id);
    expect(item).toMatchObject({ carrier_call_log: { transfer: { target: BOB, outcome: { ok: true } } } });
    const before = bob?.loud ?? 0;
    ann.speak();
    await expect.poll(() => (bob?.loud ?? 0) - before, PATIENCE).toBeGreaterThan(25);
    await bob?.press('7');
    await expect.poll(() => ann.keys, PATIENCE).toBe('7');
    ann.call.hangUp();
    await expect.poll(() => bob?.isOver, PATIENCE).toBe(true);
  });

  it('has somebody asked whether they take a call, and connects the two', async () => {
    const extensions = { transfer: { attended: { enabled: true } } };
    const { id: asker } = await daemon.asked<{ id: string }>('POST', '/agents', {
      ...CLERK,
      name: 'Asker',
      extensions,
    });
    await daemon.asked('POST', `/phones/${OURS}/set_agent`, { agent_id: asker });
    const ann = far.call(ANN, OURS);
    await daemon.session();
    await expect.poll(() => ann.loud, PATIENCE).toBeGreaterThan(25);
    await ann.press('9');
    await expect.poll(() => far.called.length, PATIENCE).toBe(1);
    const [bob] = far.called;
    await expect.poll(() => bob?.loud, PATIENCE).toBeGreaterThan(25);
    await bob?.press('1');
    await expect.poll(() => house.engine.sessions.size, PATIENCE).toBe(0);
    const before = bob?.loud ?? 0;
    ann.speak();
    await expect.poll(() => (bob?.loud ?? 0) - before, PATIENCE).toBeGreaterThan(25);
    bob?.call.hangUp();
    await expect.poll(() => ann.isOver, PATIENCE).toBe(true);
  });

  it('lets a person join by phone: all hear each other, and the agent goes on when they hang up', async () => {
    const ann = far.call(ANN, OURS);
    const id = await daemon.session();
    await expect.poll(() => ann.loud, PATIENCE).toBeGreaterThan(25);
    const path = `/sessions/${id}/participants`;
    const made = await daemon.asked('POST', path, {
      channel: 'phone',
      phone_number: BOB,
      name: 'Bob',
      mode: 'take_over',
    });
    expect(made).toMatchObject({ status: 'connecting', channel: 'phone', answer: null });
    const listed = async (): Promise<unknown> => (await daemon.asked(`GET`, path))['participants'];
    await expect.poll(listed, PATIENCE).toMatchObject([{ name: 'Bob', status: 'joined', mode: 'take_over' }]);
    const [bob] = far.called;
    const annsBefore = ann.loud;
    bob?.speak();
    await expect.poll(() => ann.loud - annsBefore, PATIENCE).toBeGreaterThan(25);
    bob?.hush();
    const bobsBefore = bob?.loud ?? 0;
    ann.speak();
    await expect.poll(() => (bob?.loud ?? 0) - bobsBefore, PATIENCE).toBeGreaterThan(25);
    ann.hush();
    bob?.call.hangUp();
    await expect.poll(() => daemon.trace(id), PATIENCE).toContain('I am with you again.');
    await daemon.asked('POST', `/sessions/${id}/terminate`);
    const item = await daemon.logged(id);
    expect(item['participants']).toMatchObject([{ name: 'Bob', channel: 'phone', left: 'lost' }]);
    const calls = await daemon.asked<{ items?: Item[] }>('GET', '/call-logs?limit=5');
    expect(JSON.stringify(calls)).toContain(`"joins":"${id}"`);
  });

  it('says why a person could not be reached', async () => {
    far.take = (call) => call.hangUp('declined');
    const ann = far.call(ANN, OURS);
    const id = await daemon.session();
    const path = `/sessions/${id}/participants`;
    const body = { channel: 'phone', phone_number: BOB };
    await daemon.asked('POST', path, body);
    const listed = async (): Promise<unknown> => (await daemon.asked('GET', path))['participants'];
    await expect.poll(listed, PATIENCE).toMatchObject([{ status: 'failed', reason: expect.any(String) as string }]);
    expect(await daemon.tried('POST', path, { ...body, phone_number: '+19005550100' })).toMatchObject({ status: 403 });
    expect(await daemon.tried('POST', path, { ...body, phone_number: 'bob' })).toMatchObject({ status: 422 });
    expect(await daemon.tried('POST', path, { ...body, from: '+12025550111' })).toMatchObject({ status: 404 });
    far.take = (call) => call.answer();
    ann.call.hangUp();
  });

  it('has calls over WebRTC in them', async () => {
    const caller = new WeriftCaller(LOOPBACK);
    const messages: { method: string; data?: unknown }[] = [];
    caller.onMessage = (text) => messages.push(JSON.parse(text) as (typeof messages)[number]);
    const heard = new Promise((resolve) => (caller.onAudio = resolve));
    const offer = { offer: { sdp: await caller.offer(), type: 'offer' }, agent_id: 'baker' };
    const { answer } = await daemon.asked<{ answer: { sdp: string } }>('POST', '/webrtc/offer', offer);
    await caller.accept(answer.sdp);
    await caller.connected;
    await heard;
    caller.send(JSON.stringify({ method: 'text', data: 'Have you any bread?' }));
    await expect.poll(() => messages.find(({ data }) => data === 'We have bread.'), PATIENCE).toBeDefined();
    const id = await daemon.session();
    await daemon.asked('POST', `/sessions/${id}/terminate`);
    await expect
      .poll(async () => (await daemon.asked('GET', `/call-logs/${id}`))['call_status'], PATIENCE)
      .toBe('api-ended');
    await caller.close();
  });

  it('goes on sending while the main thread stands still', async () => {
    const ear = new Worker(EAR, { eval: true });
    const [port] = (await once(ear, 'message')) as [number];
    const phone = far.callWithSoundAt(port, ANN, OURS);
    await daemon.session();
    await expect.poll(() => phone.state, PATIENCE).toBe('answered');
    ear.postMessage('count');
    await once(ear, 'message');
    const clock = new RealClock();
    while (clock.nowMs() < 2_000); // nothing else runs on this thread
    ear.postMessage('count');
    const [{ packets, longestGapMs }] = (await once(ear, 'message')) as [{ packets: number; longestGapMs: number }];
    phone.hangUp();
    await ear.terminate();
    expect(packets, `of 100, the longest gap ${String(longestGapMs)} ms`).toBeGreaterThan(60);
  });
});

/** A thread that takes the packets of a call, and tells how many there have been since it was asked last. */
const EAR = `
const { parentPort } = require('node:worker_threads');
const socket = require('node:dgram').createSocket('udp4');
let packets = 0, lastMs = performance.now(), longestGapMs = 0;
socket.on('message', () => {
  packets++;
  longestGapMs = Math.max(longestGapMs, performance.now() - lastMs);
  lastMs = performance.now();
});
socket.bind(0, '127.0.0.1', () => parentPort.postMessage(socket.address().port));
parentPort.on('message', () => {
  parentPort.postMessage({ packets, longestGapMs });
  [packets, longestGapMs] = [0, 0];
});
`;
