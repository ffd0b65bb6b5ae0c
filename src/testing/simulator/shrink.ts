import type { ConfigChanges } from '../../agent/flow/conversation-config.js';
import type { Act, Script } from './script.js';
import { simulate } from './simulate.js';

/** Most attempts to shrink one script. */
const MAX_ATTEMPTS = 4000;

/**
 * Shrinks a script that breaks a rule: removes acts and settings while the script still breaks the same rule, then
 * simplifies texts and numbers. Returns a script that breaks no rule unchanged.
 */
export function shrink(script: Script): Script {
  const rule = simulate(script).failure?.rule;
  if (rule === undefined) return script;
  let attempts = 0;
  let smallest = script;
  const keep = (candidate: Script): boolean => {
    if (++attempts > MAX_ATTEMPTS || !breaks(candidate, rule)) return false;
    smallest = candidate;
    return true;
  };
  for (let size = -1; size !== sizeOf(smallest);) {
    size = sizeOf(smallest);
    leaveOutActs(() => smallest, keep);
    leaveOutSettings(() => smallest, keep);
    simplifyActs(() => smallest, keep);
  }
  return smallest;
}

type Current = () => Script;
type Keep = (candidate: Script) => boolean;

function breaks(script: Script, rule: string): boolean {
  try {
    return simulate(script).failure?.rule === rule;
  } catch {
    return false; // it is not a valid script
  }
}

/** Removes halves, quarters … single acts. */
function leaveOutActs(current: Current, keep: Keep): void {
  for (let length = current().acts.length; length >= 1; length = Math.floor(length / 2)) {
    for (let start = 0; start < current().acts.length;) {
      const { acts } = current();
      const kept = keep({ ...current(), acts: [...acts.slice(0, start), ...acts.slice(start + length)] });
      if (!kept) start += length;
    }
  }
}

function leaveOutSettings(current: Current, keep: Keep): void {
  keep({ ...current(), voice: {} });
  for (const name of Object.keys(current().config)) {
    const section: unknown = Reflect.get(current().config, name);
    if (keep({ ...current(), config: without(current().config, name) })) continue;
    if (typeof section !== 'object' || section === null) continue;
    for (const member of Object.keys(section)) {
      const { config } = current();
      keep({ ...current(), config: { ...config, [name]: without(Reflect.get(config, name) as object, member) } });
    }
  }
}

/** Removes or simplifies each value of an act. */
function simplifyActs(current: Current, keep: Keep): void {
  for (let index = 0; index < current().acts.length; index++) {
    const act = current().acts[index] as Act;
    for (const path of leaves(act.with)) {
      for (const plainer of plainerThan(path.value)) {
        const changed = replaced(current().acts[index]?.with, path.keys, plainer);
        const acts = current().acts.with(index, { ...current().acts[index], with: changed } as unknown as Act);
        if (keep({ ...current(), acts })) break;
      }
    }
  }
}

interface Leaf {
  keys: readonly string[];
  value: unknown;
}

function leaves(value: unknown, keys: readonly string[] = []): Leaf[] {
  if (typeof value !== 'object' || value === null) return [{ keys, value }];
  return Object.entries(value).flatMap(([key, member]) => leaves(member, [...keys, key]));
}

/** Simpler values; `undefined` = remove the member. */
function plainerThan(value: unknown): unknown[] {
  if (typeof value === 'number') {
    const rounded = [1000, 100, 20].map((unit) => Math.round(value / unit) * unit);
    return [...new Set([undefined, ...rounded])].filter((plainer) => plainer !== value);
  }
  if (typeof value === 'string') return value === 'yes' || value === '' ? [] : ['yes'];
  return [undefined];
}

function replaced(value: unknown, [key, ...deeper]: readonly string[], plainer: unknown): unknown {
  if (key === undefined) return plainer;
  const member = replaced(Reflect.get(value as object, key), deeper, plainer);
  if (Array.isArray(value)) return member === undefined ? value : value.with(Number(key), member);
  return member === undefined ? without(value as object, key) : { ...(value as object), [key]: member };
}

function without(from: object, name: string): ConfigChanges {
  return Object.fromEntries(Object.entries(from).filter(([key]) => key !== name));
}

function sizeOf(script: Script): number {
  return JSON.stringify(script).length;
}
