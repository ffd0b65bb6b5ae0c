import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { DEFAULT_SETTINGS, type Settings } from '../../../src/settings/settings.js';
import { type Log, openLog } from '../../../src/daemon/operations/log.js';
import { House, PRIVATE_KEY, PUBLIC_KEY } from '../house.js';

/** Longer than anything takes on a machine that others use. */
const PATIENT = { timeout: 15_000 };

const SETTINGS: Settings = { ...DEFAULT_SETTINGS, dataDir: '/nowhere', logLevel: 'debug' };
const NUMBER = '+12025550147';
const SPOKEN = 'My secret word is marmalade';

/** A log, and all that it has written. */
function logged(settings: Partial<Settings> = {}, isTTY = false): { log: Log; text: () => string } {
  const stream = Object.assign(new PassThrough(), { isTTY });
  let text = '';
  stream.on('data', (data: Buffer) => (text += data.toString()));
  return { log: openLog(stream, { ...SETTINGS, ...settings }), text: () => text };
}

let house: House | undefined;

afterEach(async () => {
  await house?.close();
  house = undefined;
});

describe('the log', () => {
  it.each(['json', 'text'] as const)(
    'has no number, no key, no header and no words of a conversation, as %s',
    async (logFormat) => {
      const secrets = { apiKey: PRIVATE_KEY, publicKey: PUBLIC_KEY, openaiApiKey: 'sk-proj-0123456789abcdef' };
      const { log, text } = logged({ ...secrets, logFormat });
      house = await House.open({}, undefined, log);
      const client = house.connect();
      await client.initiate({ metadata: { phone: NUMBER } });
      await client.inbox.heard(10);
      await client.send({ method: 'text', data: `${SPOKEN}. Have you any bread? Call me at ${NUMBER}.` });
      await client.inbox.find(({ method }) => method === 'onmetrics');
      client.socket.close();
      await house.ended;
      const headers = { authorization: `Bearer ${PRIVATE_KEY}`, 'x-own': 'header-value-of-mine' };
      await house.request(`/phones/${NUMBER}`, { headers });
      await house.request(`/do-not-call?number=${encodeURIComponent(NUMBER)}`, { headers });
      await house.request(`/do-not-call`, {
        method: 'POST',
        headers,
        body: `{"number": "${NUMBER}", "x": "${SPOKEN}"`,
      });
      await house.request('/agents', { method: 'POST', headers: { authorization: 'sk_wrong_key_0123456789' } });
      log.write(
        'error',
        `fault at ${NUMBER} with ${PRIVATE_KEY}`,
        { reason: `Bearer abc.def, ${secrets.openaiApiKey}` },
        fault(),
      );
      await expect.poll(text, PATIENT).toContain('fault at');
      const all = text();
      expect(all).toContain('user-ended');
      expect(all).toContain('turn 1 answered after');
      for (const secret of [NUMBER, NUMBER.slice(1), '2025550147', 'marmalade', 'bread', 'header-value', 'abc.def']) {
        expect(all).not.toContain(secret);
      }
      for (const key of [PRIVATE_KEY, PUBLIC_KEY, 'sk_wrong_key', secrets.openaiApiKey]) expect(all).not.toContain(key);
      expect(all).toContain('log.test.ts'); // where the fault was
      if (logFormat === 'json')
        for (const line of all.trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('level');
    },
  );

  it('is lines of JSON with level, time and fields, and leaves out what is below the level', async () => {
    const { log, text } = logged({ logLevel: 'info' });
    log.write('debug', 'not this');
    log.write('info', 'this', { session: '00000000-0000-4000-8000-123456789012', ms: 4_155_550_147 });
    await expect.poll(text, PATIENT).not.toBe('');
    expect(JSON.parse(text())).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string,
      msg: 'this',
      session: '00000000-0000-4000-8000-123456789012',
      ms: 4_155_550_147,
    });
  });

  it('is text in a terminal, and nothing where it is to be silent', () => {
    const terminal = logged({}, true);
    terminal.log.write('info', 'ready');
    expect(terminal.text()).toBe('ready\n');
    const silent = logged({ logLevel: 'silent', logFormat: 'text' });
    silent.log.write('error', 'nobody hears this');
    expect(silent.text()).toBe('');
  });

  it('tells of faults with their stack and causes, but not of what was read', async () => {
    const { log, text } = logged();
    let cause: unknown;
    try {
      JSON.parse(SPOKEN);
    } catch (error) {
      cause = error;
    }
    log.write('error', 'broken', {}, Object.assign(new Error('could not read', { cause }), { details: { SPOKEN } }));
    await expect.poll(text, PATIENT).not.toBe('');
    expect(text()).not.toContain('marmalade');
    expect(text()).not.toContain('secret');
    expect(JSON.parse(text())).toMatchObject({ err: { message: 'could not read', cause: { type: 'SyntaxError' } } });
  });
});

function fault(): Error {
  return new Error(`${NUMBER} is on the list of ${PRIVATE_KEY}`, { cause: new Error(`Authorization: Bearer abc.def`) });
}
