/** The result of one check of the installation. */
export interface Check {
  /** What was checked, as a stable identifier. */
  name: string;
  /** `problem`: something will not work. `hint`: everything works, but could be improved. */
  level: 'ok' | 'hint' | 'problem';
  /** The finding. */
  text: string;
  /** The remedy; null = none needed. */
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
