import { afterEach, describe, expect, it } from 'vitest';
import { plivoSignature } from '../../../../src/telephony/carriers/plivo/carrier.js';
import { describeFaults } from '../socket-faults.js';
import { NUMBERS, OWN, PUBLIC_URL, STRANGER } from '../socket-rig.js';
import { AUTH_TOKEN, openRig } from './support.js';

describeFaults('Plivo', {
  open: ({ detects = false, ...more } = {}) => openRig({ detectsMachines: detects, ...more }),
  kinds: { answered: 'ring', over: 'hangup' },
  refusedFrom: /12025550198 is not a number of this account/,
  sound: (payload) => JSON.stringify({ event: 'media', media: { track: 'inbound', payload } }),
  nonsense: [
    '{"event":"media"}',
    '{"event":"media","media":{"payload":7}}',
    '{"event":"start"}',
    '{"event":"playedStream"}',
    '{"event":"dtmf","dtmf":{"digit":"x"}}',
    '{"event":"playFailed","reason":"too long"}',
  ],
});

const NONCE = '05429567804466091622';
const NEVER = new AbortController().signal;
const NONE = new URLSearchParams();

type Rig = ReturnType<typeof openRig>;
let rig: Rig;

function signed(method: 'GET' | 'POST', url: string, form = NONE): Record<string, string> {
  return {
    'x-plivo-signature-v3': plivoSignature(AUTH_TOKEN, { method, url, form }, NONCE),
    'x-plivo-signature-v3-nonce': NONCE,
  };
}

function post(what: string, fields: Record<string, string>, headers?: Record<string, string>) {
  const form = new URLSearchParams(fields);
  const path = `/carriers/plivo/${what}`;
  return rig.carrier.request({
    method: 'POST',
    path,
    headers: headers ?? signed('POST', `${PUBLIC_URL}${path}`, form),
    body: Buffer.from(form.toString()),
  });
}

describe('a call over Plivo', () => {
  afterEach(async () => {
    await rig.dispose();
    const wrong = rig.plivo.farCalls().flatMap(({ errors, stream }) => [...errors, ...(stream?.violations ?? [])]);
    expect([...rig.plivo.violations, ...wrong]).toEqual([]);
  });

  it('presses keys with their pauses, and gives back those that Plivo cannot press', async () => {
    rig = openRig();
    const { call, far } = await rig.answered();
    await expect(call.line.sendDigits('12A', NEVER)).rejects.toMatchObject({ code: 'KEYS_UNSUPPORTED' });
    const startMs = rig.clock.nowMs();
    let isSent = false;
    void call.line.sendDigits('1ww2#', NEVER).then(() => (isSent = true));
    await rig.until(() => isSent);
    expect(far.person.keys).toBe('12#');
    expect(rig.clock.nowMs() - startMs).toBeGreaterThanOrEqual(1_500);
  });

  it.each([
    ['by the id of its request, where that is the call’s', true, []],
    ['as a request, where the call has an id of its own', false, ['DELETE /Request/']],
  ])('that is given up before Plivo tells of it is taken back %s', async (_how, callsAreNamedByRequests, more) => {
    rig = openRig({}, { callsAreNamedByRequests });
    const call = rig.place(NUMBERS.absent);
    await rig.clock.advanceBy(50);
    call.hangUp();
    await rig.until(() => rig.farCall(call).isOver, 100);
    const deleted = rig.plivo.requests.filter((one) => one.startsWith('DELETE'));
    expect(deleted.map((one) => one.replace(/[0-9a-f-]{36}\/$/, ''))).toEqual(['DELETE /Call/', ...more]);
  });

  it('has one target, whatever is written into its address', async () => {
    rig = openRig();
    for (const to of ['sip:a<12025550101@phone.plivo.com', '12025550101<12025550102']) {
      expect(() => rig.place(to)).toThrow(expect.objectContaining({ code: 'NUMBER_INVALID' }) as Error);
    }
    const { call } = await rig.answered();
    const asked = rig.plivo.requests.length;
    expect(await call.line.transfer('12025550101<12025550102', NEVER)).toEqual({ ok: false, reason: 'failed' });
    expect(rig.plivo.requests.length).toBe(asked);
  });

  it('has its headers, as far as Plivo takes them, and those of its caller', async () => {
    rig = openRig();
    const headers = { 'X-PH-Order': 'A17', 'X-PH-Name': 'Zoë', 'X-Order': 'A17' };
    const call = rig.carrier.placeCall({ from: OWN, to: NUMBERS.busy, ringTimeoutMs: 30_000, headers });
    await rig.until(() => call.state === 'ended');
    let brought: Readonly<Record<string, string>> = {};
    rig.carrier.receiveCalls((one) => {
      brought = one.headers;
      one.hangUp();
    });
    const more = { 'X-PH-Order': 'A18', ForwardedFrom: '12025550166', 'SIP-H-To': 'somebody' };
    const far = rig.plivo.callIn(STRANGER, OWN, { does: 'answer' }, more);
    await rig.until(() => far.isOver);
    expect(brought).toEqual({ 'x-ph-order': 'A18', diversion: '12025550166' });
    expect(far.cause?.name).toBe('Busy Line');
  });
});

describe('a transfer over Plivo whose request is never answered', () => {
  afterEach(() => rig.dispose());

  it('is what became of it, where Plivo has done as it was asked', async () => {
    for (const [target, expected] of [
      [NUMBERS.person, { ok: true }],
      [NUMBERS.absent, { ok: false, reason: 'no-answer' }],
    ] as const) {
      rig = openRig({}, { leavesStreams: true });
      const { call, far } = await rig.answered();
      rig.plivo.faults.answers = ['swallowed'];
      let outcome: { ok: boolean } | null = null;
      void call.line.transfer(target, NEVER).then((one) => (outcome = one));
      await rig.until(() => outcome !== null);
      expect(outcome).toEqual(expected);
      await rig.clock.advanceBy(12_000);
      const live = rig.plivo.farCalls().filter(({ isOver }) => !isOver).length;
      expect([far.isOver, live, call.line.hasStream]).toEqual([false, expected.ok ? 2 : 1, !expected.ok]);
      await rig.dispose();
    }
    rig = openRig();
  });

  it('is not begun once it has failed, however late Plivo comes for it', async () => {
    rig = openRig({}, { leavesStreams: true });
    const { call, far } = await rig.answered();
    rig.plivo.faults.answers = ['swallowed'];
    rig.plivo.faults.lateMs = { go: 12_000 };
    let outcome: unknown = null;
    void call.line.transfer(NUMBERS.absent, NEVER).then((one) => (outcome = one));
    await rig.until(() => outcome !== null);
    expect(outcome).toEqual({ ok: false, reason: 'failed' });
    await rig.clock.advanceBy(20_000);
    expect([call.state, call.line.hasStream, far.isOver]).toEqual(['answered', true, false]);
    expect(rig.plivo.farCalls()).toHaveLength(1);
  });

  it('to a party that the agent has called keeps all parties', async () => {
    rig = openRig({}, { leavesStreams: true });
    const asking = await rig.answered();
    const asked = await rig.calledIn();
    asked.call.answer();
    await rig.until(() => asked.call.state === 'answered');
    rig.plivo.faults.answers = [null, 'swallowed'];
    let outcome: unknown = null;
    void asking.call.connectTo(asked.call, NEVER).then((one) => (outcome = one));
    await rig.until(() => outcome !== null);
    await rig.clock.advanceBy(12_000);
    expect([outcome, asking.far.isOver, asked.far.isOver]).toEqual([{ ok: true }, false, false]);
    const rooms = [asking, asked].map(({ far }) => rig.plivo.calls.get(far.id)?.room);
    expect(rooms).toEqual([rooms[0], rooms[0]]);
    expect(rooms[0]).toMatch(/^parley-/);
  });
});

describe('what is sent to a carrier of Plivo', () => {
  afterEach(() => rig.dispose());

  it('is refused where it is not signed, and counted', async () => {
    rig = openRig();
    const { call, far } = await rig.answered();
    const fields = { CallUUID: far.id, CallStatus: 'completed', HangupCauseCode: '4000' };
    const { 'x-plivo-signature-v3': right = '' } = signed('POST', `${PUBLIC_URL}/carriers/plivo/hangup/t1`, NONE);
    const forged: Record<string, string>[] = [
      {},
      { 'x-plivo-signature-v3': 'bm90IHBsaXZv', 'x-plivo-signature-v3-nonce': NONCE },
      { 'x-plivo-signature-v3': right, 'x-plivo-signature-v3-nonce': NONCE }, // of other fields
      { 'x-plivo-signature-v2': right, 'x-plivo-signature-v2-nonce': NONCE },
    ];
    for (const headers of forged) expect((await post('hangup/t1', fields, headers)).status).toBe(403);
    expect(rig.carrier.admit({ path: '/carriers/plivo/media/t1', headers: {} })).toBeNull();
    expect(rig.carrier.refused).toBe(5);
    expect(rig.refusals).toEqual(Array(5).fill('signature'));
    expect((await post('nothing/t1', fields)).status).toBe(404);
    await rig.clock.advanceBy(100);
    expect(call.state).toBe('answered');
  });

  it('is of no effect where it was signed for another call, or comes again', async () => {
    rig = openRig();
    const { call, far } = await rig.answered();
    const other = { CallUUID: rig.plivo.uuid(), CallStatus: 'completed' };
    await post('hangup/t1', other);
    expect((await post('answer/t1', other)).body).toContain('<Hangup/>');
    await post('hangup/t99', { CallUUID: far.id, CallStatus: 'completed' });
    await post('ring/t1', { CallUUID: far.id, CallStatus: 'ringing' });
    await post('answer/t1', { CallUUID: far.id, CallStatus: 'in-progress' });
    await rig.clock.advanceBy(30_000);
    expect(call.state).toBe('answered');
    call.hangUp();
    await rig.until(() => far.isOver);
    for (const what of ['answer/t1', 'next/t1', 'go/t1/1', 'dialled/t1/1']) {
      expect((await post(what, { CallUUID: far.id })).body).toContain('<Hangup/>');
    }
    expect(rig.plivo.farCalls()).toHaveLength(1);
  });

  it('is answered as before where it is repeated, and offers no call anew', async () => {
    rig = openRig();
    const { call, calls, far } = await rig.calledIn();
    const fields = { CallUUID: far.id, From: STRANGER.slice(1), To: OWN.slice(1), CallStatus: 'ringing' };
    const first = post('answer', fields);
    call.answer();
    await rig.until(() => call.state === 'answered');
    const { body } = await first;
    expect(body).toContain('<Stream ');
    far.hangUp();
    await rig.until(() => call.state === 'ended');
    // So long that the call itself is forgotten.
    await rig.clock.advanceBy(1_200_000);
    rig.place(NUMBERS.busy);
    expect((await post('answer', fields)).body).toBe(body);
    expect(calls).toHaveLength(1);
  });

  it('opens no second stream for a call, and none when it is over', async () => {
    rig = openRig();
    const { call } = await rig.answered();
    const path = '/carriers/plivo/media/t1';
    const headers = signed('GET', `${PUBLIC_URL}${path}`.replace('http', 'ws'));
    expect(rig.carrier.admit({ path, headers })).toBeNull();
    call.hangUp();
    expect(rig.carrier.admit({ path, headers })).toBeNull();
    expect(rig.carrier.refused).toBe(0);
  });

  it('may be the media socket of a call whose own has broken, once more', async () => {
    rig = openRig();
    const { call, far, heard } = await rig.answered();
    rig.plivo.faults.lateMs = { redirect: 60_000 };
    far.breakSocket();
    await rig.until(() => !call.line.hasStream);
    const socket = await rig.plivo.open(`${PUBLIC_URL.replace('http', 'ws')}/carriers/plivo/media/t1`);
    const tell = (message: object): void => socket?.send(JSON.stringify(message));
    const mediaFormat = { encoding: 'audio/x-mulaw', sampleRate: 8_000 };
    tell({ event: 'start', start: { callId: far.id, streamId: rig.plivo.uuid(), mediaFormat } });
    await rig.until(() => call.line.hasStream, 100);
    const before = heard.samples.length;
    tell({ event: 'media', media: { track: 'inbound', chunk: 900, payload: Buffer.alloc(160).toString('base64') } });
    await rig.clock.advanceBy(5_000);
    expect([call.state, heard.samples.length - before, call.line.counts.streams]).toEqual(['answered', 160, 2]);
  });

  it.each(['http', 'https', 'wss'] as const)('may be a media socket that is signed as %s', async (signsSocketsAs) => {
    rig = openRig({}, { signsSocketsAs });
    const { call } = await rig.answered();
    expect(call.line.hasStream).toBe(true);
  });
});

describe('numbers of an account with Plivo', () => {
  afterEach(() => rig.dispose());

  it('come to an application of our own, which is made once and kept up to date', async () => {
    rig = openRig();
    const { carrier, plivo } = rig;
    const offers = await carrier.searchNumbers({ country: 'us', areaCode: '202', limit: 30 }, NEVER);
    expect(offers).toHaveLength(20);
    expect(offers[0]).toEqual({ number: '+12025550100', country: 'US', monthlyCents: 80 });
    for (const number of ['+12025550100', '+12025550101']) await carrier.buyNumber(number, NEVER);
    const application = plivo.applicationOf('+12025550100');
    expect(application).toMatchObject({
      app_name: 'parley-voice-example-com-parley',
      answer_url: `${PUBLIC_URL}/carriers/plivo/answer`,
      hangup_url: `${PUBLIC_URL}/carriers/plivo/hangup`,
    });
    if (application !== undefined) application.answer_url = 'https://other.example.com';
    plivo.numbers.set('12025550166', { app_id: '1' });
    await carrier.buyNumber('+12025550166', NEVER);
    expect(plivo.applicationOf('+12025550166')).toBe(application);
    expect(application?.answer_url).toBe(`${PUBLIC_URL}/carriers/plivo/answer`);
    expect(plivo.applications.size).toBe(2);
    expect(plivo.violations).toEqual([]);
  });

  it('find it among thousands', async () => {
    rig = openRig();
    const { carrier, plivo } = rig;
    const urls = { answer_url: 'https://other.example.com', hangup_url: 'https://other.example.com' };
    for (let at = 0; at < 3_000; at++)
      plivo.applications.set(`other-${String(at)}`, { app_name: `a${String(at)}`, ...urls });
    for (const number of ['+12025550100', '+12025550101']) await carrier.buyNumber(number, NEVER);
    expect(plivo.applicationOf('+12025550101')).toBe(plivo.applicationOf('+12025550100'));
    expect(rig.asked('GET /Application/')).toBe(2);
  });

  it('share it when several are bought at the same time', async () => {
    rig = openRig();
    const numbers = ['+12025550100', '+12025550101', '+12025550102'];
    await Promise.all(numbers.map((number) => rig.carrier.buyNumber(number, NEVER)));
    expect(new Set(numbers.map((number) => rig.plivo.applicationOf(number))).size).toBe(1);
    expect(rig.plivo.applications.size).toBe(2);
  });

  it('that cannot be bought are not, and what is wrong with the account is said in the words of Plivo', async () => {
    rig = openRig();
    const { faults } = rig.plivo;
    for (const status of [400, 404]) {
      faults.answers = [null, null, ...(status === 400 ? [null] : []), { status, body: { error: 'not found' } }];
      await expect(rig.carrier.buyNumber('+12025550107', NEVER)).rejects.toMatchObject({ code: 'NUMBER_UNAVAILABLE' });
    }
    for (const status of [401, 402, 403]) {
      faults.answers = [null, null, { status, body: { error: 'account is not verified' } }];
      await expect(rig.carrier.buyNumber('+12025550107', NEVER)).rejects.toMatchObject({
        code: 'CARRIER_REFUSED',
        message: expect.stringContaining('account is not verified') as string,
      });
    }
    faults.answers = [null, null, ...[429, 429].map((status) => ({ status, body: {} }))];
    let isOurs = false;
    void rig.carrier.buyNumber('+12025550107', NEVER).then(() => (isOurs = true));
    await rig.until(() => isOurs, 10_000);
  });

  it('are not ours while Plivo wants papers', async () => {
    rig = openRig();
    rig.plivo.restricted.add('4969365065273');
    await expect(rig.carrier.buyNumber('+4969365065273', NEVER)).rejects.toMatchObject({ code: 'CARRIER_SILENT' });
    expect(await rig.carrier.ownedNumbers()).toEqual([OWN]);
  });
});
