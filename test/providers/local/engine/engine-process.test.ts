import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { onnxFile } from '../../../../fixtures/lib/onnx.mjs';
import { VirtualClock } from '../../../../src/base/virtual-clock.js';
import type { ParleyError } from '../../../../src/base/errors.js';
import { EngineProcess, type EngineProcessOptions } from '../../../../src/providers/local/engine/engine-process.js';
import type { EngineLoad } from '../../../../src/providers/local/engine/engine-protocol.js';
import { inspectModel } from '../../../../src/providers/local/inspect-model.js';
import { madeModels } from '../made-models.js';

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

/** A user, and how it learned of the end. */
function join(engine: EngineProcess): { id: number; ended: Promise<ParleyError> } {
  let end: (error: ParleyError) => void = () => undefined;
  const ended = new Promise<ParleyError>((resolve) => (end = resolve));
  return { id: engine.join({ onReply: () => undefined, onEnd: end }), ended };
}

/** It has ended by itself; its exit is an event of this loop. */
async function ended(engine: EngineProcess): Promise<void> {
  const late = AbortSignal.timeout(5000);
  while (engine.pid !== null) {
    late.throwIfAborted();
    await new Promise((resolve) => setImmediate(resolve));
  }
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

  it('that stays loaded is started again before anybody asks, where it has lived a while', async () => {
    const clock = new VirtualClock();
    const engine = faulty('dies later', { clock });
    await engine.ready();
    await clock.advanceTo(5000);
    const { pid } = engine;
    const { id, ended: reported } = join(engine);
    engine.send({ type: 'open', id });
    expect(await reported).toMatchObject({ code: 'PROVIDER_FAILED' });
    await new Promise((resolve) => setImmediate(resolve));
    expect(engine.pid).not.toBeNull();
    expect(engine.pid).not.toBe(pid);
    await engine.ready();
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
      details: { reason: 'it stopped answering' },
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

  it('is ended for being idle when nobody waits or holds it, and started again', async () => {
    const engine = make({
      entry: FAULTY,
      load: { engine: 'listen', config: { fault: 'idles' }, threads: 1, idleMs: 1 },
    });
    await engine.ready();
    const { pid } = engine;
    const asked = async (): Promise<void> => {
      const id = await new Promise<number>((resolve, reject) => {
        const own = engine.join({ onReply: () => resolve(own), onEnd: reject });
        engine.send({ type: 'open', id: own });
      });
      engine.leave(id);
    };
    const release = engine.hold();
    await asked();
    await asked();
    expect(engine.pid).toBe(pid);
    release();
    release();
    await asked();
    await ended(engine);
    await engine.ready();
    expect(engine.pid).not.toBe(pid);
  });

  it('says itself that it is idle', async () => {
    const { engine, config } = await madeModels().find('made-denoiser', 'denoise');
    const own = make({ load: { engine: engine ?? 'denoise', config, threads: 1, idleMs: 1 } });
    await own.ready();
    await ended(own);
  });

  it('fails where the runtime throws, which sherpa-onnx takes for nothing heard', async () => {
    const folder = await mkdtemp(joinPath(tmpdir(), 'parley-model-'));
    try {
      const each = { type: 'int32' as const, shape: ['N'] };
      const numbers = { vocab_size: 1, lfr_window_size: 7, lfr_window_shift: 6, normalize_samples: 0, with_itn: 14 };
      const languages = { lang_auto: 0, lang_zh: 3, lang_en: 4, lang_yue: 7, lang_ja: 11, lang_ko: 12 };
      const flat = Array.from({ length: 560 }, () => 1).join(',');
      const model = onnxFile({
        inputs: [
          { name: 'x', type: 'float', shape: ['N', 'T', 80] },
          ...['x_length', 'language', 'text_norm'].map((name) => ({ name, ...each })),
        ],
        outputs: [{ name: 'logits', type: 'float', shape: ['N', 'T', 80] }],
        nodes: [{ op: 'Identity', inputs: ['x'], outputs: ['logits'] }],
        metadata: { ...numbers, ...languages, without_itn: 15, neg_mean: flat, inv_stddev: flat },
      });
      await Promise.all([
        writeFile(joinPath(folder, 'model.onnx'), model),
        writeFile(joinPath(folder, 'tokens.txt'), 'a 0\n'),
      ]);
      const { engine, config } = await inspectModel(folder);
      const own = make({ load: { engine: engine ?? 'transcribe', config, threads: 1, idleMs: null } });
      const reply = await new Promise((resolve, reject) => {
        const id = own.join({ onReply: resolve, onEnd: reject });
        own.send({ type: 'transcribe', id, samples: new Int16Array(16_000), language: null, hotwords: null });
      });
      expect(reply).toMatchObject({
        type: 'failed',
        reason: expect.stringContaining('Got invalid dimensions for input: x') as string,
      });
    } finally {
      await rm(folder, { recursive: true });
    }
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
