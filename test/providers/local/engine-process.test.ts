import { afterEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../../../src/clock/virtual.js';
import type { ParleyError } from '../../../src/errors.js';
import { EngineProcess, type EngineProcessOptions } from '../../../src/providers/local/engine-process.js';
import type { EngineLoad } from '../../../src/providers/local/engine-protocol.js';
import { madeModels } from './made-models.js';

const FAULTY = new URL('faulty-child.mjs', import.meta.url);
const opened: EngineProcess[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((engine) => engine.close()));
});

function make(options: Partial<EngineProcessOptions> & { load: EngineLoad }): EngineProcess {
  const engine = new EngineProcess({ provider: 'sherpa', model: 'm', ...options });
  opened.push(engine);
  return engine;
}

function faulty(fault: string, options: Partial<EngineProcessOptions> = {}): EngineProcess {
  return make({ load: { engine: 'listen', config: { fault }, threads: 1, idleMs: null }, entry: FAULTY, ...options });
}

/** A user, and how it was told of the end. */
function join(engine: EngineProcess): { id: number; ended: Promise<ParleyError> } {
  let end: (error: ParleyError) => void = () => undefined;
  const ended = new Promise<ParleyError>((resolve) => (end = resolve));
  return { id: engine.join({ onReply: () => undefined, onEnd: end }), ended };
}

describe('loading', () => {
  it('happens once for all who ask', async () => {
    const { engine, config } = await madeModels().find('made-voice', 'tts');
    const voice = make({ load: { engine: engine ?? 'speak', config, threads: 1, idleMs: null } });
    expect(voice.pid).toBeNull();
    const [one, two] = await Promise.all([voice.ready(), voice.ready()]);
    expect(one).toEqual({ sampleRateHz: 22_050, speakers: 2 });
    expect(two).toEqual(one);
    const { pid } = voice;
    await voice.ready();
    expect(voice.pid).toBe(pid);
  });

  it('survives a model on which sherpa-onnx ends its process, and says what it said', async () => {
    const { config } = await madeModels().find('made-denoiser', 'denoise');
    const model = (config['model'] as { gtcrn: { model: string } }).gtcrn.model;
    const load = {
      engine: 'speak',
      config: { model: { vits: { model, tokens: model } } },
      threads: 1,
      idleMs: null,
    } as const;
    await expect(make({ load }).ready()).rejects.toMatchObject({
      code: 'MODEL_UNUSABLE',
      details: { model: 'm', reason: "'n_speakers' does not exist in the metadata" },
    });
  });

  it.each([
    ['dies', 'MODEL_UNUSABLE', 'The model m cannot be used: the network is upside down'],
    ['missing', 'LOCAL_ENGINE_MISSING', /the package sherpa-onnx-node is not installed: npm install sherpa-onnx-node@/],
    ['alien', 'LOCAL_ENGINE_MISSING', /sherpa-onnx-node has no build for this machine/],
  ])('tells where the process %s', async (fault, code, message) => {
    const engine = faulty(fault);
    await expect(engine.ready()).rejects.toMatchObject({ code });
    await expect(engine.ready()).rejects.toThrow(message);
    expect(engine.pid).toBeNull();
  });

  it('has a deadline', async () => {
    const clock = new VirtualClock();
    const engine = faulty('silent', { clock, loadTimeoutMs: 500 });
    const loading = engine.ready();
    loading.catch(() => undefined);
    await clock.advanceTo(500);
    await expect(loading).rejects.toMatchObject({ code: 'PROVIDER_TIMEOUT', details: { timeoutMs: 500 } });
    expect(engine.pid).toBeNull();
  });
});

describe('a loaded process', () => {
  it('that dies tells everybody, and is started again for the next', async () => {
    const engine = faulty('dies later');
    await engine.ready();
    const { pid } = engine;
    const users = [join(engine), join(engine)];
    engine.send({ type: 'open', id: users[0]?.id ?? 0 });
    for (const { ended } of users) {
      expect(await ended).toMatchObject({
        code: 'PROVIDER_FAILED',
        retryable: true,
        details: { reason: 'out of memory' },
      });
    }
    expect(engine.pid).toBeNull();
    await engine.ready();
    expect(engine.pid).not.toBe(pid);
  });

  it('that is silent when it is suspected is killed, and one that answers is not', async () => {
    const clock = new VirtualClock();
    const [stalls, lives] = [faulty('stalls', { clock, silentMs: 300 }), faulty('', { clock, silentMs: 300 })];
    await Promise.all([stalls.ready(), lives.ready()]);
    const user = join(stalls);
    stalls.suspect();
    stalls.suspect();
    lives.suspect();
    // The ping of the one that lives is answered in real time.
    while (clock.pending > 1) await new Promise((resolve) => setImmediate(resolve));
    const { pid } = lives;
    await clock.advanceTo(300);
    expect(await user.ended).toMatchObject({
      code: 'PROVIDER_FAILED',
      details: { reason: 'it does not answer any more' },
    });
    expect(lives.pid).toBe(pid);
  });

  it('is killed by close, which may come twice, and asked by nobody after that', async () => {
    const engine = faulty('stalls');
    await engine.ready();
    const user = join(engine);
    const { pid } = engine;
    await Promise.all([engine.close(), engine.close()]);
    await engine.close();
    expect(await user.ended).toMatchObject({ code: 'SESSION_CLOSED' });
    expect(() => process.kill(pid ?? 0, 0)).toThrow(/ESRCH/);
    await expect(engine.ready()).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
    expect(await join(engine).ended).toMatchObject({ code: 'SESSION_CLOSED' });
  });

  it('knows none of this process’s keys', async () => {
    process.env['PARLEY_TEST_API_KEY'] = 'key-1234567890';
    const engine = faulty('stalls');
    await engine.ready();
    delete process.env['PARLEY_TEST_API_KEY'];
    const { readFileSync } = await import('node:fs');
    expect(readFileSync(`/proc/${String(engine.pid)}/environ`, 'utf8')).not.toContain('key-1234567890');
  });
});
