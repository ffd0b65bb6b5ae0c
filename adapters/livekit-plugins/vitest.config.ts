import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const source = (path: string): string => fileURLToPath(new URL(`../../src/${path}`, import.meta.url));

/** The tests run against parley's source, as the doubles that they share with it do. */
export default defineConfig({
  resolve: {
    alias: [
      { find: /^@parley-voice\/parley$/, replacement: source('index.ts') },
      { find: /^@parley-voice\/parley\/providers$/, replacement: source('providers/index.ts') },
    ],
  },
  test: { include: ['test/**/*.test.ts'], testTimeout: 20_000 },
});
