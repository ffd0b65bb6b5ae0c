import { describe, expect, it } from 'vitest';
import { decodeG711, encodeG711 } from '../../../../src/audio/codecs/g711.js';
import { transportContract } from '../../../../src/testing/contracts/transport-contract.js';
import { NetworkRig, numbersOf } from './support.js';

const OWN = '+12025550199';

/** An answered call to somebody who says nothing. */
async function answeredCall(number: Record<string, unknown> = {}) {
  const rig = new NetworkRig(numbersOf({ number: '+12025550101', ringMs: 0, steps: [{ wait: 600_000 }], ...number }));
  const call = rig.network.placeCall({ from: OWN, to: '+12025550101', ringTimeoutMs: 10_000 });
  await rig.until(() => call.state === 'answered');
  return { rig, call };
}

describe('the line of a simulated call', async () => {
  const checks = await transportContract(async () => {
    const { rig, call } = await answeredCall();
    return {
      transport: call.line,
      heard: () => Int16Array.from((rig.heard.get(call)?.far ?? []).flatMap((frame) => [...frame])),
      asHeard: (samples) => decodeG711('mulaw', encodeG711('mulaw', samples)),
      hangUp: () => call.finish({ cause: 'hangup', by: 'remote', reason: 'test' }),
      settle: () => rig.clock.advanceBy(500),
      dispose: () => rig.network.close(),
      sendDigits: (digits) => call.line.digits(digits),
    };
  });
  for (const { name, run } of checks) it(name, run);
});

describe('keys that the agent presses', () => {
  it('arrive one after another, each as long as its tone would be', async () => {
    const { rig, call } = await answeredCall();
    const startMs = rig.clock.nowMs();
    let tookMs = 0;
    void call.line.sendDigits?.('1w2', new AbortController().signal).then(() => (tookMs = rig.clock.nowMs() - startMs));
    await rig.clock.advanceBy(500);
    expect([call.record().digitsSent, tookMs]).toEqual(['1', 0]);
    await rig.clock.advanceBy(1000);
    expect(call.record().digitsSent).toBe('12');
    expect(tookMs).toBeGreaterThanOrEqual(900);
    expect(tookMs).toBeLessThanOrEqual(960);
  });

  it('stop when they are called off, and with the call', async () => {
    const { rig, call } = await answeredCall();
    const abort = new AbortController();
    const results: string[] = [];
    const press = (keys: string, signal: AbortSignal): void =>
      void call.line.sendDigits?.(keys, signal).catch((error: Error) => results.push(error.message));
    press('123', abort.signal);
    press('456', new AbortController().signal);
    await rig.clock.advanceBy(250);
    abort.abort(new Error('no more'));
    await rig.clock.advanceBy(250);
    call.hangUp();
    await rig.clock.advanceBy(10);
    press('7', new AbortController().signal);
    await rig.clock.advanceBy(10);
    expect(results).toEqual(['no more', 'the call is over', 'the call is over']);
    expect(call.record().digitsSent).toMatch(/^12?45?$/);
  });
});
