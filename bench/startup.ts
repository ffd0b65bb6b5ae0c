/**
 * How long starting takes: importing the library, from there to the first sound of the first session's greeting (Silero
 * loaded; recogniser, model and voice are doubles that take no time), and `parley serve` until it answers and until its engines are warm,
 * with the memory resident at that moment. Fresh processes, in turns, medians.
 *
 *   npm run build && node bench/run.mjs startup [--rounds=5]
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { freePort } from '../scripts/daemon-process.mjs';
import { machine } from './lib/machine.js';
import { markdownTable, median } from './lib/numbers.js';

const ROOT = new URL('../', import.meta.url);
const LIBRARY = new URL('dist/index.js', ROOT).href;
const BIN = fileURLToPath(new URL('bin/parley.js', ROOT));
const GIVE_UP_MS = 60_000;

/** A session of the library `parley` up to its first frame of speech. */
const GREETING = `
  const nothing = async () => {};
  const stt = { name: 'none', virtualTime: true, warmUp: nothing, close: nothing, open: async () => ({
    push() {}, speechStarted() {}, speechStopped() {}, endTurn() {}, close: nothing }) };
  const llm = { name: 'none', virtualTime: true, warmUp: nothing, close: nothing, async *complete() {} };
  const tts = { name: 'hum', virtualTime: true, warmUp: nothing, close: nothing,
    voices: () => [{ id: 'hum', name: 'Hum', language: 'en-US', sampleRateHz: 16000 }],
    async *synthesize() { yield { samples: new Int16Array(16000).fill(3000), sampleRateHz: 16000, words: [] }; } };
  const engine = new parley.Engine();
  let hear;
  const heard = new Promise((resolve) => (hear = resolve));
  const transport = new parley.MemoryTransport({ onFrame: (frame) => { if (frame !== null) hear(); } });
  const agent = { prompt: 'You take bookings.', first_message: 'Good evening' };
  const session = await engine.createSession({ agent, transport, stt, llm, tts });
  void session.run();
  await heard;
  void session.close().then(() => engine.close());
`;

interface Start {
  wallMs: number;
  cpuMs: number;
  rssMb: number;
}

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } });
const starts: Record<string, Start[]> = {};
const keep = (name: string, start: Start): void => void (starts[name] ??= []).push(start);

console.log(`${machine()}\n`);
for (let round = 0; round <= Number(values.rounds); round++) {
  const nothing = await inNode('');
  const library = await inNode(`await import(${JSON.stringify(LIBRARY)});`);
  const greeting = await inNode(GREETING, `const parley = await import(${JSON.stringify(LIBRARY)});`);
  const { healthy, ready } = await serve();
  if (round === 0) continue; // the files were not in memory yet
  keep('node, doing nothing', nothing);
  keep('import of the library', library);
  keep('from there to the first sound of a greeting', greeting);
  keep('parley serve to /healthz', healthy);
  keep('parley serve to /readyz', ready);
}
const rows = Object.entries(starts).map(([name, all]) => [
  name,
  median(all.map(({ wallMs }) => wallMs)),
  median(all.map(({ cpuMs }) => cpuMs)),
  median(all.map(({ rssMb }) => rssMb)),
]);
console.log(`${markdownTable([['start', 'ms', 'CPU ms', 'RSS MB'], ...rows])}\n\n${machine()}`);

/** What `script` takes in a fresh process after `before`, not counting Node's own start but for the script "". */
function inNode(script: string, before = ''): Promise<Start> {
  const source =
    script === ''
      ? `const wallMs = performance.now(); const c = process.cpuUsage();`
      : `${before} const t = performance.now(); const b = process.cpuUsage(); ${script}
         const wallMs = performance.now() - t; const c = process.cpuUsage(b);`;
  const report = `console.log(JSON.stringify({ wallMs, cpuMs: (c.user + c.system) / 1000, rssMb: process.memoryUsage().rss / 1e6 }));`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', `${source} ${report}`], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return new Promise((resolve, reject) => {
    let out = '';
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
    child.once('close', (code) => {
      if (code === 0) resolve(JSON.parse(out) as Start);
      else reject(new Error(`node ended with code ${String(code)}`));
    });
  });
}

/** Times from the moment that the process is asked for. */
async function serve(): Promise<{ healthy: Start; ready: Start }> {
  const dataDir = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  // A port known beforehand: the address is printed only when the agents have been checked.
  const port = await freePort();
  const address = `http://127.0.0.1:${String(port)}`;
  const startMs = performance.now();
  const child = spawn(process.execPath, [BIN, 'serve', '--port', String(port)], {
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], PARLEY_DATA_DIR: dataDir },
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  try {
    const until = async (path: string): Promise<Start> => {
      while (performance.now() - startMs < GIVE_UP_MS) {
        const response = await fetch(new URL(path, address)).catch(() => null);
        await response?.arrayBuffer();
        if (response?.ok === true) return { wallMs: performance.now() - startMs, ...usage(child.pid ?? 0) };
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      throw new Error(`${path} did not answer in time`);
    };
    const healthy = await until('/healthz');
    return { healthy, ready: await until('/readyz') };
  } finally {
    child.kill('SIGTERM');
    await ended;
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** A child's processor time and resident memory, from Linux's /proc; NaN on other systems. */
function usage(pid: number): { cpuMs: number; rssMb: number } {
  try {
    const fields =
      readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
        .split(') ')[1]
        ?.split(' ') ?? [];
    const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
    const rssKb = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
    // utime and stime, in hundredths of a second.
    return { cpuMs: (Number(fields[11]) + Number(fields[12])) * 10, rssMb: (rssKb * 1024) / 1e6 };
  } catch {
    return { cpuMs: Number.NaN, rssMb: Number.NaN };
  }
}
