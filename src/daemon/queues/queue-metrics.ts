import type { MetricRegistry } from '../operations/metric-registry.js';
import type { CallQueues } from './call-queues.js';

/** Seconds. */
const WAIT_BOUNDS = [5, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600];
/** Maximum of queues with their own label: each label is a permanent series. */
const MOST_QUEUES = 100;

/** The metrics of queues. docs/operation.md lists them. */
export function queueMetrics(registry: MetricRegistry, queues: CallQueues): void {
  const named = new Set<string>();
  const nameOf = (id: string): string => {
    if (named.size < MOST_QUEUES) named.add(id);
    return named.has(id) ? id : 'other';
  };
  registry.read('gauge', 'parley_queue_length', 'Calls that wait for a session, by queue.', () => {
    const lengths = new Map<string, number>();
    for (const { id, waiting } of queues.states) {
      const queue = nameOf(id);
      lengths.set(queue, (lengths.get(queue) ?? 0) + waiting.length);
    }
    return [...lengths].map(([queue, value]) => ({ labels: { queue }, value }));
  });
  const waits = registry.histogram(
    'parley_queue_wait_seconds',
    'How long calls have waited, by queue and by how they left it, such as answered or abandoned.',
    WAIT_BOUNDS,
  );
  queues.onLeft = (id, left, waitedS) => waits.observe(waitedS, { queue: nameOf(id), left });
}
