import { afterEach, describe, expect, it } from 'vitest';
import { frameSamples } from '../../../src/audio/frame.js';
import type { CarrierCall } from '../../../src/carriers/carrier.js';
import type { TransportSink } from '../../../src/transports/transport.js';
import { CONNECTION_ID } from '../../vendors/carriers/telnyx/double.js';
import { CALLER, farLeg, NUMBERS, openRig, OWN, PUBLIC_URL, WEBHOOK } from './support.js';

type Rig = ReturnType<typeof openRig>;

const LOUD = new Int16Array(frameSamples(8_000)).map((_, at) => (at % 8 < 4 ? 8_000 : -8_000));

let rig: Rig;
afterEach(() => rig.dispose());

function place(to: string = NUMBERS.person, ringTimeoutMs = 30_000) {
  return rig.carrier.placeCall({ from: OWN, to, ringTimeoutMs });
}

async function answered(to: string = NUMBERS.person) {
  const call = place(to);
  const heard = listen(call);
  await rig.until(() => call.state === 'answered');
  return { call, heard, far: farLeg(rig, call) };
}

function listen(call: CarrierCall) {
  const heard = { samples: [] as number[], digits: '', closed: 0 };
  const sink: TransportSink = {
    audio: (samples) => heard.samples.push(...samples),
    digits: (digits) => (heard.digits += digits),
    text: () => undefined,
    formResult: () => undefined,
    closed: () => heard.closed++,
  };
  call.line.start(sink);
  return heard;
}

async function callIn(headers = {}) {
  const calls: CarrierCall[] = [];
  rig.carrier.receiveCalls((call) => calls.push(call));
  const far = rig.telnyx.callIn('+12025550177', OWN, CALLER, headers);
  await rig.until(() => calls.length > 0);
  const [call] = calls;
  if (call === undefined) throw new Error('no call has come');
  return { call, far, calls };
}

const dials = () => rig.telnyx.requests.filter((one) => one === 'POST /calls').length;
const commands = (name: string) => rig.telnyx.requests.filter((one) => one.endsWith(`/actions/${name}`)).length;

describe('a call over Telnyx', () => {
  it('is there once where the answer to its request never comes, and goes on', async () => {
    rig = openRig();
    rig.telnyx.faults.swallowedAnswers = 1;
    const { call, far } = await answered();
    await rig.clock.advanceBy(40_000);
    expect(dials()).toBe(2); // with the same command id
    expect(rig.telnyx.legs.size).toBe(1);
    expect(call.state).toBe('answered');
    expect(call.record().networkCallId).toBe(far.facts.id);
    call.hangUp();
    await rig.until(() => far.isOver);
  });

  it('is placed all the same where the request was lost on its way', async () => {
    rig = openRig();
    rig.telnyx.faults.lostRequests = 1;
    await answered();
    expect(rig.telnyx.legs.size).toBe(1);
  });

  it('is ended at Telnyx where it was given up before anybody knew of it', async () => {
    rig = openRig();
    rig.telnyx.faults.swallowedAnswers = 1;
    const call = place(NUMBERS.absent);
    call.hangUp();
    expect(call.end?.cause).toBe('canceled');
    await rig.until(() => farLeg(rig, call).isOver);
  });

  it('has failed where Telnyx neither answers nor tells of it', async () => {
    rig = openRig();
    rig.telnyx.faults.lostRequests = 100;
    const call = place();
    await rig.until(() => call.state === 'ended', 55_000);
    expect(call.end).toMatchObject({ cause: 'failed', by: 'network' });
    rig.telnyx.faults.lostRequests = 0;
  });

  it('waits its turn where Telnyx has too many', async () => {
    rig = openRig();
    rig.telnyx.faults.tooMany = 2;
    await answered();
  });

  it('has failed, in the words of Telnyx, where Telnyx refuses it', async () => {
    rig = openRig();
    const call = rig.carrier.placeCall({ from: '+12025550198', to: NUMBERS.person, ringTimeoutMs: 30_000 });
    await rig.until(() => call.state === 'ended');
    expect(call.end?.reason).toContain('Unverified origination number +12025550198');
  });

  it('goes on over another stream where the first one breaks', async () => {
    rig = openRig();
    const { call, heard, far } = await answered();
    await rig.clock.advanceBy(500);
    far.breakSocket();
    await rig.until(() => !call.line.hasStream);
    await rig.until(() => call.line.hasStream, 2_000);
    expect([commands('streaming_start'), call.state, heard.closed]).toEqual([1, 'answered', 0]);
    const before = heard.samples.length;
    await rig.clock.advanceBy(1_000);
    expect(heard.samples.length - before).toBeGreaterThan(7_000);
    call.line.play(LOUD);
    await rig.until(() => far.facts.person.loudness > 4_000);
  });

  it('is ended where its streams break again and again', async () => {
    rig = openRig();
    const { call, far } = await answered();
    for (let times = 0; times < 10 && call.end === null; times++) {
      far.breakSocket();
      await rig.until(() => call.end !== null || (!call.line.hasStream && far.stream === null));
      await rig.until(() => call.end !== null || call.line.hasStream);
    }
    expect(call.end).toMatchObject({ cause: 'failed', by: 'network' });
    expect(commands('streaming_start')).toBe(5);
    await rig.until(() => far.isOver);
  });

  it('is over soon after the far end hangs up, webhook or not', async () => {
    rig = openRig();
    const { call, heard, far } = await answered();
    rig.telnyx.faults.lateMs = { 'call.hangup': 60_000 };
    far.end('normal_clearing', 'callee');
    await rig.until(() => call.state === 'ended', 4_000);
    expect(call.end).toMatchObject({ cause: 'hangup', by: 'remote' });
    expect(heard.closed).toBe(1);
  });

  it('is not changed by webhooks that come twice, late and in another order', async () => {
    rig = openRig();
    rig.telnyx.faults.againAfterMs = 700;
    rig.telnyx.faults.lateMs = { 'call.initiated': 3_000, 'call.answered': 5_000 };
    const states: string[] = [];
    const call = place(NUMBERS.leaver);
    call.onState((state) => states.push(state));
    await rig.until(() => call.state === 'ended');
    await rig.clock.advanceBy(10_000);
    expect(states).toEqual(['ringing', 'answered', 'ended']);
    expect(call.end).toMatchObject({ cause: 'hangup', by: 'remote', reason: 'normal_clearing (SIP 200)' });
    expect(rig.telnyx.legs.size).toBe(1);
  });

  it('that comes in is offered once, however often it is told of', async () => {
    rig = openRig();
    rig.telnyx.faults.againAfterMs = 300;
    const { call, calls, far } = await callIn({ custom_headers: [{ name: 'X-Ticket', value: '42' }] });
    call.answer();
    call.answer();
    await rig.until(() => call.state === 'answered');
    await rig.clock.advanceBy(1_000);
    expect([calls.length, commands('answer'), call.headers]).toEqual([1, 1, { 'x-ticket': '42' }]);
    far.end('normal_clearing', 'caller');
    await rig.until(() => call.state === 'ended');
    expect(call.end?.by).toBe('remote');
  });

  it('that nobody decides about is refused after a minute; that the caller gives up was hung up', async () => {
    rig = openRig();
    const first = await callIn();
    await rig.until(() => first.call.state === 'ended', 61_000);
    await rig.until(() => first.far.isOver);
    const second = await callIn();
    second.far.end('originator_cancel', 'caller');
    await rig.until(() => second.call.state === 'ended');
    expect(second.call.end).toMatchObject({ cause: 'hangup', by: 'remote' });
  });

  it('to a number that is not ours, or that nobody takes calls for, is refused', async () => {
    rig = openRig({ owned: [] });
    const far = rig.telnyx.callIn('+12025550177', OWN, CALLER);
    await rig.until(() => far.isOver);
    expect(commands('reject')).toBe(1);
  });

  it('has, with L16, its stream asked for behind its answer, at 16 kHz', async () => {
    rig = openRig({ codec: 'L16' });
    const { call, far } = await callIn();
    const heard = listen(call);
    call.answer();
    await rig.until(() => call.state === 'answered');
    await rig.clock.advanceBy(500);
    expect([commands('streaming_start'), call.line.inputRateHz]).toEqual([1, 16_000]);
    expect(Math.max(...heard.samples)).toBeGreaterThan(6_000);
    call.line.play(new Int16Array(frameSamples(16_000)).map((_, at) => (at % 16 < 8 ? 8_000 : -8_000)));
    await rig.until(() => far.facts.person.loudness > 4_000);
    expect(far.stream?.violations).toEqual([]);
    expect(call.record().codec).toBe('L16');
  });

  it('ends where the media socket cannot be opened, and says so', async () => {
    rig = openRig();
    const real = rig.carrier.admit.bind(rig.carrier);
    rig.carrier.admit = () => null;
    const call = place();
    await rig.until(() => call.state === 'ended', 20_000);
    expect(call.end?.reason).toContain('publicUrl');
    await rig.until(() => farLeg(rig, call).isOver);
    rig.carrier.admit = real;
  });

  it('tells what Telnyx takes whoever answered for', async () => {
    rig = openRig({ machineDetection: 'premium' });
    const { call } = await answered();
    await rig.until(() => call.record().machine !== undefined);
    expect(call.record().machine?.answeredBy).toBe('human_residence');
  });
});

describe('the sound of a call over Telnyx', () => {
  it('is put into order; what is missing is silence; what makes no sense is left out', async () => {
    rig = openRig();
    const { call, heard, far } = await answered();
    far.stream?.swaps.add(4);
    far.stream?.losses.add(9);
    await rig.clock.advanceBy(100);
    for (const bad of [
      '{',
      'null',
      '{"event":"later"}',
      '{"event":"media","media":{"payload":""}}',
      `{"event":"media","media":{"chunk":"0","payload":"${'A'.repeat(20_000)}"}}`,
      '{"event":"error","payload":{"code":"100004","title":"invalid_media"}}',
      '{"event":"start","stream_id":"other","start":{"call_control_id":"x","media_format":{"encoding":"PCMU","sample_rate":8000}}}',
    ]) {
      far.stream?.raw(bad);
    }
    await rig.clock.advanceBy(900);
    // A tone of a second: no jump where pieces were swapped, 20 ms of silence where one is missing.
    const tone = heard.samples.slice(heard.samples.findIndex((one) => Math.abs(one) > 100));
    const jumps = tone.slice(1, 7_600).filter((one, at) => Math.abs(one - (tone[at] ?? 0)) > 4_500).length;
    expect(jumps).toBeLessThanOrEqual(2);
    const { received, receivedLost } = call.record().packets;
    expect(receivedLost).toBe(1);
    expect(received).toBeGreaterThan(40);
    expect(call.line.counts.badMessages).toBeGreaterThanOrEqual(5);
    expect(call.state).toBe('answered');
    expect(far.stream?.violations).toEqual([]);
  });

  it('comes no faster than it is spoken, however much is sent', async () => {
    rig = openRig();
    const { call, heard, far } = await answered();
    await rig.clock.advanceBy(200);
    const payload = Buffer.alloc(160, 0xff).toString('base64');
    for (let chunk = 12; chunk < 3_000; chunk++) {
      far.stream?.raw(
        `{"event":"media","media":{"track":"inbound","chunk":"${String(chunk)}","payload":"${payload}"}}`,
      );
    }
    await rig.clock.advanceBy(100);
    expect(heard.samples.length / 8).toBeLessThan(3_600);
    expect(call.line.counts.droppedMs).toBeGreaterThan(50_000);
  });

  it('that was sent and not heard is dropped when the user interrupts', async () => {
    rig = openRig();
    const { call, far } = await answered();
    for (let frame = 0; frame < 100; frame++) call.line.play(LOUD);
    await rig.clock.advanceBy(300);
    expect(far.stream?.bufferedMs).toBeGreaterThan(1_000);
    call.line.send({ type: 'clear' });
    await rig.clock.advanceBy(50);
    expect([far.stream?.bufferedMs, far.stream?.clears]).toEqual([0, 1]);
  });
});

describe("Telnyx's door", () => {
  const hangup = (id: string) =>
    JSON.stringify({
      data: { event_type: 'call.hangup', id: 'e1', payload: { call_control_id: id, hangup_cause: 'normal_clearing' } },
    });
  const post = (body: string, headers: Record<string, string>) =>
    rig.carrier.request({ method: 'POST', path: WEBHOOK, headers, body: Buffer.from(body) });

  it('refuses what is forged, or signed for something else, or old', async () => {
    rig = openRig();
    const { call, far } = await answered();
    const body = hangup(far.facts.id);
    const nowMs = 1_795_305_600_000 + rig.clock.nowMs();
    const headers = rig.telnyx.signed(body, nowMs);
    const forged: [string, Record<string, string>][] = [
      [body, {}],
      [body, rig.telnyx.signed(`${body} `, nowMs)],
      [`${body} `, headers],
      [body, { ...headers, 'telnyx-timestamp': String(Number(headers['telnyx-timestamp']) + 1) }],
      [body, { ...headers, 'telnyx-signature-ed25519': 'AAAA' }],
      [body, rig.telnyx.signed(body, nowMs - 301_000)],
      [body, rig.telnyx.signed(body, nowMs + 302_000)],
    ];
    for (const [text, with_] of forged) expect((await post(text, with_)).status).toBe(403);
    await rig.clock.advanceBy(500);
    expect([call.state, rig.carrier.refused]).toEqual(['answered', forged.length]);
    expect((await post(body, headers)).status).toBe(200);
    await rig.until(() => call.state === 'ended');
  });

  it('gives a replayed webhook no effect', async () => {
    rig = openRig();
    const { calls } = await callIn();
    const [first] = rig.telnyx.sent;
    if (first === undefined) throw new Error('nothing was sent');
    calls[0]?.hangUp();
    await rig.clock.advanceBy(2_000);
    expect((await post(first.body, first.headers)).status).toBe(200);
    expect(calls).toHaveLength(1);
    expect((await post('{"data":{}}', rig.telnyx.signed('{"data":{}}'))).status).toBe(200);
    expect((await post('no JSON', rig.telnyx.signed('no JSON'))).status).toBe(200);
  });

  it('admits the media socket of a call that waits for it, and no other', async () => {
    rig = openRig();
    const { call } = await answered();
    const path = '/carriers/telnyx/media/t1';
    const wrong = { 'x-telnyx-streaming-auth-token': 'somebody' };
    expect(rig.carrier.admit({ path: '/carriers/telnyx/media/t9', headers: {} })).toBeNull();
    expect(rig.carrier.admit({ path: '/carriers/telnyx/media', headers: {} })).toBeNull();
    expect(rig.carrier.admit({ path, headers: {} })).toBeNull(); // has one
    farLeg(rig, call).breakSocket();
    await rig.until(() => !call.line.hasStream);
    expect(rig.carrier.admit({ path, headers: wrong })).toBeNull();
    await rig.until(() => call.line.hasStream);
    call.hangUp();
    expect(rig.carrier.admit({ path, headers: {} })).toBeNull();
    expect(rig.telnyx.sent.every(({ url }) => url === PUBLIC_URL + WEBHOOK)).toBe(true);
  });
});

describe('a number of the account with Telnyx', () => {
  it('comes to the application, and that to us, by being bought or taken into use', async () => {
    rig = openRig({ owned: [] });
    const { application, numbers } = rig.telnyx;
    Object.assign(application, { webhook_event_url: 'https://elsewhere.example.com', webhook_api_version: '1' });
    numbers.set('+12025550198', { id: '9', connectionId: '' });
    await rig.carrier.buyNumber('+12025550198', new AbortController().signal);
    expect(numbers.get('+12025550198')?.connectionId).toBe(CONNECTION_ID);
    expect(application).toEqual({
      ...{ application_name: 'agents', webhook_event_url: PUBLIC_URL + WEBHOOK, webhook_api_version: '2' },
    });
    const lost = openRig({ connectionId: '7' });
    await expect(lost.carrier.buyNumber('+14155550101', new AbortController().signal)).rejects.toMatchObject({
      code: 'CARRIER_REFUSED',
    });
    await lost.dispose();
  });
});

describe('a transfer over Telnyx', () => {
  it('tells why it came to nothing, and the caller is back', async () => {
    rig = openRig();
    const { call, heard } = await answered();
    for (const [who, reason] of [
      [NUMBERS.rejecting, 'rejected'],
      [NUMBERS.absent, 'no-answer'],
      [NUMBERS.nobody, 'failed'],
    ] as const) {
      let outcome: unknown;
      void call.line.transfer(who, new AbortController().signal).then((one) => (outcome = one));
      await rig.until(() => outcome !== undefined);
      expect(outcome).toEqual({ ok: false, reason });
    }
    const before = heard.samples.length;
    await rig.clock.advanceBy(500);
    expect(heard.samples.length - before).toBeGreaterThan(3_500);
  });

  it('lets the target go where it is given up, known or not', async () => {
    rig = openRig();
    const { call } = await answered();
    for (const afterMs of [10, 1_000]) {
      const controller = new AbortController();
      let outcome: unknown;
      void call.line.transfer(NUMBERS.absent, controller.signal).then((one) => (outcome = one));
      await rig.clock.advanceBy(afterMs);
      controller.abort();
      await rig.until(() => outcome !== undefined);
      expect(outcome).toEqual({ ok: false, reason: 'failed' });
      await rig.until(() => [...rig.telnyx.legs.values()].filter(({ isOver }) => !isOver).length === 1, 5_000);
    }
    expect(call.state).toBe('answered');
  });

  it('has its outcome before the line closes where the caller hangs up meanwhile', async () => {
    rig = openRig();
    const { call, heard, far } = await answered();
    const order: string[] = [];
    void call.line.transfer(NUMBERS.absent, new AbortController().signal).then(() => order.push('outcome'));
    call.onState((state) => order.push(state));
    await rig.clock.advanceBy(1_000);
    far.end('normal_clearing', 'callee');
    await rig.until(() => call.state === 'ended');
    expect([order, heard.closed]).toEqual([['outcome', 'ended'], 1]);
    await rig.until(() => [...rig.telnyx.legs.values()].every(({ isOver }) => isOver));
  });

  it('succeeds where its answer is told of late, or only by the end of it', async () => {
    rig = openRig();
    const { call, far } = await answered();
    rig.telnyx.faults.lateMs = { 'call.answered': 9_000, 'call.bridged': 9_000 };
    let outcome: unknown;
    void call.line.transfer(NUMBERS.leaver, new AbortController().signal).then((one) => (outcome = one));
    await rig.until(() => outcome !== undefined, 8_000);
    expect(outcome).toEqual({ ok: true });
    void call.line.close();
    await rig.until(() => call.state === 'ended' && far.isOver);
    expect(call.end?.cause).toBe('transferred');
  });
});
