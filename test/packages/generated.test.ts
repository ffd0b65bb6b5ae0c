import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { format, resolveConfig } from 'prettier';
import { expect, test } from 'vitest';
import { typescriptFiles } from '../../packages/client/generate.mjs';
import { pythonFiles } from '../../packages/python/generate.mjs';
import { modelOf } from '../../scripts/client-operations.mjs';
import { packageFile, packageVersion } from '../../src/package-files.js';
import { Parley } from '../../packages/client/src/index.js';
import { House } from '../daemon/house.js';

/** The generated parts of the clients are those of this daemon's `/openapi.json`. `npm run clients` writes them. */

const house = await House.open();
const { body: api } = await house.ask('/openapi.json');
await house.close();
const model = modelOf(api);

async function generated(): Promise<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const [name, text] of Object.entries(await typescriptFiles(model))) {
    const path = `packages/client/src/generated/${name}`;
    const options = await resolveConfig(fileURLToPath(packageFile('package.json')));
    files[path] = await format(text, { ...options, filepath: path });
  }
  for (const [name, text] of Object.entries(pythonFiles(model, packageVersion()))) {
    files[`packages/python/parley_voice/${name}`] = text;
  }
  return files;
}

test('the generated clients are those of the API (npm run clients)', async () => {
  for (const [path, text] of Object.entries(await generated())) {
    const file = packageFile(path);
    if (process.env['PARLEY_UPDATE_DOCS'] === '1') {
      mkdirSync(new URL('.', file), { recursive: true });
      writeFileSync(file, text);
    }
    expect(readFileSync(file, 'utf8'), path).toBe(text);
  }
});

interface Asked {
  page?: () => Promise<unknown>;
  next?: () => Promise<unknown>;
}

test.each(model.operations.map(({ id, ...operation }) => ({ id, operation })))(
  'the TypeScript client asks for $id',
  async ({ operation: { resource, name, verb, path, params } }) => {
    const asked: string[] = [];
    const parley = new Parley({
      baseUrl: 'http://parley',
      maxRetries: 0,
      fetch: (url, init) => {
        asked.push(`${init?.method ?? ''} ${new URL(url).pathname}`);
        return Promise.resolve(Response.json({}, { status: 404 }));
      },
    });
    const methods = (parley as unknown as Record<string, Record<string, (...given: unknown[]) => Asked>>)[resource];
    const answer = methods?.[name]?.(...params.map(() => 'x'), new Blob([]));
    await expect(answer?.page?.() ?? answer?.next?.() ?? answer).rejects.toMatchObject({ status: 404 });
    expect(asked).toEqual([`${verb} ${path.replace(/\{\w+\}/g, 'x')}`]);
  },
);

test('no operation is left out but those for clients of OpenAI', () => {
  const paths = (api as { paths: Record<string, Record<string, { operationId: string; tags: string[] }>> }).paths;
  const all = Object.values(paths).flatMap((methods) => Object.values(methods));
  const ids = all.filter(({ tags }) => !tags.includes('openai')).map(({ operationId }) => operationId);
  expect(model.operations.map(({ id }) => id)).toEqual(ids);
  expect(ids.length).toBeGreaterThan(90);
});

/** The size of what a bundler makes of a module, minified and compressed. */
async function gzipped(contents: string): Promise<number> {
  const resolveDir = fileURLToPath(packageFile('packages/client/src'));
  const stdin = { contents, resolveDir, loader: 'ts' as const };
  const { outputFiles } = await build({
    stdin,
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2022',
  });
  return gzipSync(outputFiles[0]?.contents ?? '').length;
}

test('the TypeScript client is smaller than 15 kB, and what is not used of it costs nothing', async () => {
  expect(await gzipped("export * from './index.js'")).toBeLessThan(15_000);
  expect(await gzipped("export { verifyWebhook } from './index.js'")).toBeLessThan(1_500);
});
