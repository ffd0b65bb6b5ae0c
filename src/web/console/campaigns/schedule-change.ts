import { valueAt } from '../draft.js';

/** The body for the endpoint: only changed sections; null = the operator's default, for emptied ones. */
export function scheduleChange(loaded: unknown, draft: unknown, touched: ReadonlySet<string>): Record<string, unknown> {
  const entries = [...touched].map((name): [string, unknown] => {
    const [before, after] = [valueAt(loaded, [name]), valueAt(draft, [name])];
    if (typeof before !== 'object' || before === null || after === undefined) return [name, after ?? null];
    const members = Object.keys(before).map((member) => [member, valueAt(after, [member]) ?? null]);
    return [name, Object.fromEntries(members)];
  });
  return Object.fromEntries(entries);
}
