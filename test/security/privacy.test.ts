/**
 * What is not to be kept is looked for byte by byte: in every file of the data folder while the daemon runs and after it
 * has ended (database, write-ahead log, traces, recordings), and in what it logs.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterEach, expect, it } from 'vitest';
import { RealClock } from '../../src/base/real-clock.js';
import { DEFAULT_SETTINGS, type Settings } from '../../src/settings/settings.js';
import { openLog } from '../../src/daemon/operations/log.js';
import { House, PRIVATE_KEY, PUBLIC_KEY } from '../daemon/house.js';

/** Longer than anything takes on a machine that others use. */
const PATIENT = { timeout: 15_000 };
const BUSY = '+12025550107';

let house: House;
let logged = '';

afterEach(() => house.close());

async function open(settings: Partial<Settings> = {}): Promise<void> {
  logged = '';
  const stream = new PassThrough();
  stream.on('data', (data: Buffer) => (logged += data.toString()));
  const log = openLog(stream, { ...DEFAULT_SETTINGS, dataDir: '', logLevel: 'debug', logFormat: 'json' });
  house = await House.open(settings, new RealClock(), log);
}

async function post(path: string, body: unknown): Promise<Record<string, unknown>> {
  const headers = { authorization: PRIVATE_KEY, 'content-type': 'application/json' };
  const answer = await house.ask(path, { method: 'POST', headers, body: JSON.stringify(body) });
  expect([path, answer.status]).toEqual([path, 200]);
  return answer.body as Record<string, unknown>;
}

/** A conversation in writing over the talk socket, to its end and into the log. */
async function talk(agentId: string, metadata: Record<string, string>, text: string): Promise<void> {
  const client = house.connect();
  await client.initiate({ agent: { agent_id: agentId }, metadata });
  await client.inbox.find(({ method }) => method === 'onready');
  await client.send({ method: 'text', data: text });
  await client.inbox.find(({ method, data }) => method === 'onresponsetext' && String(data).includes('rye'));
  client.socket.close();
  await house.ended;
  await expect.poll(() => house.engine.sessions.size, PATIENT).toBe(0);
}

/** In how many files of the data folder, and whether in the log, a text stands in any usual encoding. */
function places(text: string): string[] {
  const forms = [
    Buffer.from(text),
    Buffer.from(text, 'utf16le'),
    Buffer.from(encodeURIComponent(text)),
    Buffer.from(Buffer.from(text).toString('base64').replace(/.?=*$/, '')),
  ];
  const found = filesOf(house.dataDir).filter((path) => {
    const bytes = readFileSync(path);
    return forms.some((form) => bytes.includes(form));
  });
  if (forms.some((form) => logged.includes(form.toString()))) found.push('the log');
  return found.map((path) => path.replace(house.dataDir, ''));
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
}

const SCRIPT = { rules: [{ when: 'marmalade', say: 'We have rye with quincejam.' }] };
const agent = (optOut: boolean) => ({
  name: optOut ? 'Silent' : 'Open',
  config: {
    prompt: 'You sell bread.',
    first_message: 'Hello.',
    llm: { model: 'scripted' },
    call_settings: { enable_recording: true },
    privacy_settings: { opt_out_data_collection: optOut },
  },
  script: SCRIPT,
});

it('of a session that opted out nothing is kept of what was said', async () => {
  await open();
  const { id: silent } = await post('/agents', agent(true));
  await talk(String(silent), { Name: 'Bartholomew' }, 'Do you have marmalade and figbutter?');
  // The agent's own words stand in its script, and metadata belong to the client that gave them: both are kept.
  expect(places('figbutter')).toEqual([]);
  await house.daemon.close();
  expect(places('figbutter')).toEqual([]);
  expect(filesOf(join(house.dataDir)).filter((path) => path.endsWith('.wav'))).toEqual([]);
});

it('of any other session it is kept: what the other tests rely on', async () => {
  await open();
  const { id } = await post('/agents', agent(false));
  await talk(String(id), { Name: 'Bartholomew' }, 'Do you have marmalade and figbutter?');
  await expect.poll(() => places('figbutter'), PATIENT).not.toEqual([]);
  expect(places('Bartholomew')).not.toEqual([]);
  expect([places('figbutter'), places('Bartholomew')].flat()).not.toContain('the log');
});

it('secrets stand nowhere as they are', async () => {
  const secrets = {
    openaiApiKey: 'sk-vendor-walnutloaf',
    webhookSecret: `whsec_${Buffer.from('a'.repeat(24)).toString('base64')}`,
  };
  await open(secrets);
  await post('/agents', {
    name: 'Keeper',
    config: {
      prompt: 'You sell bread.',
      llm: { model: 'scripted' },
      session_data_webhook: { url: 'https://example.com/a', headers: { authorization: 'Bearer hazelnutroll' } },
      tools: [
        {
          name: 'book',
          description: 'Books.',
          webhook: 'https://example.com/b?token=pecantart',
          header: { 'x-key': 'almondcrust' },
        },
      ],
    },
  });
  const { key } = await post('/keys', { kind: 'private', name: 'Ann' });
  const { token } = await house.token();
  const made = [String(key), token, PRIVATE_KEY, PUBLIC_KEY, ...Object.values(secrets)];
  const given = ['hazelnutroll', 'almondcrust', 'pecantart'];
  for (const secret of [...made, ...given]) expect([secret, places(secret)]).toEqual([secret, []]);
  await house.request('/agents', { headers: { authorization: 'sk_wrong_poppyseed' } });
  await house.request('/agents?key=sk_wrong_poppyseed');
  expect(places('poppyseed')).toEqual([]);
  await house.daemon.close();
  for (const secret of [...made, ...given]) expect([secret, places(secret)]).toEqual([secret, []]);
});

it('of a number that is erased nothing is left but on the do-not-call list', async () => {
  await open();
  const { id: ours } = await post('/phones/purchase', {});
  await post(`/phones/${String(ours)}/set_agent`, { agent_id: 'baker' });
  const metadata = { Name: 'Bartholomew', note: 'figbutter' };
  const { session_id } = await post('/start_outbound_call', { from_phone: ours, to_phone: BUSY, metadata });
  const status = async (): Promise<unknown> => {
    const answer = await house.ask(`/call-logs/${String(session_id)}`, { headers: { authorization: PRIVATE_KEY } });
    return (answer.body as { call_status: unknown }).call_status;
  };
  await expect.poll(status, PATIENT).toBe('busy');
  const { id: campaign } = await post('/campaigns', { name: 'spring' });
  await post(`/campaigns/${String(campaign)}/records`, [
    { phone: BUSY, metadata },
    { phone: 'no number', metadata: {} },
  ]);
  const texts = [BUSY.slice(1), BUSY.slice(2), 'Bartholomew', 'figbutter'];
  for (const text of texts) expect([text, places(text).length]).not.toEqual([text, 0]);
  // The row of the call is closed shortly after its status is there.
  const goingOn = async (): Promise<unknown> =>
    ((await post('/erase', { phone: BUSY }))['erased'] as Record<string, number>)['going_on'];
  await expect.poll(goingOn, PATIENT).toBe(0);
  for (const text of texts) expect([text, places(text)]).toEqual([text, []]);
  await house.daemon.close();
  for (const text of texts) expect([text, places(text)]).toEqual([text, []]);
});
