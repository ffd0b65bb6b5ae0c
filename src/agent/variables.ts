/** Values for `{Name}` in the texts of an agent. */
export type Variables = ReadonlyMap<string, string>;

export interface VariableSources {
  /** Every key is a variable. Texts as they are, numbers and truth values as text, the rest as JSON. */
  metadata?: Readonly<Record<string, unknown>>;
  /** `{FromPhone}`: the caller's number. */
  fromPhone?: string | null;
  /** `{ToPhone}`: the number that was called. */
  toPhone?: string | null;
}

/** The variables of one session. The phone numbers are the line's own: metadata cannot stand in for them. */
export function variablesOf(sources: VariableSources): Variables {
  const variables = new Map<string, string>();
  for (const [name, value] of Object.entries(sources.metadata ?? {})) {
    if (value !== null && value !== undefined) variables.set(name, asText(value));
  }
  if (sources.fromPhone != null) variables.set('FromPhone', sources.fromPhone);
  if (sources.toPhone != null) variables.set('ToPhone', sources.toPhone);
  return variables;
}

/**
 * Replaces each `{Name}` once; what a value brings in is not looked at again. Unknown names stay as they are.
 * @param encode is applied to each value (for an address, say).
 */
export function fillVariables(text: string, variables: Variables, encode = (value: string): string => value): string {
  if (variables.size === 0) return text;
  return text.replace(/\{([^{}\n]{1,100})\}/g, (whole, name: string) => {
    const value = variables.get(name);
    return value === undefined ? whole : encode(value);
  });
}

/** Fills the variables into a text; a text that is null or missing is empty. */
export type Fill = (text: string | null | undefined) => string;

/** The phrases with their variables filled in, without the empty ones. */
export function filledPhrases(texts: readonly string[] | null | undefined, fill: Fill): readonly string[] {
  return (texts ?? []).map(fill).filter((text) => text.trim() !== '');
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
