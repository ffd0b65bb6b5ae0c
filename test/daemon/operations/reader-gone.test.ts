import { afterEach, describe, expect, it } from 'vitest';
import { Served } from '../served.js';

let served: Served | undefined;

afterEach(async () => {
  await served?.close();
});

describe('a daemon whose log nobody reads any more', () => {
  it('goes on', async () => {
    served = await Served.start({ PARLEY_LOG_LEVEL: 'debug' });
    await served.until('/healthz');
    served.process.stdout?.destroy();
    served.process.stderr?.destroy();
    for (let count = 0; count < 5; count++) expect((await fetch(`${served.address}/healthz`)).status).toBe(200);
    expect(served.process.exitCode).toBeNull();
  });
});
