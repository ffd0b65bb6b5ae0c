import { short } from '../../../dist/benchmark/report.js';
import { median, quantile } from '../../lib/numbers.js';
import { type Case, fullestOf, type Measured } from './cases.js';
import type { Cost } from './costs.js';
import type { Overheard } from './scenes.js';
import type { Start } from './starts.js';

type Row = [figure: string, parley: string, livekit: string, ratio: string];
type Decision = Extract<Case, { part: 'decision' }>;

/** One line a figure: both sides, and how many times ours the peer's is. Figures without a measurement are left out. */
export function tableOf(all: readonly Measured[]): Row[] {
  const rows: Row[] = [
    ['', 'parley', 'LiveKit Agents', 'ratio'],
    ...startRows(all),
    ...decisionRows(all),
    ...overRows(all),
    ...costRows(all),
  ];
  return rows.filter(([, parley]) => parley !== NOTHING);
}

const NOTHING = '–';

function startRows(all: readonly Measured[]): Row[] {
  const of = (side: 'parley' | 'livekit', pick: (start: Start) => number): number[] =>
    all.flatMap((one) => (one.case.part === 'start' && one.case.side === side ? [pick(one.result as Start)] : []));
  const line = (name: string, pick: (start: Start) => number): Row =>
    compared(name, of('parley', pick), of('livekit', pick), false);
  return [
    line('import, ms', ({ importMs }) => importMs),
    line('resident memory after it, MB', ({ importRssMb }) => importRssMb),
    line('from there to the first sound of a greeting, Silero loaded, ms', ({ greetedMs }) => greetedMs),
  ];
}

function decisionRows(all: readonly Measured[]): Row[] {
  const of = (pick: (one: Decision) => boolean): number[] =>
    all.flatMap((one) => (one.case.part === 'decision' && pick(one.case) ? (one.result as number[]) : []));
  const ours = (words: 'late' | 'early'): number[] => of((one) => one.side === 'parley' && one.words === words);
  const theirs = (words: 'late' | 'early', isQuick: boolean): number[] =>
    of((one) => one.side === 'livekit' && one.words === words && one.quick === isQuick);
  return [
    compared('decision to first audio, the last words decide, ms', ours('late'), theirs('late', false)),
    compared('… silence decides, the words were there', ours('early'), theirs('early', false)),
    compared('… its quickest: voice begun early, too', ours('early'), theirs('early', true)),
  ];
}

function overRows(all: readonly Measured[]): Row[] {
  const of = (part: 'interruption' | 'false alarm', side: string, isQuick: boolean): Overheard[] =>
    all.flatMap(({ case: one, result }) =>
      one.part === part && one.side === side && ('quick' in one ? one.quick : false) === isQuick
        ? (result as Overheard[])
        : [],
    );
  const stops = (found: Overheard[]): number[] => found.flatMap(({ stopMs }) => stopMs ?? []);
  const resumed = (found: Overheard[]): number[] => found.flatMap(({ resumedMs }) => resumedMs ?? []);
  const ours = of('interruption', 'parley', false);
  const alarms = { parley: of('false alarm', 'parley', false), livekit: of('false alarm', 'livekit', false) };
  const share = (some: number[], found: Overheard[]): string => `${String(some.length)} of ${String(found.length)}`;
  const rows = [
    compared('interruption to silence, ms', stops(ours), stops(of('interruption', 'livekit', false))),
    compared('… its quickest: any speech interrupts', stops(ours), stops(of('interruption', 'livekit', true))),
    compared('end of a false alarm to its voice again, ms', resumed(alarms.parley), resumed(alarms.livekit)),
  ];
  if (alarms.parley.length > 0) {
    const [parley, livekit] = [alarms.parley, alarms.livekit].map((found) => share(resumed(found), found));
    rows.push(['… false alarms after which it went on', parley ?? NOTHING, livekit ?? NOTHING, '']);
  }
  return rows;
}

function costRows(all: readonly Measured[]): Row[] {
  const costs = all.flatMap((one) => (one.case.part === 'cost' ? [{ ...one.case, cost: one.result as Cost }] : []));
  const nobodyMs = median(costs.filter(({ server }) => server === 'nobody').map(({ cost }) => cost.cpuMs));
  const rows: Row[] = [];
  const line = (name: string, livekit: string, conduct: string, count: number, pick: (cost: Cost) => number): void => {
    const of = (name: string): number[] =>
      costs
        .filter((one) => one.server === name && one.conduct === conduct && one.count === count)
        .map(({ cost }) => pick(cost));
    rows.push(compared(name, of('parley'), of(livekit), false));
  };
  for (const count of [1, 10]) {
    const many = count === 1 ? '1 session' : `each of ${String(count)} sessions`;
    for (const conduct of ['idle', 'talking']) {
      for (const detector of ['built-in', 'plug-in']) {
        if (detector === 'plug-in' && (count === 1 || conduct === 'talking')) continue;
        const name = `CPU of ${many}, ${conduct}, its Silero ${detector}, ms/s`;
        line(name, `livekit ${detector}`, conduct, count, ({ cpuMs }) => (cpuMs - nobodyMs) / count);
      }
    }
  }
  rows.push(fullRow(all, 'idle', 'built-in'), fullRow(all, 'idle', 'plug-in'), fullRow(all, 'talking', 'built-in'));
  const built = 'livekit built-in';
  line('resident memory with 10 idle sessions, MB', built, 'idle', 10, ({ rssMb }) => rssMb);
  line('heap and buffers of one more idle session, MB', built, 'idle', 10, (cost) => (cost.allMb - cost.firstMb) / 9);
  const growth = ({ laterMb, allMb, minutes }: Cost): number => (laterMb - allMb) / minutes / 10;
  line('… what it keeps for each minute, MB', built, 'idle', 10, growth);
  return rows;
}

/** Each side with as many sessions as fill most of a core. */
function fullRow(all: readonly Measured[], conduct: 'idle' | 'talking', detector: 'built-in' | 'plug-in'): Row {
  const ours = fullestOf(all, 'parley', conduct);
  const theirs = fullestOf(all, `livekit ${detector}`, conduct);
  const many = `${String(ours?.count)} of ours, ${String(theirs?.count)} of its`;
  const each = (one: typeof ours): number[] => (one === null ? [] : [one.cost.cpuMs / one.count]);
  return compared(
    `… a core full of them (${many}), ${conduct}, its Silero ${detector}, ms/s`,
    each(ours),
    each(theirs),
    false,
  );
}

/** @param isSpread the values differ by nature: p95 stands beside the median */
function compared(figure: string, parley: readonly number[], livekit: readonly number[], isSpread = true): Row {
  const shown = (values: readonly number[]): string =>
    values.length === 0 ? NOTHING : short(median(values)) + (isSpread ? ` (p95 ${short(quantile(values, 0.95))})` : '');
  const ratio = median(livekit) / median(parley);
  return [figure, shown(parley), shown(livekit), Number.isFinite(ratio) && ratio > 0 ? short(ratio) : NOTHING];
}
