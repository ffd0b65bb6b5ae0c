import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/setup.ts'],
    // Deadlines of what hangs; nothing is waited for that long on a machine that has time.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Conversations in real time need the processor when they need it: a machine that is busy elsewhere for a second
    // makes the recogniser late. What fails three times is wrong; the report names what had to be repeated.
    retry: 2,
    // Vitest leaves a core to itself, and of two that is half of all.
    maxWorkers: 2,
    coverage: { include: ['src/**'], exclude: ['src/web/**'] },
  },
});
