import { readdirSync, readFileSync } from 'node:fs';

/** Ticks of the kernel's clock in a second: 100 on every architecture that Node runs on. */
const TICKS = 100;

/** Processor time of this process and of the processes that it has started and that still run, in seconds (Linux). */
export function processorS(): number {
  const { user, system } = process.cpuUsage();
  const found = new Map<number, { parent: number; ticks: number }>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      // The name in brackets may contain blanks.
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')
        .map(Number);
      found.set(Number(name), { parent: fields[1] ?? 0, ticks: (fields[11] ?? 0) + (fields[12] ?? 0) });
    } catch {
      // it has ended
    }
  }
  const isOurs = (pid: number): boolean => {
    const parent = found.get(pid)?.parent ?? 0;
    return parent === process.pid || (parent > 1 && isOurs(parent));
  };
  const children = [...found].filter(([pid]) => isOurs(pid)).reduce((sum, [, { ticks }]) => sum + ticks, 0);
  return (user + system) / 1e6 + children / TICKS;
}
