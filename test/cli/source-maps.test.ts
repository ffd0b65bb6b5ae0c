/** Stack traces of the build, in a process of its own: the hook is the whole thread's. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { packageFile } from '../../src/package-files.js';

const url = (file: string): string => JSON.stringify(packageFile(file).href);

async function traceOf(code: string): Promise<string> {
  const script = `
    import { mapStackTraces } from ${url('dist/cli/source-maps.js')};
    mapStackTraces();
    ${code}`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  return stdout;
}

it('names the file and line of the source, and keeps frames that have none', async () => {
  const trace = await traceOf(`
    const { Engine } = await import(${url('dist/index.js')});
    await new Engine({}).createSession({}).catch((error) => console.log(error.stack));`);
  const lines = trace.split('\n');
  expect(lines[0]).toMatch(/^ParleyError: SessionRequest\.transport/);
  expect(lines[1]).toMatch(/src\/engine\/engine\.ts:\d+:\d+\)$/);
  expect(trace).toContain('[eval');
  expect(trace).not.toContain('bundle-');
});

it('writes an error whose text cannot be made', async () => {
  const trace = await traceOf(`
    const error = new Error('lost');
    Object.defineProperty(error, 'message', { get() { throw new Error('no message'); } });
    console.log(error.stack);`);
  expect(trace).toMatch(/^Error(: lost)?\n {4}at /);
});
