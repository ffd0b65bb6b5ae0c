import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/base/virtual-clock.js';
import { Refusals } from '../../src/engine/refusals.js';
import { ParleyError } from '../../src/base/errors.js';

const refused = (): ParleyError => new ParleyError('PROVIDER_REFUSED', { provider: 'acme', reason: 'HTTP 401' });

describe('Refusals', () => {
  it('ask a vendor again every minute until it accepts the key', async () => {
    const clock = new VirtualClock();
    const accepted: string[] = [];
    const refusals = new Refusals(clock, (name) => accepted.push(name));
    const provider = { name: 'acme' };
    let asked = 0;
    const warm = (): Promise<void> => (++asked < 3 ? Promise.reject(refused()) : Promise.resolve());
    expect(await refusals.warmUp(provider, warm)).toContain('acme refused the request: HTTP 401');
    expect(refusals.of(provider)?.code).toBe('PROVIDER_REFUSED');
    await clock.runUntil(() => accepted.length > 0, 600_000);
    expect([asked, clock.nowMs(), accepted]).toEqual([3, 120_000, ['acme']]);
    expect(refusals.of(provider)).toBeNull();
  });

  it('are none where it cannot be reached; what no time heals is thrown', async () => {
    const refusals = new Refusals(new VirtualClock(), () => undefined);
    const provider = { name: 'acme' };
    const down = new ParleyError('PROVIDER_FAILED', { provider: 'acme', reason: 'ECONNREFUSED' });
    expect(await refusals.warmUp(provider, () => Promise.reject(down))).toContain('calls will try it again');
    expect(refusals.of(provider)).toBeNull();
    const unknown = new ParleyError('MODEL_UNKNOWN', { name: 'x', known: '' });
    await expect(refusals.warmUp(provider, () => Promise.reject(unknown))).rejects.toBe(unknown);
  });

  it('end with the engine', async () => {
    const clock = new VirtualClock();
    const refusals = new Refusals(clock, () => undefined);
    let asked = 0;
    await refusals.warmUp({ name: 'acme' }, () => {
      asked++;
      return Promise.reject(refused());
    });
    refusals.close();
    refusals.close();
    await clock.runUntil(() => false, 300_000);
    expect(asked).toBe(1);
  });
});
