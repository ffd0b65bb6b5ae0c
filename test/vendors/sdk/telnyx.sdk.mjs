import { Telnyx } from 'telnyx';
import { expect, it } from 'vitest';
import { isSigned, publicKeyOf } from '../../../src/telephony/carriers/telnyx/carrier.ts';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { socketPair } from '../carriers/socket-pair.ts';
import { CONNECTION_ID, TelnyxDouble } from '../carriers/telnyx/double.ts';

const OWN = '+12025550199';
const PERSON = '+12025550101';
const BUSY = '+12025550103';
const STREAM = {
  ...{ stream_url: 'wss://voice.example.com/media', stream_track: 'inbound_track', stream_codec: 'PCMU' },
  ...{ stream_bidirectional_mode: 'rtp', stream_bidirectional_codec: 'PCMU' },
};

/** The double, and the SDK with the double in place of its HTTP client. */
function open() {
  const clock = new VirtualClock();
  const webhooks = [];
  const telnyx = new TelnyxDouble({
    ...{ clock, nowUnixMs: () => Date.now(), webhookUrl: 'https://voice.example.com/webhook' },
    people: { [PERSON]: { does: 'answer' }, [BUSY]: { does: 'busy' } },
    doorway: {
      post: (url, body, headers) => {
        webhooks.push({ url, body, headers });
        return Promise.resolve('');
      },
      open: () => Promise.resolve(socketPair(clock, 20)[1]),
    },
  });
  telnyx.numbers.set(OWN, { id: '1', connectionId: CONNECTION_ID });
  const fetch = async (url, { method, body }) => {
    const { pathname, search } = new URL(url);
    const request = { method: method.toUpperCase(), path: pathname.replace(/^\/v2/, '') + search };
    const json = typeof body === 'string' ? { json: JSON.parse(body) } : {};
    const answer = await telnyx.rest({ ...request, ...json }, new AbortController().signal);
    return new Response(JSON.stringify(answer.body), {
      status: answer.status,
      headers: { 'content-type': 'application/json' },
    });
  };
  const sdk = new Telnyx({ apiKey: 'KEY', publicKey: telnyx.publicKey, maxRetries: 0, fetch });
  return { clock, telnyx, webhooks, sdk };
}

it('places, transfers and ends a call, and the webhooks about it are signed as the SDK wants them', async () => {
  const { clock, telnyx, webhooks, sdk } = open();
  const dial = { connection_id: CONNECTION_ID, from: OWN, timeout_secs: 30, ...STREAM };
  const { data } = await sdk.calls.dial({
    ...dial,
    to: PERSON,
    command_id: 'a',
    answering_machine_detection: 'detect',
  });
  const id = data.call_control_id;
  await sdk.calls.dial({ ...dial, to: PERSON, command_id: 'a' });
  expect(telnyx.legs.size).toBe(1);
  await clock.advanceBy(4_000);
  expect((await sdk.calls.retrieveStatus(id)).data.is_alive).toBe(true);
  await sdk.calls.actions.sendDtmf(id, { digits: '12w#', duration_millis: 100 });
  await sdk.calls.actions.stopStreaming(id, {});
  await sdk.calls.actions.startStreaming(id, { ...STREAM, stream_bidirectional_sampling_rate: 8000 });
  await sdk.calls.actions.transfer(id, { to: BUSY, target_leg_client_state: 'dA==' });
  await clock.advanceBy(1_000);
  const other = await sdk.calls.dial({ ...dial, to: PERSON, command_id: 'b' });
  await clock.advanceBy(1_000);
  await sdk.calls.actions.bridge(id, { call_control_id_to_bridge_with: other.data.call_control_id });
  await sdk.calls.actions.hangup(id, {});
  await clock.advanceBy(1_000);
  expect((await sdk.calls.retrieveStatus(id)).data.is_alive).toBe(false);
  expect(telnyx.violations).toEqual([]);

  const reported = [];
  for (const { body, headers } of webhooks) {
    const event = await sdk.webhooks.unwrap(body, { headers });
    if (event.data.payload.call_control_id === id) reported.push(event.data.event_type);
    expect(isSigned(publicKeyOf(telnyx.publicKey), headers, Buffer.from(body), Date.now())).toBe(true);
  }
  expect(reported).toEqual([
    ...['call.initiated', 'call.answered', 'streaming.started', 'call.machine.detection.ended', 'streaming.started'],
    ...['call.bridged', 'call.hangup'],
  ]);
});

it('agrees with the SDK about what is not signed, or not any more', async () => {
  const { telnyx, sdk } = open();
  const body = '{"data":{"event_type":"call.hangup"}}';
  const good = telnyx.signed(body);
  const cases = [
    [body, good, true],
    [`${body} `, good, false],
    [body, { ...good, 'telnyx-timestamp': String(Number(good['telnyx-timestamp']) - 1) }, false],
    [body, { ...good, 'telnyx-timestamp': 'now' }, false],
    [body, { ...good, 'telnyx-signature-ed25519': 'AAAA' }, false],
    [body, {}, false],
    [body, telnyx.signed(body, Date.now() - 310_000), false],
    [body, telnyx.signed(body, Date.now() + 310_000), false],
    [body, telnyx.signed(body, Date.now() - 290_000), true],
  ];
  for (const [text, headers, isRight] of cases) {
    const unwrapped = sdk.webhooks.unwrap(text, { headers }).then(
      () => true,
      () => false,
    );
    expect(await unwrapped).toBe(isRight);
    expect(isSigned(publicKeyOf(telnyx.publicKey), headers, Buffer.from(text), Date.now())).toBe(isRight);
  }
});

it('finds, buys, directs and gives back numbers, and is refused as Telnyx refuses', async () => {
  const { clock, telnyx, sdk } = open();
  const { data: offers } = await sdk.availablePhoneNumbers.list({
    filter: { country_code: 'US', national_destination_code: '202', features: ['voice'], limit: 2 },
  });
  const number = offers[0].phone_number;
  const order = await sdk.numberOrders.create({
    connection_id: CONNECTION_ID,
    phone_numbers: [{ phone_number: number }],
  });
  expect(order.data.status).toBe('pending');
  await clock.advanceBy(2_000);
  expect((await sdk.numberOrders.retrieve(order.data.id)).data.status).toBe('success');
  const { data: found } = await sdk.phoneNumbers.list({ filter: { phone_number: number.slice(1) } });
  await sdk.phoneNumbers.update(found[0].id, { connection_id: '7' });
  expect(telnyx.numbers.get(number).connectionId).toBe('7');
  await sdk.phoneNumbers.delete(found[0].id);
  expect([...telnyx.numbers.keys()]).toEqual([OWN]);
  expect(telnyx.violations).toEqual([]);
  await expect(sdk.calls.retrieveStatus('v3:none')).rejects.toMatchObject({ status: 404 });
  await expect(sdk.calls.actions.reject('v3:none', { cause: 'USER_BUSY' })).rejects.toMatchObject({ status: 404 });
});
