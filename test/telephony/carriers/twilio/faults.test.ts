import { afterEach, describe, expect, it } from 'vitest';
import { twilioSignature } from '../../../../src/telephony/carriers/twilio/carrier.js';
import { ACCOUNT_SID } from '../../../vendors/carriers/twilio/double.js';
import { describeFaults } from '../socket-faults.js';
import { NUMBERS, PUBLIC_URL } from '../socket-rig.js';
import { AUTH_TOKEN, openRig } from './support.js';

describeFaults('Twilio', {
  open: ({ detects = false, ...more } = {}) => openRig({ machineDetection: detects ? 'Enable' : null, ...more }),
  kinds: { answered: 'in-progress', over: 'completed' },
  refusedFrom: /\+12025550198 is not a number of yours/,
  sound: (payload) => JSON.stringify({ event: 'media', media: { track: 'inbound', payload } }),
  saysStop: true,
  nonsense: [
    '{"event":"media"}',
    '{"event":"media","media":{"payload":7}}',
    '{"event":"start"}',
    '{"event":"dtmf","dtmf":{"digit":"x"}}',
  ],
});

type Rig = ReturnType<typeof openRig>;

let rig: Rig;

function post(what: string, fields: Record<string, string>, signature?: string) {
  const form = new URLSearchParams({ AccountSid: ACCOUNT_SID, ...fields });
  const path = `/carriers/twilio/${what}`;
  const signed = signature ?? twilioSignature(AUTH_TOKEN, `${PUBLIC_URL}${path}`, form);
  return rig.carrier.request({
    method: 'POST',
    path,
    headers: { 'x-twilio-signature': signed },
    body: Buffer.from(form.toString()),
  });
}

describe('a call over Twilio', () => {
  afterEach(() => rig.dispose());

  it('gives keys that Twilio cannot press back as an error, and goes on', async () => {
    rig = openRig();
    const { call } = await rig.answered();
    const signal = new AbortController().signal;
    await expect(call.line.sendDigits('12A', signal)).rejects.toMatchObject({ code: 'KEYS_UNSUPPORTED' });
    expect(call.line.hasStream).toBe(true);
  });

  it('stays where it is when Twilio does not take a transfer', async () => {
    rig = openRig();
    const { call, far } = await rig.answered();
    rig.twilio.faults.tooMany = 5;
    let outcome: unknown;
    void call.line.transfer(NUMBERS.busy, new AbortController().signal).then((result) => (outcome = result));
    await rig.until(() => outcome !== undefined);
    expect(outcome).toEqual({ ok: false, reason: 'failed' });
    expect(far.stream).not.toBeNull();
    expect(call.line.hasStream).toBe(true);
  });
});

describe('a call that comes in over Twilio', () => {
  afterEach(() => rig.dispose());

  it.each([
    ['+266696687', 'anonymous'],
    ['+86282452253', 'anonymous'],
    ['Restricted', 'anonymous'],
    ['', 'anonymous'],
    ['client:alice', 'anonymous'],
    ['+12025550188', '+12025550188'],
    ['sip:alice@example.sip.twilio.com', 'sip:alice@example.sip.twilio.com'],
  ])('from %s is from %s', async (from, caller) => {
    rig = openRig();
    const { call } = await rig.calledIn(from);
    expect(call.from).toBe(caller);
  });
});

describe('a number of the account with Twilio', () => {
  afterEach(() => rig.dispose());
  const signal = new AbortController().signal;
  const refusal = (status: number, code: number, message: string) => ({ status, body: { code, message, status } });

  it('is found among thousands that contain its digits', async () => {
    rig = openRig({ owned: ['+498912345'] });
    const { numbers } = rig.twilio;
    const others = Array.from({ length: 3_000 }, (_, at) => `+4989123${String(at).padStart(4, '0')}`);
    const longer = Array.from({ length: 100 }, (_, at) => `+498912345${String(at).padStart(3, '0')}`);
    for (const number of [...others, ...longer]) numbers.set(number, { sid: 'PN0', VoiceUrl: '', StatusCallback: '' });
    numbers.set('+498912345', { sid: `PN${'a'.repeat(32)}`, VoiceUrl: '', StatusCallback: '' });
    await rig.carrier.releaseNumber('+498912345', signal);
    expect([numbers.has('+498912345'), numbers.size]).toEqual([false, 3_101]);
  });

  it("that another account has bought is unavailable; other errors have Twilio's message", async () => {
    rig = openRig();
    const { faults } = rig.twilio;
    faults.answers = [null, refusal(400, 21_422, 'PhoneNumber is not available')];
    await expect(rig.carrier.buyNumber('+14155550101', signal)).rejects.toMatchObject({ code: 'NUMBER_UNAVAILABLE' });
    faults.answers = [null, refusal(400, 21_631, 'Phone Number Requires an Address')];
    await expect(rig.carrier.buyNumber('+14155550101', signal)).rejects.toMatchObject({
      code: 'CARRIER_REFUSED',
      message: expect.stringContaining('Requires an Address') as string,
    });
  });

  it('is routed to parley again after its calls were routed to another address', async () => {
    rig = openRig();
    const { numbers } = rig.twilio;
    const [own = ''] = rig.twilio.ownNumbers();
    const { sid = '', VoiceUrl = '' } = numbers.get(own) ?? {};
    numbers.set(own, { sid, VoiceUrl: 'https://other.example.com', StatusCallback: '' });
    await rig.carrier.directNumber(own, signal);
    expect(numbers.get(own)?.VoiceUrl).toBe(VoiceUrl);
    await expect(rig.carrier.directNumber('+14155550101', signal)).rejects.toMatchObject({ code: 'NUMBER_NOT_OWNED' });
  });

  it('is ours where Twilio has sold it and never said so', async () => {
    rig = openRig();
    rig.twilio.faults.answers = [null, 'swallowed'];
    let isOurs = false;
    void rig.carrier.buyNumber('+14155550101', signal).then(() => (isOurs = true));
    await rig.until(() => isOurs, 15_000);
    expect(await rig.carrier.ownedNumbers()).toContain('+14155550101');
    expect(rig.twilio.requests.filter((one) => one === 'POST /IncomingPhoneNumbers.json')).toHaveLength(1);
  });
});

describe('what is sent to a carrier of Twilio', () => {
  afterEach(() => rig.dispose());

  it('is refused where it is not signed, and counted', async () => {
    rig = openRig();
    const { call } = await rig.answered();
    const far = rig.farCall(call);
    const fields = { CallSid: far.id, CallStatus: 'completed' };
    const forged = await post('status/t1', fields, 'bm90IHR3aWxpbw==');
    expect(forged.status).toBe(403);
    const overheard = new URLSearchParams({ AccountSid: ACCOUNT_SID, ...fields, CallStatus: 'in-progress' });
    const signed = twilioSignature(AUTH_TOKEN, `${PUBLIC_URL}/carriers/twilio/status/t1`, overheard);
    expect((await post('status/t1', fields, signed)).status).toBe(403);
    const otherAccount = { ...fields, AccountSid: `AC${'f'.repeat(32)}` };
    expect((await post('status/t1', otherAccount)).status).toBe(403);
    expect(rig.carrier.admit({ path: '/carriers/twilio/media/t1', headers: {} })).toBeNull();
    expect(rig.carrier.refused).toBe(4);
    expect(rig.refusals).toEqual(Array(4).fill('signature'));
    expect(call.state).toBe('answered');
  });

  it('is of no effect where it was signed for another call', async () => {
    rig = openRig();
    const { call } = await rig.answered();
    await post('status/t1', { CallSid: `CA${'e'.repeat(32)}`, CallStatus: 'completed' });
    await post('status/t99', { CallSid: rig.farCall(call).id, CallStatus: 'completed' });
    await rig.clock.advanceBy(100);
    expect(call.state).toBe('answered');
  });

  it('opens no second stream for a call, and none when it is over', async () => {
    rig = openRig();
    const { call } = await rig.answered();
    const path = '/carriers/twilio/media/t1';
    const url = `${PUBLIC_URL}${path}`.replace('http', 'ws');
    const headers = { 'x-twilio-signature': twilioSignature(AUTH_TOKEN, url, new URLSearchParams()) };
    expect(rig.carrier.admit({ path, headers })).toBeNull();
    call.hangUp();
    expect(rig.carrier.admit({ path, headers })).toBeNull();
    expect((await post('next/t1', { CallSid: rig.farCall(call).id })).body).toContain('<Hangup/>');
  });
});
