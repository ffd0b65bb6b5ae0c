/** How users ask for another language, by the language that they ask in; `{}` is the wanted one's name. */
const WISHES: Readonly<Record<string, readonly string[]>> = {
  en: [
    '{}',
    '{} please',
    'in {} please',
    'do you speak {}',
    'can we speak {} please',
    'could you speak {}',
    'can we continue in {}',
    'I speak {}',
    'I would like to speak {}',
    'I would rather speak {}',
  ],
  fr: [
    '{}',
    "{} s'il vous plaît",
    "en {} s'il vous plaît",
    'vous parlez {}',
    'parlez-vous {}',
    'on peut parler {}',
    'on peut continuer en {}',
    'je parle {}',
    'je voudrais parler {}',
    'je préfère parler {}',
  ],
};

/**
 * Sentences with which a user who is heard in `language` may ask for another one of `languages`. In languages without
 * sentences here: the names alone.
 */
export function languageWishes(language: string, languages: readonly string[]): readonly string[] {
  const base = baseOf(language);
  const others = new Set(languages.map(baseOf).filter((other) => other !== base && other !== 'multi'));
  const names = new Intl.DisplayNames([base], { type: 'language', fallback: 'none' });
  return [...others].flatMap((other) => {
    const name = names.of(other);
    return name === undefined ? [] : (WISHES[base] ?? ['{}']).map((wish) => wish.replace('{}', name));
  });
}

/** `en-GB` is `en`. */
export function baseOf(language: string): string {
  return language.split('-')[0] ?? language;
}
