import { defineConfig } from 'vitest/config';

export default defineConfig({ test: { include: ['*.sdk.{mjs,ts}', '*.test.{mjs,ts}'], testTimeout: 20_000 } });
