import { expect, it } from 'vitest';
import { RefusalLog } from '../../../src/telephony/carriers/refusal-log.js';
import { CarrierStatistics } from '../../../src/telephony/carriers/carrier-statistics.js';
import { VirtualClock } from '../../../src/base/virtual-clock.js';

it('refused calls have ten lines a minute, and then one with the count of the rest', async () => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const figures = new CarrierStatistics((level, message) => lines.push(`${level} ${message}`));
  const log = new RefusalLog(clock, figures);
  const refusal = (status: number, last: number) => ({
    status,
    why: 'as it is',
    from: { protocol: 'UDP', address: `192.0.2.${String(last)}`, port: 5060 } as const,
  });
  for (let call = 1; call <= 12; call++) log.add('berlin', refusal(404, call));
  log.add('bonn', refusal(488, 77));
  expect(lines).toHaveLength(10);
  expect(lines[0]).toBe('warn SIP: a call from UDP 192.0.2.1:5060 is refused with 404: as it is');
  await clock.advanceBy(60_000);
  expect(lines.slice(10)).toEqual(['warn SIP: 3 more calls were refused within a minute (berlin 404: 2, bonn 488: 1)']);
  log.add('berlin', refusal(503, 1));
  expect(lines).toHaveLength(12);
  expect(figures.trunkRefusals).toEqual([
    { trunk: 'berlin', status: 404, count: 12 },
    { trunk: 'bonn', status: 488, count: 1 },
    { trunk: 'berlin', status: 503, count: 1 },
  ]);
  log.close();
  log.close();
  expect([lines.length, clock.pending]).toEqual([12, 0]);
});

it('what a carrier brings and is refused has lines of the same kind', async () => {
  const clock = new VirtualClock();
  const lines: string[] = [];
  const figures = new CarrierStatistics((level, message) => lines.push(`${level} ${message}`));
  const log = new RefusalLog(clock, figures, { name: 'plivo', refuses: 'requests' });
  for (let call = 0; call < 12; call++) log.addOf('plivo', 'number', 'a call to +12025550199');
  log.addOf('plivo', 'signature', 'a callback');
  expect(lines).toEqual(Array(10).fill('warn plivo: a call to +12025550199 is refused'));
  await clock.advanceBy(60_000);
  expect(lines.at(-1)).toBe('warn plivo: 3 more requests were refused within a minute (number: 2, signature: 1)');
  expect(figures.accountRefusals).toEqual([
    { carrier: 'plivo', reason: 'number', count: 12 },
    { carrier: 'plivo', reason: 'signature', count: 1 },
  ]);
  log.close();
});
