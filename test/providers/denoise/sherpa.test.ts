import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Denoiser } from '../../../src/audio/dsp/denoiser.js';
import { SherpaDenoisers, type SherpaDenoiserOptions } from '../../../src/providers/denoise/sherpa.js';
import { madeModels, tones } from '../local/made-models.js';

const FAULTY = new URL('../local/engine/faulty-child.mjs', import.meta.url);
const FRAME = 320;
const opened: SherpaDenoisers[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()));
});

async function make(options: Partial<SherpaDenoiserOptions> = {}): Promise<SherpaDenoisers> {
  const model = await madeModels().find('made-denoiser', 'denoise');
  const denoisers = new SherpaDenoisers({ model, threads: 1, ...options });
  opened.push(denoisers);
  return denoisers;
}

async function faulty(fault: string): Promise<SherpaDenoisers> {
  const model = await madeModels().find('made-denoiser', 'denoise');
  return make({ model: { ...model, config: { fault } }, processEntry: FAULTY });
}

/** Frame by frame at once, with time for nothing else between them. */
function through(denoiser: Denoiser, samples: Int16Array): Int16Array {
  const out: number[] = [];
  for (let at = 0; at < samples.length; at += FRAME) {
    out.push(...denoiser.process(samples.subarray(at, at + FRAME)));
  }
  return Int16Array.from(out);
}

/** Frame by frame, so slowly that the process answers before its answer is late, whatever the load. */
async function unhurried(denoiser: Denoiser, samples: Int16Array): Promise<Int16Array> {
  const out: number[] = [];
  for (let at = 0; at < samples.length; at += FRAME) {
    out.push(...denoiser.process(samples.subarray(at, at + FRAME)));
    await vi.waitFor(
      () => {
        out.push(...denoiser.process(new Int16Array(0)));
        expect(at + FRAME - out.length).toBeLessThan(denoiser.delaySamples - FRAME);
      },
      { timeout: 10_000, interval: 1 },
    );
  }
  return Int16Array.from(out);
}

describe('a denoiser of a model', () => {
  it('gives each sample where it was, without its noise: the made one takes half of everything', async () => {
    const denoiser = await (await make()).open(1, () => undefined);
    const sound = tones('one two three four');
    const out = await unhurried(denoiser, sound);
    expect(sound.length - out.length).toBeLessThanOrEqual(denoiser.delaySamples);
    expect(out.filter((sample, at) => Math.abs(sample - (sound[at] as number) / 2) > 2)).toHaveLength(0);
    expect(out.some((sample) => Math.abs(sample) > 100)).toBe(true);
    denoiser.close();
    denoiser.close();
  });

  it('mixes its output with the input by its strength', async () => {
    const denoiser = await (await make()).open(0.5, () => undefined);
    const sound = tones('two two two two');
    const out = await unhurried(denoiser, sound);
    expect(out.filter((sample, at) => Math.abs(sample - 0.75 * (sound[at] as number)) > 2)).toHaveLength(0);
  });

  it('waits for nobody: what is 200 ms late is given as it was, and what comes of it is left out', async () => {
    const denoiser = await (await faulty('stalls')).open(1, () => undefined);
    const sound = tones('one two three');
    const out = through(denoiser, sound);
    expect(sound.length - out.length).toBe(denoiser.delaySamples);
    expect(out).toEqual(sound.slice(0, out.length));
  });

  it('gives the sound as it was once its process has died, and says so once', async () => {
    const faults: string[] = [];
    const denoisers = await faulty('dies later');
    let died: () => void = () => undefined;
    const death = new Promise<void>((resolve) => (died = resolve));
    const denoiser = await denoisers.open(1, (reason) => {
      faults.push(reason);
      died();
    });
    const sound = tones('one two');
    const first = denoiser.process(sound.subarray(0, FRAME)).slice();
    await death;
    const rest = through(denoiser, sound.subarray(FRAME));
    expect(Int16Array.from([...first, ...rest])).toEqual(sound);
    expect(faults).toEqual(['sherpa failed: out of memory']);
  });

  it('is one of many in one process', async () => {
    const denoisers = await make();
    const all = await Promise.all(Array.from({ length: 4 }, () => denoisers.open(1, () => undefined)));
    const outs = await Promise.all(all.map((one) => unhurried(one, tones('one two three'))));
    for (const out of outs) expect(out.length).toBeGreaterThan(0);
    await denoisers.close();
    await denoisers.close();
    await expect(denoisers.open(1, () => undefined)).rejects.toMatchObject({ code: 'SESSION_CLOSED' });
  });

  it('is refused where the model is another', async () => {
    const model = await madeModels().find('made-voice', 'tts');
    expect(() => new SherpaDenoisers({ model, threads: 1 })).toThrow(/not a noise suppression model/);
  });
});
