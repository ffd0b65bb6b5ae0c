import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { socketPair } from '../carriers/socket-pair.ts';
import { ACCOUNT_SID, TwilioDouble } from '../carriers/twilio/double.ts';

const require = createRequire(import.meta.url);
const { Twilio, twiml: Twiml, validateRequest } = require('twilio');

const TOKEN = 'an auth token of 32 letters-----';
const OWN = '+12025550199';
const PERSON = '+12025550101';

/** The double, and the SDK with the double in place of its HTTP client. */
function open() {
  const clock = new VirtualClock();
  const webhooks = [];
  const twilio = new TwilioDouble({
    ...{ clock, authToken: TOKEN, people: { [PERSON]: { does: 'answer' } } },
    doorway: {
      post: (url, body, headers) => {
        webhooks.push({ url, body, headers });
        return Promise.resolve('<Response/>');
      },
      open: () => Promise.resolve(socketPair(clock, 20)[1]),
    },
  });
  twilio.numbers.set(OWN, { sid: twilio.sid('PN'), VoiceUrl: '', StatusCallback: '' });
  const request = async ({ method, uri, params, data }) => {
    const { pathname, search } = new URL(uri);
    const query = new URLSearchParams(search);
    for (const [name, value] of Object.entries(params ?? {})) query.append(name, String(value));
    const form = Object.entries(data ?? {}).flatMap(([name, value]) =>
      [value].flat().map((one) => [name, String(one)]),
    );
    const path = query.size === 0 ? pathname : `${pathname}?${query}`;
    const { status, body } = await twilio.rest(
      { method: method.toUpperCase(), path, ...(form.length > 0 && { form }) },
      new AbortController().signal,
    );
    return { statusCode: status, body, headers: {} };
  };
  return { clock, twilio, webhooks, sdk: new Twilio(ACCOUNT_SID, TOKEN, { httpClient: { request } }) };
}

it('places, looks at and ends a call, and the webhooks about it are signed as the SDK wants them', async () => {
  const { clock, twilio, webhooks, sdk } = open();
  const response = new Twiml.VoiceResponse();
  response.connect().stream({ url: 'wss://voice.example.com/media' });
  response.redirect({ method: 'POST' }, 'https://voice.example.com/next');
  const call = await sdk.calls.create({
    ...{ to: PERSON, from: OWN, twiml: response.toString(), timeout: 30 },
    statusCallback: 'https://voice.example.com/status?a=b&c=%20d',
    statusCallbackEvent: ['initiated', 'ringing', 'answered', 'completed'],
    ...{ machineDetection: 'Enable', asyncAmd: 'true', asyncAmdStatusCallback: 'https://voice.example.com/machine' },
  });
  expect(call.status).toBe('queued');
  await clock.advanceBy(1_000);
  expect((await sdk.calls(call.sid).fetch()).status).toBe('in-progress');
  await sdk.calls(call.sid).update({ status: 'completed' });
  await clock.advanceBy(1_000);
  expect((await sdk.calls(call.sid).fetch()).status).toBe('completed');
  const statuses = webhooks
    .filter(({ url }) => url.includes('status'))
    .map(({ body }) => new URLSearchParams(body).get('CallStatus'));
  expect(statuses).toEqual(['initiated', 'ringing', 'in-progress', 'completed']);
  for (const { url, body, headers } of webhooks) {
    const form = Object.fromEntries(new URLSearchParams(body));
    expect(validateRequest(TOKEN, headers['x-twilio-signature'], url, form)).toBe(true);
  }
  expect(twilio.violations).toEqual([]);
});

it('finds, buys, directs and gives back numbers', async () => {
  const { twilio, sdk } = open();
  const [offer] = await sdk.availablePhoneNumbers('US').local.list({ areaCode: 202, voiceEnabled: true, limit: 2 });
  const bought = await sdk.incomingPhoneNumbers.create({
    phoneNumber: offer.phoneNumber,
    voiceUrl: 'https://voice.example.com/voice',
  });
  const [found] = await sdk.incomingPhoneNumbers.list({ phoneNumber: offer.phoneNumber });
  expect(found.sid).toBe(bought.sid);
  await sdk.incomingPhoneNumbers(bought.sid).update({ voiceUrl: 'https://voice.example.com/other' });
  expect(twilio.numbers.get(offer.phoneNumber).VoiceUrl).toBe('https://voice.example.com/other');
  await sdk.incomingPhoneNumbers(bought.sid).remove();
  expect([...twilio.numbers.keys()]).toEqual([OWN]);
  expect(twilio.violations).toEqual([]);
});

it('is refused as Twilio refuses', async () => {
  const { sdk } = open();
  await expect(sdk.calls('CA00000000000000000000000000000009').fetch()).rejects.toMatchObject({
    status: 404,
    code: 20_404,
  });
  await expect(sdk.calls.create({ to: PERSON, from: '+12025550198', twiml: '<Response/>' })).rejects.toMatchObject({
    code: 21_210,
  });
});
