/**
 * What the daemon adds to the first token of a chat: the time from a request to the first event with text, through
 * `POST /chat/completions` and straight from the model's server, in turns. The model is an OpenAI-compatible server that
 * answers at once; it, the daemon and the client have a process each.
 *
 *   npm run build && node bench/run.mjs chat [--count=1000]
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Pool } from 'undici';
import { machine } from './lib/machine.js';
import { markdownTable, quantile } from './lib/numbers.js';

const BIN = fileURLToPath(new URL('../bin/parley.js', import.meta.url));
const KEY = 'sk_bench';
const WARM_UP = 200;
const READY_MS = 60_000;

const { values } = parseArgs({
  options: { count: { type: 'string', default: '1000' }, model: { type: 'boolean', default: false } },
});
if (values.model) serveModel();
else await measure(Number(values.count));

/** The model's server: one word, at once. Prints its port. */
function serveModel(): void {
  const chunk = (delta: object, finish_reason: string | null): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 0, model: 'instant', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
  const answer = `${chunk({ content: 'Yes.' }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(answer);
    });
  });
  server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
}

async function measure(count: number): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const children: ChildProcess[] = [];
  try {
    const model = spawn(process.execPath, [process.argv[1] ?? '', '--model'], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(model);
    const modelUrl = `http://127.0.0.1:${await lineOf(model, /^\d+$/)}`;
    const config = join(dataDir, 'parley.json');
    const models = { instant: { baseUrl: `${modelUrl}/v1` } };
    writeFileSync(config, JSON.stringify({ models, port: 0, limits: { requestsPerMinute: 1_000_000 } }));
    const daemon = spawn(process.execPath, [BIN, 'serve', '--config', config], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], PARLEY_DATA_DIR: dataDir, PARLEY_API_KEY: KEY },
    });
    children.push(daemon);
    daemon.stderr?.resume();
    const address = new URL((await lineOf(daemon, /http:\/\/[\d.]+:\d+/)).match(/http:\/\/[\d.]+:\d+/)?.[0] ?? '');
    const pools = [new Pool(modelUrl, { connections: 1 }), new Pool(address.origin, { connections: 1 })] as const;
    await ready(pools[1]);
    const message = { role: 'user', content: 'Have you bread?' };
    const tool = (index: number): object => ({
      name: `tool_${String(index)}`,
      description: 'Does something.',
      webhook: 'https://example.com/hook',
      params: [{ name: 'what', type: 'string', required: true, description: 'What to do.' }],
    });
    const agent = { prompt: 'You sell bread. '.repeat(60), llm: { model: 'instant' } };
    const chats: Record<string, object> = {
      'a plain agent': { agent: { agent_config: agent }, messages: [message] },
      'ten tools, forty messages': {
        agent: { agent_config: { ...agent, tools: Array.from({ length: 10 }, (_, index) => tool(index)) } },
        messages: [
          ...Array.from({ length: 39 }, (_, at) => ({ ...message, role: at % 2 === 0 ? 'user' : 'assistant' })),
          message,
        ],
      },
    };
    const rows: (readonly (string | number)[])[] = [['chat', 'direct p50', 'p95', 'parley p50', 'p95', 'added p50']];
    for (const [name, body] of Object.entries(chats)) {
      const direct: number[] = [];
      const ours: number[] = [];
      const plain = JSON.stringify({
        model: 'instant',
        stream: true,
        messages: (body as { messages: object[] }).messages,
      });
      for (let round = 0; round < WARM_UP + count; round++) {
        const one = await firstTokenMs(pools[0], '/v1/chat/completions', plain);
        const other = await firstTokenMs(pools[1], '/chat/completions', JSON.stringify(body));
        if (round < WARM_UP) continue;
        direct.push(one);
        ours.push(other);
      }
      const [p50, ourP50] = [quantile(direct, 0.5), quantile(ours, 0.5)];
      rows.push([name, p50, quantile(direct, 0.95), ourP50, quantile(ours, 0.95), ourP50 - p50]);
    }
    console.log(
      `Milliseconds to the first token, ${String(count)} requests each.\n\n${markdownTable(rows)}\n\n${machine()}`,
    );
    await Promise.all(pools.map((pool) => pool.destroy()));
  } finally {
    for (const child of children) child.kill('SIGTERM');
    for (const child of children) if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Reads on to the end, so that the connection can be used again. */
async function firstTokenMs(pool: Pool, path: string, body: string): Promise<number> {
  const startMs = performance.now();
  const headers = { authorization: KEY, 'content-type': 'application/json' };
  const response = await pool.request({ method: 'POST', path, headers, body });
  let firstMs = Number.NaN;
  let text = '';
  for await (const piece of response.body) {
    text += String(piece);
    if (Number.isNaN(firstMs) && text.includes('"content":"Yes."')) firstMs = performance.now() - startMs;
  }
  if (Number.isNaN(firstMs)) throw new Error(`no first token: ${String(response.statusCode)} ${text.slice(0, 300)}`);
  return firstMs;
}

async function ready(pool: Pool): Promise<void> {
  const startMs = performance.now();
  for (;;) {
    const { statusCode, body } = await pool.request({ method: 'GET', path: '/readyz' });
    await body.dump();
    if (statusCode === 200) return;
    if (performance.now() - startMs > READY_MS) throw new Error('the daemon is not ready');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function lineOf(child: ChildProcess, pattern: RegExp): Promise<string> {
  if (child.stdout === null) throw new Error('no output');
  for await (const line of createInterface({ input: child.stdout })) if (pattern.test(line)) return line;
  throw new Error('the process ended too early');
}
