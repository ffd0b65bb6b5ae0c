import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { isSigned } from '../../../src/telephony/carriers/plivo/carrier.ts';
import { VirtualClock } from '../../../src/base/virtual-clock.ts';
import { AUTH_ID, PlivoDouble } from '../carriers/plivo/double.ts';
import { socketPair } from '../carriers/socket-pair.ts';

const require = createRequire(import.meta.url);
const plivo = require('plivo');
const axios = createRequire(require.resolve('plivo'))('axios');

const TOKEN = 'an auth token of 40 letters-------------';
const ROOT = 'https://voice.example.com';
const OWN = '12025550199';
const PERSON = '12025550101';
const BUSY = '12025550103';

/** The double, and the SDK with the double in place of its HTTP client. */
function open() {
  const clock = new VirtualClock();
  const asked = [];
  /** Our ends of media sockets. */
  const sockets = [];
  const documents = {};
  const double = new PlivoDouble({
    ...{ clock, authToken: TOKEN },
    people: { [`+${PERSON}`]: { does: 'answer' }, [`+${BUSY}`]: { does: 'busy' } },
    doorway: {
      post: (url, body, headers) => {
        asked.push({ method: 'POST', url, body, headers });
        return Promise.resolve(documents[new URL(url).pathname] ?? '<Response/>');
      },
      open: (url, headers) => {
        asked.push({ method: 'GET', url: url.replace(/^wss/, 'http'), body: '', headers });
        const [near, far] = socketPair(clock, 20);
        sockets.push(near);
        return Promise.resolve(far);
      },
    },
  });
  double.numbers.set(OWN, { app_id: '1' });
  axios.defaults.adapter = async (config) => {
    const { pathname, search } = new URL(axios.getUri(config));
    const data = typeof config.data === 'string' && config.data !== '' ? JSON.parse(config.data) : {};
    const method = config.method.toUpperCase();
    const json = method === 'POST' ? { json: data } : {};
    // Of a call under way the SDK asks without the slash at the end.
    const path = `${pathname.replaceAll('//', '/').replace(/\/$/, '')}/${search}`;
    const { status, body } = await double.rest({ method, path, ...json }, new AbortController().signal);
    const response = { status, statusText: '', headers: {}, config, data: status === 204 ? '' : body };
    if (status >= 300) throw new axios.AxiosError('refused', String(status), config, null, response);
    return response;
  };
  return { clock, double, asked, sockets, documents, sdk: new plivo.Client(AUTH_ID, TOKEN) };
}

/** All that was asked is signed as the SDK and parley want it. */
function expectSigned(asked) {
  expect(asked.length).toBeGreaterThan(0);
  for (const { method, url, body, headers } of asked) {
    const [nonce, signatures] = [headers['x-plivo-signature-v3-nonce'], headers['x-plivo-signature-v3']];
    const form = new URLSearchParams(body);
    const fields = Object.fromEntries(form);
    expect(plivo.validateV3Signature(method, url, nonce, TOKEN, signatures, fields)).toBe(true);
    expect(isSigned(TOKEN, headers, [url], { method, form })).toBe(true);
    expect(plivo.validateV3Signature(method, `${url}x`, nonce, TOKEN, signatures, fields)).toBe(false);
    expect(plivo.validateV3Signature(method, url, `${nonce}0`, TOKEN, signatures, fields)).toBe(false);
  }
}

it('places, looks at, transfers and ends a call, and what is asked about it is signed as the SDK wants it', async () => {
  const { clock, double, asked, sockets, documents, sdk } = open();
  const answer = new plivo.Response();
  const stream = { bidirectional: true, keepCallAlive: true, contentType: 'audio/x-mulaw;rate=8000' };
  answer.addStream('wss://voice.example.com/media', stream);
  answer.addRedirect(`${ROOT}/next`, { method: 'POST' });
  const dial = new plivo.Response();
  const reported = {
    action: `${ROOT}/dialled`,
    callbackUrl: `${ROOT}/leg`,
    callbackMethod: 'POST',
    dialMusic: 'real',
  };
  dial.addDial({ ...reported, method: 'POST', timeout: 30, callerId: OWN }).addNumber(BUSY);
  const hangUp = new plivo.Response();
  hangUp.addHangup({ reason: 'busy' });
  Object.assign(documents, {
    '/answer': answer.toXML(),
    '/dial': dial.toXML(),
    '/dialled': answer.toXML(),
    '/next': hangUp.toXML(),
  });
  const { requestUuid, message } = await sdk.calls.create(OWN, PERSON, `${ROOT}/answer`, {
    ...{ ringUrl: `${ROOT}/ring?a=b&c=%20d`, hangupUrl: `${ROOT}/hangup`, ringTimeout: 30, timeLimit: 86_400 },
    ...{ machineDetection: 'true', machineDetectionUrl: `${ROOT}/machine`, sipHeaders: 'Order=A17' },
  });
  expect(message).toBe('call fired');
  await clock.advanceBy(4_000);
  const [call] = double.farCalls();
  expect(call.facts.requestId).toBe(requestUuid);
  const live = await sdk.calls.getLiveCall(call.id);
  expect([live.callUuid, live.callStatus]).toEqual([call.id, 'in-progress']);
  await sdk.calls.transfer(call.id, { legs: 'aleg', alegUrl: `${ROOT}/dial`, alegMethod: 'POST' });
  sockets[0].close(); // the call is redirected when its stream is over
  await clock.advanceBy(2_000);
  expect(call.stream).not.toBeNull(); // the target was busy
  await sdk.calls.hangup(call.id);
  await clock.advanceBy(1_000);
  await expect(sdk.calls.getLiveCall(call.id)).rejects.toMatchObject({ status: 404 });
  const paths = asked.map(({ url }) => new URL(url).pathname);
  expect(paths).toEqual([
    ...['/ring', '/answer', '/media', '/machine', '/dial', '/leg', '/dialled', '/media', '/hangup'],
  ]);
  expectSigned(asked);
  expect([...double.violations, ...call.errors]).toEqual([]);
});

it('takes the request for a call back', async () => {
  const { clock, double, sdk } = open();
  const { requestUuid } = await sdk.calls.create(OWN, PERSON, `${ROOT}/answer`);
  await sdk.calls.cancel(requestUuid);
  await clock.advanceBy(5_000);
  expect(double.farCalls().map(({ status }) => status)).toEqual(['cancel']);
  expect(double.violations).toEqual([]);
});

it('finds, buys, directs and gives back numbers', async () => {
  const { double, sdk } = open();
  const { appId } = await sdk.applications.create('parley-test', { answerUrl: `${ROOT}/answer`, answerMethod: 'POST' });
  const [application] = await sdk.applications.list({ limit: 5, offset: 0 });
  expect([application.appId, application.answerUrl]).toEqual([appId, `${ROOT}/answer`]);
  const [offer] = await sdk.numbers.search('US', { type: 'local', pattern: '202', services: 'voice' });
  expect(offer.monthlyRentalRate).toBe('0.80000');
  const bought = await sdk.numbers.buy(offer.number, appId);
  expect([bought.status, bought.numbers[0].status]).toEqual(['fulfilled', 'Success']);
  expect((await sdk.numbers.get(offer.number)).application).toContain(appId);
  await sdk.numbers.update(offer.number, { appId: '1' });
  expect(double.numbers.get(offer.number).app_id).toBe('1');
  await sdk.applications.update(appId, { answerUrl: `${ROOT}/other` });
  expect(double.applications.get(appId).answer_url).toBe(`${ROOT}/other`);
  await sdk.numbers.unrent(offer.number);
  expect(double.ownNumbers()).toEqual([`+${OWN}`]);
  expect(double.violations).toEqual([]);
});

it('is refused as Plivo refuses', async () => {
  const { double, sdk } = open();
  await expect(sdk.calls.hangup(double.uuid())).rejects.toMatchObject({ status: 404, message: 'call not found' });
  await expect(sdk.calls.create('12025550198', PERSON, `${ROOT}/answer`)).rejects.toMatchObject({ status: 400 });
  await expect(sdk.numbers.buy(OWN)).rejects.toMatchObject({ status: 400 });
});
