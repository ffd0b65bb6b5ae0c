import wabtInit from 'wabt';
import { describe, expect, it } from 'vitest';
import { wasm } from '../../../../src/base/webassembly.js';
import { exportFunctions } from '../../../../src/providers/tts/flite/wasm-exports.js';

const SOURCE = `(module
  (table 1 1 funcref)
  (elem (i32.const 0) $twice)
  (func $twice (param i32) (result i32) (i32.mul (local.get 0) (i32.const 2)))
  (func $hidden (param i32) (result i32) (i32.add (call $twice (local.get 0)) (i32.const 1)))
  (func (export "seen") (result i32) (i32.const 7)))`;

async function assemble(debugNames = true): Promise<Uint8Array> {
  const wabt = await wabtInit();
  return wabt.parseWat('test.wat', SOURCE).toBinary({ write_debug_names: debugNames }).buffer;
}

describe('exporting inner functions of a WebAssembly module', () => {
  it('makes named functions callable and keeps what was exported', async () => {
    const opened = exportFunctions(await assemble(), ['hidden', 'twice']);
    const { exports } = new wasm.Instance(new wasm.Module(opened), {});
    const call = exports as Record<string, (value?: number) => number>;
    expect(call['hidden']?.(20)).toBe(41);
    expect(call['twice']?.(20)).toBe(40);
    expect(call['seen']?.()).toBe(7);
  });

  it('exports the table and lets it grow', async () => {
    const opened = exportFunctions(await assemble(), []);
    const { exports } = new wasm.Instance(new wasm.Module(opened), {});
    const table = exports['table'] as { length: number; grow(by: number): number };
    expect(table.grow(5)).toBe(1);
    expect(table.length).toBe(6);
  });

  it('leaves out the debugging sections', async () => {
    const before = await assemble();
    expect(exportFunctions(before, []).length).toBeLessThan(before.length);
  });

  it('says which function is missing', async () => {
    const module = await assemble();
    expect(() => exportFunctions(module, ['absent'])).toThrow('no function called absent');
  });

  it('finds nothing in a module that was stripped of its names', async () => {
    const module = await assemble(false);
    expect(() => exportFunctions(module, ['hidden'])).toThrow('no function called hidden');
  });

  it('refuses every truncation of a module or makes one of it, and never reads beyond it', async () => {
    const module = await assemble();
    let refused = 0;
    for (let length = 9; length < module.length; length++) {
      try {
        exportFunctions(module.subarray(0, length), ['hidden']);
      } catch (error) {
        expect((error as Error).message).toMatch(/ends in the middle|no function called/);
        refused++;
      }
    }
    expect(refused).toBeGreaterThan(module.length / 2);
  });
});
