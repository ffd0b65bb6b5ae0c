import { afterEach, describe, expect, it, vi } from 'vitest';
import * as native from '../../src/base/native.js';

async function loadAnew(): Promise<typeof native> {
  vi.resetModules();
  return import('../../src/base/native.js');
}

afterEach(() => {
  vi.unstubAllEnvs();
  vi.doUnmock('../../src/package-files.js');
});

describe('the native addon', () => {
  it('is not loaded with PARLEY_NATIVE=0, and says so', async () => {
    vi.stubEnv('PARLEY_NATIVE', '0');
    const anew = await loadAnew();
    expect(anew.nativeKernels()).toBeNull();
    expect(anew.nativeStatus()).toEqual({ loaded: false, reason: 'disabled by PARLEY_NATIVE=0' });
  });

  it.each([
    ['is missing', './nothing/', /^not built/],
    ['is no addon', './native.test.ts?', /^does not load: /],
  ])('is done without when the file %s', async (_, place, reason) => {
    vi.stubEnv('PARLEY_NATIVE', '1');
    vi.doMock('../../src/package-files.js', () => ({ packageFile: () => new URL(place, import.meta.url) }));
    const anew = await loadAnew();
    expect(anew.nativeKernels()).toBeNull();
    expect(anew.nativeStatus()).toEqual({ loaded: false, reason: expect.stringMatching(reason) as unknown });
  });
});

const kernels = native.nativeKernels();

describe.skipIf(kernels === null)('the arguments of a native function', () => {
  const call = (...args: unknown[]): unknown => (kernels!.sileroWindow as (...all: unknown[]) => unknown)(...args);

  it.each([
    ['none', []],
    ['too few', [new Float32Array(320)]],
    ['of other kinds', [new Float64Array(320), new Int16Array(512)]],
    ['plain arrays', [Array(320).fill(0), Array(512).fill(0)]],
    ['null and undefined', [null, undefined]],
    ['a DataView', [new DataView(new ArrayBuffer(1280)), new Int16Array(512)]],
  ])('are refused: %s', (_, args) => {
    expect(() => call(...args)).toThrow(TypeError);
  });

  it('are refused when their memory is gone', () => {
    const samples = new Int16Array(512);
    structuredClone(samples.buffer, { transfer: [samples.buffer] });
    expect(() => call(new Float32Array(320), samples)).toThrow('samples must have 512 elements, not 0');
  });

  it.each([
    ['a count beyond them', 3],
    ['half a window', 1.5],
    ['less than none', -1],
  ])('are refused together: %s', (_, count) => {
    const [states, samples] = [new Float32Array(2 * 320), new Int16Array(2 * 512)];
    expect(() => kernels!.sileroWindows(states, samples, count, new Float32Array(2))).toThrow(RangeError);
  });

  it('are named in the message', () => {
    expect(() => call(new Float32Array(320), new Uint8Array(512))).toThrow('samples must be a Int16Array');
  });
});
