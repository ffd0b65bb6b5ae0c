import { afterEach, describe, expect, it } from 'vitest';
import type { CarrierCall } from '../../../../src/telephony/carriers/carrier.js';
import { CONNECTION_ID } from '../../../vendors/carriers/telnyx/double.js';
import { describeFaults } from '../socket-faults.js';
import { CALLER, listen, loud, NUMBERS, OWN, PUBLIC_URL, STRANGER } from '../socket-rig.js';
import { EPOCH_MS, openRig, WEBHOOK } from './support.js';

describeFaults('Telnyx', {
  open: ({ detects = false, ...more } = {}) => openRig({ machineDetection: detects ? 'premium' : null, ...more }),
  kinds: { answered: 'call.answered', over: 'call.hangup' },
  refusedFrom: /Unverified origination number \+12025550198/,
  sound: (payload) => JSON.stringify({ event: 'media', media: { track: 'inbound', payload } }),
  saysStop: true,
  nonsense: [
    '{"event":"media"}',
    '{"event":"media","media":{"payload":7}}',
    '{"event":"start"}',
    '{"event":"dtmf","dtmf":{"digit":"x"}}',
    '{"event":"error","payload":{"code":"100004","title":"invalid_media"}}',
  ],
});

type Rig = ReturnType<typeof openRig>;

let rig: Rig;

async function callIn(headers = {}) {
  const calls: CarrierCall[] = [];
  rig.carrier.receiveCalls((call) => calls.push(call));
  const far = rig.telnyx.callIn(STRANGER, OWN, CALLER, headers);
  await rig.until(() => calls.length > 0);
  const [call] = calls;
  if (call === undefined) throw new Error('no call has come');
  return { call, far, calls };
}

const commands = (name: string) => rig.telnyx.requests.filter((one) => one.endsWith(`/actions/${name}`)).length;

describe('a call over Telnyx', () => {
  afterEach(() => rig.dispose());

  it('is placed all the same where the request was lost on its way', async () => {
    rig = openRig();
    rig.telnyx.faults.lostRequests = 1;
    await rig.answered();
    expect(rig.telnyx.legs.size).toBe(1);
  });

  it('is ended where its streams break again and again', async () => {
    rig = openRig();
    const { call, far } = await rig.answered();
    for (let times = 0; times < 10 && call.end === null; times++) {
      far.breakSocket();
      await rig.until(() => call.end !== null || (!call.line.hasStream && far.stream === null));
      await rig.until(() => call.end !== null || call.line.hasStream);
    }
    expect(call.end).toMatchObject({ cause: 'failed', by: 'network' });
    expect(commands('streaming_start')).toBe(5);
    await rig.until(() => far.isOver);
  });

  it('that is inbound is offered once, however often it is reported', async () => {
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

  it('that is not decided is refused after a minute; one that the caller gives up is hung up', async () => {
    rig = openRig();
    const first = await callIn();
    await rig.until(() => first.call.state === 'ended', 61_000);
    await rig.until(() => first.far.isOver);
    const second = await callIn();
    second.far.end('originator_cancel', 'caller');
    await rig.until(() => second.call.state === 'ended');
    expect(second.call.end).toMatchObject({ cause: 'hangup', by: 'remote' });
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
    call.line.play(loud(16_000));
    await rig.until(() => far.person.loudness > 4_000);
    expect(far.stream?.violations).toEqual([]);
    expect(call.record().codec).toBe('L16');
  });
});

describe('the sound of a call over Telnyx', () => {
  afterEach(() => rig.dispose());

  it('is put into order; what is missing is silence; what makes no sense is left out', async () => {
    rig = openRig();
    const { call, heard, far } = await rig.answered();
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
});

describe("Telnyx's endpoint", () => {
  afterEach(() => rig.dispose());

  const hangup = (id: string) =>
    JSON.stringify({
      data: { event_type: 'call.hangup', id: 'e1', payload: { call_control_id: id, hangup_cause: 'normal_clearing' } },
    });
  const post = (body: string, headers: Record<string, string>) =>
    rig.carrier.request({ method: 'POST', path: WEBHOOK, headers, body: Buffer.from(body) });

  it('refuses what is forged, or signed for something else, or old', async () => {
    rig = openRig();
    const { call, far } = await rig.answered();
    const body = hangup(far.id);
    const nowMs = EPOCH_MS + rig.clock.nowMs();
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
    expect(rig.refusals).toEqual(forged.map(() => 'signature'));
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
    const { call } = await rig.answered();
    const path = '/carriers/telnyx/media/t1';
    const wrong = { 'x-telnyx-streaming-auth-token': 'somebody' };
    expect(rig.carrier.admit({ path: '/carriers/telnyx/media/t9', headers: {} })).toBeNull();
    expect(rig.carrier.admit({ path: '/carriers/telnyx/media', headers: {} })).toBeNull();
    expect(rig.carrier.admit({ path, headers: {} })).toBeNull(); // has one
    rig.farCall(call).breakSocket();
    await rig.until(() => !call.line.hasStream);
    expect(rig.carrier.admit({ path, headers: wrong })).toBeNull();
    await rig.until(() => call.line.hasStream);
    call.hangUp();
    expect(rig.carrier.admit({ path, headers: {} })).toBeNull();
    expect(rig.telnyx.sent.every(({ url }) => url === PUBLIC_URL + WEBHOOK)).toBe(true);
  });
});

describe('a number of the account with Telnyx', () => {
  afterEach(() => rig.dispose());

  it('comes to the application, and that to us, by being bought or taken into use', async () => {
    rig = openRig({ owned: [] });
    const { application, numbers } = rig.telnyx;
    Object.assign(application, { webhook_event_url: 'https://other.example.com', webhook_api_version: '1' });
    numbers.set('+12025550198', { id: '9', connectionId: '' });
    await rig.carrier.buyNumber('+12025550198', new AbortController().signal);
    expect(numbers.get('+12025550198')?.connectionId).toBe(CONNECTION_ID);
    expect(application).toEqual({
      application_name: 'agents',
      webhook_event_url: PUBLIC_URL + WEBHOOK,
      webhook_api_version: '2',
    });
    const lost = openRig({ connectionId: '7' });
    await expect(lost.carrier.buyNumber('+14155550101', new AbortController().signal)).rejects.toMatchObject({
      code: 'CARRIER_REFUSED',
    });
    await lost.dispose();
  });

  it('is found among thousands that contain its digits', async () => {
    rig = openRig({ owned: ['+498912345'] });
    const { numbers } = rig.telnyx;
    const others = Array.from({ length: 3_000 }, (_, at) => `+4989123${String(at).padStart(4, '0')}`);
    for (const number of [...others, '+4989123456']) numbers.set(number, { id: 'other', connectionId: '' });
    numbers.set('+498912345', { id: 'own', connectionId: CONNECTION_ID });
    await rig.carrier.releaseNumber('+498912345', new AbortController().signal);
    expect([numbers.has('+498912345'), numbers.size]).toEqual([false, 3_000 + 2]);
  });

  it('that cannot be bought is not, and what is wrong with the account is said in the words of Telnyx', async () => {
    rig = openRig();
    const { signal } = new AbortController();
    const refusal = (status: number, title: string) => ({ status, body: { errors: [{ code: '1', title }] } });
    rig.telnyx.faults.answers = [null, null, refusal(400, 'Number not available')];
    await expect(rig.carrier.buyNumber('+14155550101', signal)).rejects.toMatchObject({ code: 'NUMBER_UNAVAILABLE' });
    rig.telnyx.faults.answers = [null, null, refusal(403, 'Account is blocked')];
    await expect(rig.carrier.buyNumber('+14155550101', signal)).rejects.toMatchObject({
      code: 'CARRIER_REFUSED',
      message: expect.stringContaining('Account is blocked') as string,
    });
  });
});

describe('a transfer over Telnyx', () => {
  afterEach(() => rig.dispose());

  it('tells why it came to nothing, and the caller is back', async () => {
    rig = openRig();
    const { call, heard } = await rig.answered();
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
    const { call } = await rig.answered();
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

  it('succeeds if its answer is reported late, or only its end', async () => {
    rig = openRig();
    const { call, far } = await rig.answered();
    rig.telnyx.faults.lateMs = { 'call.answered': 9_000, 'call.bridged': 9_000 };
    let outcome: unknown;
    void call.line.transfer(NUMBERS.leaver, new AbortController().signal).then((one) => (outcome = one));
    await rig.until(() => outcome !== undefined, 8_000);
    expect(outcome).toEqual({ ok: true });
    void call.line.close();
    await rig.until(() => call.state === 'ended' && far.isOver);
    expect(call.end?.cause).toBe('transferred');
  });

  const lastLeg = () => [...rig.telnyx.legs.values()].at(-1);

  it.each(['before', 'after'])(
    'leaves the caller with the agent where it is given up just %s the answer',
    async (when) => {
      rig = openRig();
      const { call, far, heard } = await rig.answered();
      const controller = new AbortController();
      let outcome: unknown;
      void call.line.transfer(NUMBERS.person, controller.signal).then((one) => (outcome = one));
      if (when === 'after') await rig.until(() => far.bridged !== null);
      else await rig.clock.advanceBy(670);
      expect(lastLeg()?.state).toBe(when === 'after' ? 'answered' : 'dialing');
      controller.abort();
      await rig.until(() => outcome !== undefined);
      expect(outcome).toEqual({ ok: false, reason: 'failed' });
      await rig.until(() => lastLeg()?.isOver === true, 1_000);
      const before = heard.samples.length;
      await rig.clock.advanceBy(2_000);
      expect([call.state, far.isOver, call.line.hasStream]).toEqual(['answered', false, true]);
      expect(heard.samples.length - before).toBeGreaterThan(15_000);
    },
  );

  it('that was given up is not taken for the next one where its word comes late', async () => {
    rig = openRig();
    const { call, far } = await rig.answered();
    rig.telnyx.faults.lateMs = { 'call.bridged': 3_000 };
    const controller = new AbortController();
    void call.line.transfer(NUMBERS.leaver, controller.signal);
    await rig.until(() => far.bridged !== null);
    controller.abort();
    await rig.clock.advanceBy(1_000);
    let outcome: unknown;
    void call.line.transfer(NUMBERS.absent, new AbortController().signal).then((one) => (outcome = one));
    await rig.clock.advanceBy(6_000);
    expect([outcome, call.state]).toEqual([undefined, 'answered']);
  });

  it('leaves no caller alone whose target has gone, were it hours later', async () => {
    rig = openRig();
    const { call, far } = await rig.answered();
    let outcome: unknown;
    void call.line.transfer(NUMBERS.person, new AbortController().signal).then((one) => (outcome = one));
    await rig.until(() => outcome !== undefined);
    void call.line.close();
    await rig.clock.advanceBy(900_000);
    const target = lastLeg();
    const next = await rig.answered(NUMBERS.leaver); // by now the first call is forgotten
    expect([outcome, call.end?.cause, far.isOver]).toEqual([{ ok: true }, 'transferred', false]);
    target?.hangUp();
    await rig.until(() => far.isOver, 1_000);
    expect(next.call.state).toBe('answered');
  });
});
