import { cpus, loadavg } from 'node:os';

/** What a reader has to know to compare: the processor, Node, and how busy the machine is with other things. */
export function machine(): string {
  const all = cpus();
  const load = loadavg()[0] ?? 0;
  return `${String(all.length)} × ${all[0]?.model.trim() ?? 'unknown'}, Node ${process.version}, load average ${load.toFixed(1)}`;
}
