/** What an answer says that is an error: the catalogue's code, the request's id and the place of the fault. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RealClock } from '../../src/base/real-clock.js';
import { House, PRIVATE_KEY } from './house.js';

interface Answer {
  detail: { loc: (string | number)[]; msg: string; type: string }[];
  code: string;
  request_id: string;
}

const written: Record<string, unknown>[] = [];
let house: House;

beforeAll(async () => {
  house = await House.open({}, new RealClock(), {
    write: (_level, message, fields) => void written.push({ message, ...fields }),
  });
});

afterAll(() => house.close());

function post(path: string, body: unknown, authorization = PRIVATE_KEY): Promise<Response> {
  const headers = { authorization, 'content-type': 'application/json' };
  return house.request(path, { method: 'POST', headers, body: JSON.stringify(body) });
}

async function refused(path: string, body: unknown): Promise<Answer> {
  const response = await post(path, body);
  expect(response.status).toBe(422);
  const answer = (await response.json()) as Answer;
  expect(answer.request_id).toBe(response.headers.get('x-request-id'));
  return answer;
}

describe('the id of a request', () => {
  it('is a header of every answer, of refusals and streams too, and stands in the log', async () => {
    const ids: (string | null)[] = [];
    for (const path of ['/healthz', '/agents', '/nothing', '/events']) {
      const left = new AbortController();
      const headers = { authorization: path === '/agents' ? 'wrong' : PRIVATE_KEY };
      const response = await house.request(path, { headers, signal: left.signal });
      ids.push(response.headers.get('x-request-id'));
      left.abort();
    }
    expect(new Set(ids).size).toBe(4);
    for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(written).toContainEqual(expect.objectContaining({ route: '/healthz', request: ids[0] }));
  });

  it('stands with a fault of parley in the log', async () => {
    const { agents } = house.daemon;
    const list = agents.all.bind(agents);
    agents.all = () => {
      throw new TypeError('boom');
    };
    const response = await house.request('/agents', { headers: { authorization: PRIVATE_KEY } });
    agents.all = list;
    expect(response.status).toBe(500);
    const { code, request_id } = (await response.json()) as Answer;
    expect(code).toBe('INTERNAL');
    expect(written).toContainEqual({ message: 'fault: boom', request: request_id });
    expect(house.faults.splice(0)).toMatchObject([{ message: 'boom' }]);
  });
});

describe('the place of a fault', () => {
  it.each([
    ['an unknown app', { app_functions: [{ name: 'order_pizza' }] }, ['app_functions', 0, 'name']],
    [
      'a credential that is missing',
      { app_functions: [{ name: 'book_meeting_slot', credentials: {} }] },
      ['app_functions', 0, 'credentials'],
    ],
    [
      'a credential that there is not',
      {
        app_functions: [
          { name: 'get_available_meeting_slots', credentials: { api_key: 'k', event_type_id: '1', x: 'y' } },
        ],
      },
      ['app_functions', 0, 'credentials', 'x'],
    ],
    ['a private address', { custom_llm_websocket: 'ws://127.0.0.1:9/' }, ['custom_llm_websocket']],
    [
      'a model of a voice that has none',
      { voice: { provider: 'flite', voice_id: 'slt', model: 'm' } },
      ['voice', 'model'],
    ],
    ['a model of a recogniser that has none', { speech_to_text: { model: 'm' } }, ['speech_to_text', 'model']],
  ])('%s is the field', async (_what, config, place) => {
    const { detail } = await refused('/agents', { name: 'A', config });
    expect(detail.map(({ loc }) => loc)).toEqual([['body', 'config', ...place]]);
  });

  it('an offer that cannot be answered is the offer', async () => {
    const offer = { type: 'offer', sdp: 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n' };
    const { detail, code } = await refused('/webrtc/offer', { agent_id: 'baker', offer });
    expect(code).toBe('OFFER_INVALID');
    expect(detail.map(({ loc, type }) => [loc, type])).toEqual([[['body', 'offer', 'sdp'], 'value_error']]);
  });

  it('a file that cannot be read is the upload', async () => {
    const form = new FormData();
    form.set('file', new Blob(['MZ\0\0']), 'x.exe');
    const upload = await house.request('/knowledge/upload', {
      method: 'POST',
      body: form,
      headers: { authorization: PRIVATE_KEY },
    });
    const { object_key } = (await upload.json()) as { object_key: string };
    const { detail, code } = await refused('/knowledge/create_file', { object_key, name: 'x.exe' });
    expect(code).toBe('FILE_NOT_READABLE');
    expect(detail.map(({ loc }) => loc)).toEqual([['body', 'object_key']]);
  });

  it.each([['abc'], ['12'], ['+1 202'], ['2025550123'], ['sip:nobody']])(
    '%s is no number for the list',
    async (phone) => {
      const { detail, code } = await refused('/do-not-call', { phone });
      expect(code).toBe('NUMBER_INVALID');
      expect(detail.map(({ loc }) => loc)).toEqual([['body', 'phone']]);
    },
  );

  it('a refusal of an unknown kind lists the allowed ones', async () => {
    const { detail } = await refused('/chat/completions', {
      agent: { agent_id: 'baker' },
      messages: [{ role: 'system', content: 'x' }, { content: 'x' }],
    });
    expect(detail).toEqual([
      { loc: ['body', 'messages', 0, 'role'], msg: 'Input should be one of: user, assistant, tool', type: 'enum' },
      { loc: ['body', 'messages', 1, 'role'], msg: 'Field required', type: 'missing' },
    ]);
  });
});

describe('a body that is too large', () => {
  it.each([
    ['/agents', PRIVATE_KEY, 413, 'BODY_TOO_LARGE'],
    ['/agents', 'wrong', 401, 'AUTH_REQUIRED'],
  ])('at %s with the key %s is answered, and fetch sees it each time', async (path, key, status, code) => {
    const name = 'x'.repeat(9_700_000);
    for (let round = 0; round < 10; round++) {
      const response = await post(path, { name }, key);
      expect([response.status, ((await response.json()) as Answer).code]).toEqual([status, code]);
    }
  });

  it('is answered without a length, too', async () => {
    const pieces = new ReadableStream({
      start(controller) {
        for (let piece = 0; piece < 100; piece++) controller.enqueue(new Uint8Array(100_000));
        controller.close();
      },
    });
    const headers = { authorization: PRIVATE_KEY, 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: pieces, duplex: 'half' } as RequestInit;
    expect((await house.request('/agents', init)).status).toBe(413);
  });
});
