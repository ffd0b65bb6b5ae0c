import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { callChunk, finishChunk, OpenAiDouble, stream, textChunk } from '../../../test/providers/llm/openai-double.js';

const file = (path: string): string => fileURLToPath(new URL(`../${path}`, import.meta.url));
const KEY = 'a-private-key-of-this-test';

/** Both packages as they are built: `npm run build` here and at the root. */
it('the plug-in of the docs answers for an agent of `parley serve`, tools and all', async () => {
  const double = new OpenAiDouble();
  const folder = mkdtempSync(join(tmpdir(), 'parley-ai-sdk-'));
  const agent = join(folder, 'agent.json');
  writeFileSync(
    agent,
    JSON.stringify({
      name: 'Bakery',
      config: { prompt: 'You sell bread.', llm: { model: 'ai-sdk/gpt-4o-mini' } },
      extensions: { functions: ['look_up_order'] },
    }),
  );
  double.answer = (response, { body }) => {
    const call = {
      index: 0,
      id: 'c1',
      type: 'function',
      function: { name: 'look_up_order', arguments: '{"number":"A1"}' },
    };
    const isTold = JSON.stringify(body).includes('baking');
    if (isTold) stream(response, [textChunk('It is in the oven.'), finishChunk('stop')]);
    else stream(response, [callChunk(call), finishChunk('tool_calls')]);
  };
  const plugins = ['plugin/ai-sdk.mjs', '../../examples/plugin/bakery.mjs'].flatMap((path) => ['--plugin', file(path)]);
  const daemon = spawn(
    process.execPath,
    [file('../../bin/parley.js'), 'serve', ...plugins, '--agent', agent, '--data-dir', folder, '--port', '0'],
    {
      env: {
        PATH: process.env['PATH'],
        PARLEY_API_KEY: KEY,
        OPENAI_API_KEY: 'sk-test-0123456789',
        OPENAI_BASE_URL: await double.listen(),
      },
    },
  );
  let said = '';
  daemon.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  daemon.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  try {
    await expect.poll(() => said, { timeout: 15_000 }).toContain('Talk to it: ');
    const address = /Talk to it: (\S+)\//.exec(said)?.[1] ?? '';
    const response = await fetch(`${address}/chat/completions`, {
      method: 'POST',
      headers: { authorization: KEY, 'content-type': 'application/json' },
      body: JSON.stringify({
        agent: { agent_id: 'bakery' },
        messages: [{ role: 'user', content: 'Where is my order?' }],
      }),
    });
    expect(await response.text(), said).toContain('in the oven');
    expect(JSON.stringify(double.requests.at(-1)?.body)).toContain('baking');
  } finally {
    daemon.kill();
    await once(daemon, 'exit');
    await double.close();
    rmSync(folder, { recursive: true });
  }
}, 40_000);
