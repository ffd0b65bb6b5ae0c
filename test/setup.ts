/** Every test file must leave nothing running: no timer, socket, child process or worker thread. */
import { afterAll, beforeAll } from 'vitest';
import { assertNothingLeft, runningResources, type RunningResources } from '../src/testing/leaks.js';

let before: RunningResources;

beforeAll(() => {
  before = runningResources();
});

/** werift waits for up to 1.5 s for another try of a report that it could not send, also when it has been closed meanwhile. */
const GRACE_MS = 5_000;

// Defined before any hook of the test file itself, so it runs after all of them.
afterAll(async () => {
  await assertNothingLeft(before, { graceMs: GRACE_MS });
});
