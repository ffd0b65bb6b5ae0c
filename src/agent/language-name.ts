let names: Intl.DisplayNames | null = null;

/**
 * A language in English: `de-AT` is "Austrian German"; an unknown code is its own name.
 * The first call loads the names, which takes some 25 ms: `Engine.warmUp` makes it.
 */
export function languageName(code: string): string {
  names ??= new Intl.DisplayNames(['en'], { type: 'language' });
  try {
    return names.of(code) ?? code;
  } catch {
    return code;
  }
}
