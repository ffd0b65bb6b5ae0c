import { afterEach, describe, expect, it } from 'vitest';
import type { CarrierCall } from '../../../src/carriers/carrier.js';
import { twilioSignature } from '../../../src/carriers/twilio/signature.js';
import { frameSamples } from '../../../src/audio/frame.js';
import type { TransportSink } from '../../../src/transports/transport.js';
import { ACCOUNT_SID } from '../../vendors/carriers/twilio/double.js';
import { AUTH_TOKEN, CALLER, farCall, NUMBERS, openRig, OWN, PUBLIC_URL } from './support.js';

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
  return { call, heard, far: farCall(rig, call) };
}

function listen(call: CarrierCall) {
  const heard = { samples: 0, digits: '', closed: 0 };
  const sink: TransportSink = {
    audio: (samples) => (heard.samples += samples.length),
    digits: (digits) => (heard.digits += digits),
    text: () => undefined,
    formResult: () => undefined,
    closed: () => heard.closed++,
  };
  call.line.start(sink);
  return heard;
}

function post(what: string, fields: Record<string, string>, signature?: string) {
  const form = new URLSearchParams({ AccountSid: ACCOUNT_SID, ...fields });
  const path = `/carriers/twilio/${what}`;
  const signed = signature ?? twilioSignature(AUTH_TOKEN, `${PUBLIC_URL}${path}`, form);
  return rig.carrier.request({
    ...{ method: 'POST', path, headers: { 'x-twilio-signature': signed } },
    body: Buffer.from(form.toString()),
  });
}

describe('a call over Twilio', () => {
  it('is not placed twice where the answer to its request never comes, and goes on', async () => {
    rig = openRig();
    rig.twilio.faults.swallowedAnswers = 1;
    const { call, far } = await answered();
    await rig.clock.advanceBy(40_000);
    expect(rig.twilio.requests.filter((one) => one === 'POST /Calls.json')).toHaveLength(1);
    expect(call.state).toBe('answered');
    expect(call.record().networkCallId).toBe(far.facts.sid);
    call.hangUp();
    await rig.until(() => far.status === 'completed');
  });

  it('is ended at Twilio where it was given up before anybody knew of it', async () => {
    rig = openRig();
    rig.twilio.faults.swallowedAnswers = 1;
    const call = place(NUMBERS.absent);
    call.hangUp();
    expect(call.end?.cause).toBe('canceled');
    await rig.until(() => farCall(rig, call).status === 'canceled');
  });

  it('has failed where Twilio neither answers nor tells of it, after 20 s at most beyond the deadline', async () => {
    rig = openRig({
      rest: (_request, signal) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    });
    const call = place();
    await rig.until(() => call.state === 'ended', 35_000);
    expect(call.end).toMatchObject({ cause: 'failed', by: 'network' });
  });

  it('waits its turn where Twilio has too many', async () => {
    rig = openRig();
    rig.twilio.faults.tooMany = 2;
    await answered();
  });

  it('has failed, in the words of Twilio, where Twilio refuses it', async () => {
    rig = openRig();
    const call = rig.carrier.placeCall({ from: '+12025550198', to: NUMBERS.person, ringTimeoutMs: 30_000 });
    await rig.until(() => call.state === 'ended');
    expect(call.end?.reason).toContain('+12025550198 is not a number of yours');
  });

  it('goes on over another socket where the first one breaks', async () => {
    rig = openRig();
    const { call, heard, far } = await answered();
    await rig.clock.advanceBy(500);
    far.breakSocket();
    await rig.until(() => !call.line.hasStream);
    expect(call.state).toBe('answered');
    await rig.until(() => call.line.hasStream, 8_000);
    const before = heard.samples;
    await rig.clock.advanceBy(1_000);
    expect(heard.samples - before).toBeGreaterThan(7_000);
    call.line.play(LOUD);
    await rig.until(() => far.facts.person.loudness > 4_000);
    expect(call.line.counts.streams).toBe(2);
    expect(heard.closed).toBe(0);
  });

  it('is over soon after the far end hangs up, webhook or not', async () => {
    rig = openRig();
    const { call, heard, far } = await answered();
    rig.twilio.faults.lateMs = { completed: 60_000 };
    far.enter('completed');
    await rig.until(() => call.state === 'ended', 3_000);
    expect(call.end).toMatchObject({ cause: 'hangup', by: 'remote' });
    expect(heard.closed).toBe(1);
  });

  it('minds no webhook that comes twice, late, or after its end', async () => {
    rig = openRig();
    rig.twilio.faults.againAfterMs = 700;
    const states: string[] = [];
    const call = place();
    call.onState((state) => states.push(state));
    await rig.until(() => call.state === 'answered');
    await rig.clock.advanceBy(2_000);
    call.hangUp();
    await rig.clock.advanceBy(5_000);
    expect(states).toEqual(['ringing', 'answered', 'ended']);
    expect(rig.twilio.calls.size).toBe(1);
  });

  it('that comes in twice is one call', async () => {
    rig = openRig();
    rig.twilio.faults.againAfterMs = 300;
    const calls: CarrierCall[] = [];
    rig.carrier.receiveCalls((call) => {
      calls.push(call);
      call.answer();
    });
    const far = rig.twilio.callIn('+12025550177', OWN, CALLER);
    await rig.until(() => calls[0]?.state === 'answered');
    await rig.clock.advanceBy(2_000);
    expect(calls).toHaveLength(1);
    expect(far.errors).toEqual([]);
  });

  it('is ended at Twilio though Twilio does not hear of it at first', async () => {
    rig = openRig();
    const { call, far } = await answered();
    rig.twilio.faults.tooMany = 6;
    call.hangUp();
    await rig.until(() => far.isOver, 60_000);
  });

  it('has failed where the answer comes and the media socket does not', async () => {
    rig = openRig();
    const open = rig.carrier.admit.bind(rig.carrier);
    rig.carrier.admit = () => null;
    const call = place();
    await rig.until(() => call.state === 'ended', 60_000);
    expect(call.end).toMatchObject({ cause: 'failed', reason: expect.stringContaining('publicUrl') as unknown });
    expect(call.record().answeredMs).toBeNull();
    rig.carrier.admit = open;
  });

  it('tells what Twilio takes whoever answered for', async () => {
    rig = openRig({ machineDetection: 'Enable' });
    const { call } = await answered();
    await rig.until(() => call.record().machine !== undefined);
    expect(call.record().machine).toMatchObject({ answeredBy: 'human' });
  });

  it('gives keys that Twilio cannot press back as an error, and goes on', async () => {
    rig = openRig();
    const { call } = await answered();
    const signal = new AbortController().signal;
    await expect(call.line.sendDigits('12A', signal)).rejects.toMatchObject({ code: 'KEYS_UNSUPPORTED' });
    expect(call.line.hasStream).toBe(true);
  });

  it('comes back to the agent where a transfer is given up', async () => {
    rig = openRig();
    const { call, far } = await answered();
    const controller = new AbortController();
    let outcome: unknown;
    void call.line.transfer(NUMBERS.absent, controller.signal).then((result) => (outcome = result));
    await rig.until(() => !call.line.hasStream);
    await rig.clock.advanceBy(3_000);
    controller.abort();
    await rig.until(() => outcome !== undefined);
    expect(outcome).toEqual({ ok: false, reason: 'failed' });
    expect(call.line.hasStream).toBe(true);
    expect(far.status).toBe('in-progress');
  });

  it('stays where it is when Twilio does not take a transfer', async () => {
    rig = openRig();
    const { call, far } = await answered();
    rig.twilio.faults.tooMany = 5;
    let outcome: unknown;
    void call.line.transfer(NUMBERS.busy, new AbortController().signal).then((result) => (outcome = result));
    await rig.until(() => outcome !== undefined);
    expect(outcome).toEqual({ ok: false, reason: 'failed' });
    expect(far.stream).not.toBeNull();
    expect(call.line.hasStream).toBe(true);
  });
});

describe('what is sent to a carrier of Twilio', () => {
  it('is refused where it is not signed, and counted', async () => {
    rig = openRig();
    const { call } = await answered();
    const far = farCall(rig, call);
    const fields = { CallSid: far.facts.sid, CallStatus: 'completed' };
    const forged = await post('status/t1', fields, 'bm90IHR3aWxpbw==');
    expect(forged.status).toBe(403);
    const otherAccount = { ...fields, AccountSid: `AC${'f'.repeat(32)}` };
    expect((await post('status/t1', otherAccount)).status).toBe(403);
    expect(rig.carrier.admit({ path: '/carriers/twilio/media/t1', headers: {} })).toBeNull();
    expect(rig.carrier.refused).toBe(3);
    expect(call.state).toBe('answered');
  });

  it('is of no effect where it was signed for another call', async () => {
    rig = openRig();
    const { call } = await answered();
    await post('status/t1', { CallSid: `CA${'e'.repeat(32)}`, CallStatus: 'completed' });
    await post('status/t99', { CallSid: farCall(rig, call).facts.sid, CallStatus: 'completed' });
    await rig.clock.advanceBy(100);
    expect(call.state).toBe('answered');
  });

  it('opens no second stream for a call, and none when it is over', async () => {
    rig = openRig();
    const { call } = await answered();
    const path = '/carriers/twilio/media/t1';
    const url = `${PUBLIC_URL}${path}`.replace('http', 'ws');
    const headers = { 'x-twilio-signature': twilioSignature(AUTH_TOKEN, url, new URLSearchParams()) };
    expect(rig.carrier.admit({ path, headers })).toBeNull();
    call.hangUp();
    expect(rig.carrier.admit({ path, headers })).toBeNull();
    expect((await post('next/t1', { CallSid: farCall(rig, call).facts.sid })).body).toContain('<Hangup/>');
  });

  it('may be nonsense, which is counted and named, and the call goes on', async () => {
    rig = openRig();
    const { call, heard, far } = await answered();
    const before = heard.samples;
    for (const text of [
      ...[
        '',
        'no json',
        '[]',
        'null',
        '{}',
        '{"event":"dance"}',
        '{"event":"media"}',
        '{"event":"media","media":{"payload":7}}',
      ],
      ...['{"event":"media","media":{"payload":""}}', '{"event":"dtmf","dtmf":{"digit":"x"}}', '{"event":"start"}'],
      '{"event":"mark","mark":{"name":"p0"}}',
      JSON.stringify({ event: 'media', media: { track: 'inbound', timestamp: '1', payload: 'A'.repeat(100_000) } }),
    ]) {
      far.stream?.raw(text);
    }
    await rig.clock.advanceBy(500);
    expect(call.state).toBe('answered');
    expect(call.line.counts.badMessages).toBe(12);
    expect(rig.errors.every((error) => /CARRIER_MESSAGE_BAD/.test((error as { code: string }).code))).toBe(true);
    expect(heard.samples - before).toBeGreaterThan(3_000);
  });

  it('may be a flood, which is dropped beyond 3 s', async () => {
    rig = openRig();
    const { call, heard, far } = await answered();
    const second = Buffer.alloc(8_000, 0x7f).toString('base64');
    for (let at = 0; at < 100; at++) {
      far.stream?.raw(JSON.stringify({ event: 'media', media: { track: 'inbound', payload: second } }));
    }
    await rig.clock.advanceBy(100);
    expect(heard.samples).toBeLessThan(8_000 * 5);
    expect(call.line.counts.droppedMs).toBeGreaterThan(95_000);
    expect(call.state).toBe('answered');
  });
});
