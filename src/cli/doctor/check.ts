/** What one look at the installation has found. */
export interface Check {
  /** What was looked at, a stable word. */
  name: string;
  /** `problem`: something will not work. `hint`: it works, and something would make it better. */
  level: 'ok' | 'hint' | 'problem';
  /** What is so. */
  text: string;
  /** What to do about it; null where there is nothing to do. */
  help: string | null;
}

export function ok(name: string, text: string): Check {
  return { name, level: 'ok', text, help: null };
}

export function hint(name: string, text: string, help: string): Check {
  return { name, level: 'hint', text, help };
}

export function problem(name: string, text: string, help: string): Check {
  return { name, level: 'problem', text, help };
}
