import { describe, expect, it } from 'vitest';
import { MetricRegistry } from '../../../src/daemon/operations/metric-registry.js';

describe('MetricRegistry', () => {
  it('writes counters, gauges and histograms as Prometheus reads them', () => {
    const registry = new MetricRegistry();
    const calls = registry.counter('calls_total', 'Calls.\nAll of them \\ ever.');
    calls.add({ status: 'a "quoted"\\ \nname' });
    calls.add({ status: 'busy' }, 2);
    const times = registry.histogram('seconds', 'Times.', [0.1, 1]);
    for (const value of [0.05, 0.1, 0.5, 30]) times.observe(value, { stage: 'llm' });
    registry.read('gauge', 'ready', 'Ready.', () => [{ value: 1 }]);
    expect(registry.text()).toBe(
      [
        '# HELP calls_total Calls.\\nAll of them \\\\ ever.',
        '# TYPE calls_total counter',
        'calls_total{status="a \\"quoted\\"\\\\ \\nname"} 1',
        'calls_total{status="busy"} 2',
        '# HELP seconds Times.',
        '# TYPE seconds histogram',
        'seconds_bucket{stage="llm",le="0.1"} 2',
        'seconds_bucket{stage="llm",le="1"} 3',
        'seconds_bucket{stage="llm",le="+Inf"} 4',
        'seconds_sum{stage="llm"} 30.65',
        'seconds_count{stage="llm"} 4',
        '# HELP ready Ready.',
        '# TYPE ready gauge',
        'ready 1',
        '',
      ].join('\n'),
    );
  });

  it('does not grow without end where labels do', () => {
    const registry = new MetricRegistry();
    const counter = registry.counter('many_total', 'Many.');
    for (let at = 0; at < 5000; at++) counter.add({ at: String(at) });
    expect(registry.text().split('\n').length).toBeLessThan(1010);
  });
});
