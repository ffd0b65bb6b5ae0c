import { nowUnixMs } from '../../base/real-clock.js';
import type { MetricRegistry } from './metric-registry.js';

/** The files that wait for the store, and those that it has taken. */
export interface FileFigures {
  readonly waiting: { files: number; bytes: number; oldestUnixMs: number | null };
  readonly counts: { sent: number; sentBytes: number; failed: number };
}

/** The metrics of files on their way to the store. docs/operation.md lists them. */
export function fileMetrics(registry: MetricRegistry, figures: FileFigures): void {
  const one = (type: 'counter' | 'gauge', name: string, help: string, value: () => number): void =>
    registry.read(type, name, help, () => [{ value: value() }]);
  one(
    'gauge',
    'parley_files_waiting',
    'Complete files on the disk that the store does not have yet.',
    () => figures.waiting.files,
  );
  one('gauge', 'parley_files_waiting_bytes', 'Their size.', () => figures.waiting.bytes);
  one('gauge', 'parley_files_waiting_oldest_seconds', 'How long the oldest of them has waited; 0 = none waits.', () => {
    const { oldestUnixMs } = figures.waiting;
    return oldestUnixMs === null ? 0 : Math.max(0, nowUnixMs() - oldestUnixMs) / 1000;
  });
  one('counter', 'parley_files_sent_total', 'Files that the store has taken.', () => figures.counts.sent);
  one('counter', 'parley_files_sent_bytes_total', 'Their size.', () => figures.counts.sentBytes);
  one(
    'counter',
    'parley_files_failures_total',
    'Failed attempts to send a file or a part.',
    () => figures.counts.failed,
  );
}
