import type { Conduct } from '../../lib/caller-sound.js';
import type { Cost, Server } from './costs.js';
import type { Side, SideName } from './line.js';
import type { Overheard } from './scenes.js';
import type { Start } from './starts.js';

/** What one process measures. */
export type Case =
  | { part: 'start'; side: SideName }
  | { part: 'decision'; side: SideName; words: 'late' | 'early'; quick: boolean; turns: number }
  | { part: 'interruption'; side: SideName; quick: boolean }
  | { part: 'false alarm'; side: SideName }
  | { part: 'cost'; server: Server; conduct: Conduct; count: number; seconds: number };

/** A case with what its process found: a number of ms for each turn, or what the part has a name for. */
export interface Measured {
  case: Case;
  result: Start | number[] | Overheard[] | Cost;
}

const SIDES = ['parley', 'livekit'] as const;
/** A start is short and differs from one to the next. */
const STARTS = 3;
const CYCLE_SECONDS = 10;

/** One round, in the order in which it is run: the sides in turns. */
export function casesOf(parts: readonly string[], turns: number, seconds: number): Case[] {
  const cases: Case[] = [];
  if (parts.includes('start')) {
    for (let round = 0; round < STARTS; round++) cases.push(...SIDES.map((side): Case => ({ part: 'start', side })));
  }
  if (parts.includes('decision')) {
    for (const words of ['late', 'early'] as const) {
      cases.push(...SIDES.map((side): Case => ({ part: 'decision', side, words, quick: false, turns })));
    }
    cases.push({ part: 'decision', side: 'livekit', words: 'early', quick: true, turns });
  }
  if (parts.includes('interruption')) {
    cases.push(...SIDES.map((side): Case => ({ part: 'interruption', side, quick: false })));
    cases.push({ part: 'interruption', side: 'livekit', quick: true });
    cases.push(...SIDES.map((side): Case => ({ part: 'false alarm', side })));
  }
  if (parts.includes('cost')) {
    cases.push({ part: 'cost', server: 'nobody', conduct: 'idle', count: 0, seconds });
    for (const count of [1, 10]) {
      for (const conduct of ['idle', 'talking'] as const) {
        const servers: Server[] = ['parley', 'livekit built-in'];
        if (count > 1 && conduct === 'idle') servers.push('livekit plug-in'); // what differs is the detector
        // One caller has to be heard for a whole cycle; of ten, each is at another place of it.
        const long = count === 1 && conduct === 'talking' ? Math.max(seconds, CYCLE_SECONDS) : seconds;
        cases.push(...servers.map((server): Case => ({ part: 'cost', server, conduct, count, seconds: long })));
      }
    }
  }
  return cases;
}

/** So much of a core's time, ms a second, is to be filled with sessions. */
const FULL_MS = 850;
/** What is asked of each server with as many sessions as fill a core. */
const FILLS: readonly { server: Server; conduct: Conduct }[] = [
  { server: 'parley', conduct: 'idle' },
  { server: 'livekit built-in', conduct: 'idle' },
  { server: 'livekit plug-in', conduct: 'idle' },
  { server: 'parley', conduct: 'talking' },
  { server: 'livekit built-in', conduct: 'talking' },
];

/** The cases with as many sessions as would fill a core, if each took what it did in the fullest case so far. */
export function fullerCases(measured: readonly Measured[], seconds: number): Case[] {
  return FILLS.flatMap(({ server, conduct }): Case[] => {
    const fullest = fullestOf(measured, server, conduct);
    if (fullest === null) return [];
    const count = Math.round((fullest.count * FULL_MS) / fullest.cost.cpuMs);
    return count > fullest.count ? [{ part: 'cost', server, conduct, count, seconds }] : [];
  });
}

/** The case of that kind with the most sessions, but for ones that took more than a core's time. */
export function fullestOf(
  measured: readonly Measured[],
  server: Server,
  conduct: Conduct,
): { count: number; cost: Cost } | null {
  let fullest: { count: number; cost: Cost } | null = null;
  for (const { case: one, result } of measured) {
    if (one.part !== 'cost' || one.server !== server || one.conduct !== conduct) continue;
    const cost = result as Cost;
    if (one.count > (fullest?.count ?? 0) && cost.cpuMs < 1000) fullest = { count: one.count, cost };
  }
  return fullest;
}

/** Measures it in this process, which must be a fresh one. */
export async function measure(one: Case): Promise<Measured['result']> {
  if (one.part === 'start') return (await import('./starts.js')).start(one.side);
  if (one.part === 'cost') return (await import('./costs.js')).costOf(one.server, one.conduct, one.count, one.seconds);
  const scenes = await import('./scenes.js');
  const side = await open(one.side, one.part === 'decision' ? 'scripted' : 'silero');
  if (one.part === 'decision') return scenes.decisions(side, one.words, one.quick, one.turns);
  return one.part === 'interruption' ? scenes.interruptions(side, one.quick) : scenes.falseAlarms(side);
}

async function open(side: SideName, ears: 'scripted' | 'silero'): Promise<Side> {
  return side === 'parley'
    ? (await import('./parley-side.js')).parleySide(ears)
    : (await import('./livekit-side.js')).livekitSide();
}
