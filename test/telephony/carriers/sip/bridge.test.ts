import { describe, expect, it } from 'vitest';
import { Bridge, CallLine } from '../../../../src/telephony/carriers/sip/line.js';
import { Ticker } from '../../../../src/base/ticker.js';
import { VirtualClock } from '../../../../src/base/virtual-clock.js';
import { MemoryTransport } from '../../../../src/transports/memory.js';

describe('a bridge', () => {
  it('relays the keys as well that were pressed before it was there', () => {
    const pressed: string[] = [];
    const sendDigits = async (keys: string): Promise<void> => void pressed.push(keys);
    const [one, other] = [0, 1].map(() => {
      const onTransfer = () => Promise.resolve({ ok: false, reason: 'unsupported' } as const);
      const line = new CallLine(8_000, { onClosed: () => undefined, onTransfer });
      line.attach(new MemoryTransport({ sampleRateHz: 8_000, sendDigits }));
      return line;
    }) as [CallLine, CallLine];
    // Whoever is to take the call over has answered, and presses a key at once.
    other.keys('4');
    const bridge = new Bridge(one, other, new Ticker(new VirtualClock()));
    other.keys('2');
    expect(pressed).toEqual(['4', '2']);
    bridge.close();
  });
});
