import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

/** Browser and vendor tests that wait for what they see, however long it takes. */
const EVENTUAL =
  'test/e2e/{accessibility,browser-packages,console,console-numbers,evals,forms,vendor-faults,webrtc/lost-network,widget,widget-calls}.test.ts';
/** Tests that replace or reload modules: what they import is theirs alone. */
const MOCKS = ['test/base/native.test.ts', 'test/engine/private-names.test.ts', 'test/daemon/evals/runs.test.ts'];
/** Tests outside test/e2e that need the processor when they need it. */
const REAL_TIME = [
  'test/eval/call/transport-line.test.ts',
  'test/transports/rtp/{ffmpeg,loopback}.test.ts',
  'test/transports/webrtc/bad-network.test.ts',
];
/** The suites of the example agents hold hundreds of calls on threads of their own. */
const EVALS = 'test/eval/suites.test.ts';
/** Vitest leaves a core to itself, and of two that is half of all. */
const parallel = { maxWorkers: 2, sequence: { groupOrder: 0 } };

/** The package of React has React 18 of its own; with these its tests use the one of the root, React 19. */
const REACT_19 = {
  find: /^(react|react-dom)($|\/)/,
  replacement: `${fileURLToPath(new URL('node_modules/', import.meta.url))}$1$2`,
};

export default defineConfig({
  // Tests need no build.
  resolve: {
    alias: [
      {
        find: '@parley-voice/web',
        replacement: fileURLToPath(new URL('packages/web/src/index.ts', import.meta.url)),
      },
    ],
  },
  test: {
    coverage: { include: ['src/**'], exclude: ['src/web/**'] },
    // What is built needs no transformation.
    server: { deps: { external: [/\/dist\//] } },
    setupFiles: ['test/setup.ts'],
    globalSetup: ['test/global-setup.ts'],
    // Deadlines of what hangs; nothing is waited for that long on a machine that has time.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    projects: [
      {
        extends: true,
        // One worker loads each module once, for all of its test files: a quarter of the time of them all.
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts', 'packages/*/test/**/*.test.{ts,tsx}'],
          exclude: ['test/e2e/**', EVALS, ...MOCKS, ...REAL_TIME],
          isolate: false,
          ...parallel,
        },
      },
      {
        extends: true,
        resolve: { alias: [REACT_19] },
        test: {
          name: 'react-19',
          include: ['packages/react/test/*.test.tsx'],
          provide: { react: '19' },
          isolate: false,
          ...parallel,
        },
      },
      { extends: true, test: { name: 'mocks', include: MOCKS, ...parallel } },
      { extends: true, test: { name: 'e2e', include: [EVENTUAL], ...parallel } },
      { extends: true, test: { name: 'evals', include: [EVALS], maxWorkers: 1, sequence: { groupOrder: 2 } } },
      {
        // Conversations in real time need the processor when they need it: one at a time, behind all other tests, or
        // beside them where they have low priority (scripts/test.mjs).
        extends: true,
        test: {
          name: 'real-time',
          include: ['test/e2e/**/*.test.ts', ...REAL_TIME],
          exclude: [EVENTUAL],
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
