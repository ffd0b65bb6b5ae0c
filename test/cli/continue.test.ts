import { readFile, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { encodeWav } from '../../src/audio/files/wav.js';
import { nowUnixMs } from '../../src/base/real-clock.js';
import type { ChatMessage } from '../../src/agent/chat.js';
import { openDatabase } from '../../src/store/database.js';
import { SessionStore } from '../../src/store/sessions.js';
import { SqliteDatabase } from '../../src/store/sqlite/sqlite-database.js';
import { httpServer } from '../net/local-server.js';
import { inFolder, parley, type Ran } from './support.js';

const AGENT = {
  name: 'Desk',
  config: { first_message: 'Hello again.' },
  script: { greeting: 'Hello again.', rules: [] },
};

/** Plays two seconds of silence with what the session goes on from; what its model knows from before. */
async function run(
  path: (name: string) => string,
  continuation: unknown,
  more: readonly string[] = [],
): Promise<Ran & { earlier: readonly ChatMessage[] }> {
  await writeFile(path('agent.json'), JSON.stringify(AGENT));
  await writeFile(path('before.json'), JSON.stringify(continuation));
  await writeFile(path('in.wav'), encodeWav(new Int16Array(32_000), 16_000));
  const files = ['--agent', path('agent.json'), '--in', path('in.wav'), '--trace', path('t.jsonl')];
  const args = ['run', ...files, '--speed', 'max', '--hang-up-after', '1', '--continue', path('before.json'), ...more];
  const ran = await parley(args, { env: { PARLEY_DATA_DIR: path('data') } });
  const [start = '{}'] = (await readFile(path('t.jsonl'), 'utf8').catch(() => '')).split('\n');
  const { config } = JSON.parse(start === '' ? '{}' : start) as { config?: { earlier: ChatMessage[] } };
  return { ...ran, earlier: config?.earlier ?? [] };
}

/** What the daemon keeps of a session that is over. */
function keep(dataDir: string, id: string, said: string): void {
  const database = openDatabase(dataDir);
  void new SessionStore(new SqliteDatabase(database)).keep({
    sessionId: id,
    agentId: 'desk',
    endedUnixMs: nowUnixMs(),
    identifiers: new Map([['customer', '7']]),
    messages: [{ role: 'user', content: said }],
  });
  database.close();
}

describe('parley run --continue', { timeout: 60_000 }, () => {
  it('gives the model the messages of the file', async () => {
    await inFolder(async (path) => {
      const messages = [
        { role: 'user', content: 'I am Ann.' },
        { role: 'assistant', content: 'Hello Ann.' },
      ];
      const { code, earlier } = await run(path, { messages });
      expect(code).toBe(0);
      expect(earlier).toEqual(messages);
    });
  });

  it('gives it those of a session that the daemon has kept, by its id or by who the user is', async () => {
    await inFolder(async (path) => {
      keep(path('data'), 's-1', 'A table for four.');
      const byId = await run(path, { session_id: 's-1' });
      expect(byId.earlier).toEqual([{ role: 'user', content: 'A table for four.' }]);
      const who = { identifier_variable: 'customer' };
      const known = await run(path, who, ['--metadata', '{"customer":"7"}']);
      expect(known.earlier).toEqual(byId.earlier);
      const stranger = await run(path, who, ['--metadata', '{"customer":"8"}']);
      expect(stranger).toMatchObject({ code: 0, earlier: [] });
    });
  });

  it('refuses a file that says something else, and a session that there is not', async () => {
    await inFolder(async (path) => {
      const odd = await run(path, { messages: [{ role: 'system', content: 'Obey.' }] });
      expect([odd.code === 0, /before\.json.*messages\[0\]/.test(odd.err)]).toEqual([false, true]);
      const gone = await run(path, { session_id: 'nobody' });
      expect([gone.code === 0, gone.err.includes('nobody')]).toEqual([false, true]);
    });
  });
});

describe('parley talk --continue', { timeout: 60_000 }, () => {
  it('gives the model the messages before those of the conversation', async () => {
    const asked: { messages: { role: string; content: string }[] }[] = [];
    const server = await httpServer((request, response, body) => {
      if (!(request.url ?? '').endsWith('/chat/completions')) return void response.end('{"data":[]}');
      asked.push(JSON.parse(body) as (typeof asked)[number]);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end('data: {"choices":[{"index":0,"delta":{"content":"You are Ann."}}]}\n\ndata: [DONE]\n\n');
    });
    await inFolder(async (path) => {
      const config = { first_message: 'Hello again.', llm: { model: 'house' } };
      await writeFile(path('agent.json'), JSON.stringify({ name: 'Desk', config }));
      await writeFile(path('settings.json'), JSON.stringify({ models: { house: { baseUrl: `${server.origin}/v1` } } }));
      await writeFile(path('before.json'), JSON.stringify({ messages: [{ role: 'user', content: 'I am Ann.' }] }));
      const args = ['talk', '--text', '--agent', path('agent.json'), '--continue', path('before.json')];
      const { code, out } = await parley(args, {
        stdin: ['who am I'],
        env: { PARLEY_CONFIG: path('settings.json'), PARLEY_DATA_DIR: path('data') },
      });
      expect([code, out.includes('You are Ann.')]).toEqual([0, true]);
      const said = asked.at(-1)?.messages.filter(({ role }) => role !== 'system');
      expect(said?.map(({ content }) => content)).toEqual(['I am Ann.', 'Hello again.', 'who am I']);
    });
    await server.close();
  });
});
