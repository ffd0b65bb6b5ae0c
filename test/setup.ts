/** Every test file must leave nothing running: no timer, socket, child process or worker thread. */
import { afterAll, beforeAll } from 'vitest';
import { assertNothingLeft, runningResources, type RunningResources } from '../src/testing/leaks.js';

let before: RunningResources;

beforeAll(() => {
  before = runningResources();
});

// Defined before any hook of the test file itself, so it runs after all of them.
afterAll(async () => {
  await assertNothingLeft(before);
});
