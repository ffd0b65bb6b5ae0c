import { defineConfig } from 'vitest/config';

// In real time, many calls at once: `npm run test:vendors`.
export default defineConfig({
  test: {
    include: ['test/vendors/drive/*.drive.ts'],
    testTimeout: 120_000,
    fileParallelism: false,
  },
});
