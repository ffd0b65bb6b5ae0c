import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/setup.ts'],
    testTimeout: 20_000,
    // Vitest leaves a core to itself, and of two that is half of all.
    maxWorkers: 2,
    coverage: { include: ['src/**'], exclude: ['src/web/**'] },
  },
});
