import { expect, it } from 'vitest';
import { CarrierStatistics } from '../../../src/telephony/carriers/carrier-statistics.js';
import { MetricRegistry } from '../../../src/daemon/operations/metric-registry.js';
import { trunkMetrics } from '../../../src/daemon/operations/metrics.js';
import { serialiseRtp } from '../../../src/transports/rtp/packet.js';
import { opened, speak, way } from './spoken.js';

it('the operator gets the media statistics of each call and in total', async () => {
  const figures = new CarrierStatistics();
  const hop = { protocol: 'UDP', address: '192.0.2.7', port: 5060 } as const;
  const trunk = { registration: null, servers: [], numbers: [], calls: 0 };
  const registered = { ...trunk, name: 'one', registration: { state: 'registered', seconds: 60 } } as const;
  const failed = { ...trunk, name: 'two', registration: { state: 'failed', reason: '403' } } as const;
  const servers = [
    { hop, answers: false, last: null },
    { hop: { ...hop, port: 5080 }, answers: null, last: null },
  ];
  figures.watch({ counts: () => ({ 'refused.stranger': 2 }), state: () => registered });
  figures.watch({ counts: () => ({ 'refused.stranger': 1, 'dropped.parse': 4 }), state: () => failed });
  figures.watch({ counts: () => ({}), state: () => ({ ...trunk, name: 'three', servers }) });
  figures.watch({ counts: () => ({}), state: () => null });
  for (const status of [404, 404, 488]) figures.refusedByTrunk('one', status);
  for (const reason of ['signature', 'full', 'full'] as const) figures.refusedByAccount('twilio', reason);
  const registry = new MetricRegistry();
  trunkMetrics(registry, figures);
  const ends = await opened({}, { totals: figures.media }, { loss: 0.1 });
  await speak(ends, 12_000);
  const [from, to] = way(ends, '10.0.0.1');
  ends.network.quality = {};
  const junk = { payloadType: 77, marker: false, sequence: 1, timestamp: 1, ssrc: 5, payload: new Uint8Array(160) };
  for (const port of [from.port, 9]) ends.network.send(serialiseRtp(junk), { ...from, port }, to);
  await ends.clock.advanceBy(20);
  expect(registry.text()).toContain('\nparley_rtp_sessions 1\n');
  const line = ends.callee.line.lineStats?.();
  expect(line).toMatchObject({ codec: 'PCMU' });
  expect(line?.concealedMs).toBeGreaterThan(500);
  await ends.callee.close();
  expect(ends.callee.line.lineStats?.()).toMatchObject({ codec: 'PCMU', lost: line?.lost });
  for (const expected of [
    'parley_sip_messages_refused_total{why="refused.stranger"} 3',
    'parley_sip_messages_refused_total{why="dropped.parse"} 4',
    'parley_sip_registrations{state="wanted"} 2',
    'parley_sip_registrations{state="held"} 1',
    'parley_sip_calls_refused_total{trunk="one",status="404"} 2',
    'parley_sip_calls_refused_total{trunk="one",status="488"} 1',
    'parley_carrier_refused_total{carrier="twilio",reason="signature"} 1',
    'parley_carrier_refused_total{carrier="twilio",reason="full"} 2',
    'parley_sip_server_up{trunk="three",server="UDP 192.0.2.7:5060"} 0',
    'parley_rtp_sessions 0',
    'parley_rtp_calls_total{codec="PCMU",srtp="false"} 1',
    'parley_rtp_unheard_total{kind="stranger"} 1',
    'parley_rtp_unheard_total{kind="unknown_type"} 1',
    `parley_rtp_concealed_seconds_total ${String((line?.concealedMs ?? 0) / 1000)}`,
  ]) {
    expect(registry.text()).toContain(`\n${expected}\n`);
  }
});
