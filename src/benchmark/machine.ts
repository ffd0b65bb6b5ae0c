import { cpus, loadavg } from 'node:os';
import { packageVersion } from '../package-files.js';

/** What a reader has to know to compare: the processor, the versions, and how busy the machine is with other things. */
export function machine(): string {
  const all = cpus();
  const load = loadavg()[0] ?? 0;
  const processors = `${String(all.length)} × ${all[0]?.model.trim() ?? 'unknown'}`;
  return `${processors}, Node ${process.version}, parley ${packageVersion()}, load average ${load.toFixed(1)}`;
}
