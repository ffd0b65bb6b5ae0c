/** The voices of Aura-2 by language, as the reference of 2026-07-22 lists them; the first of each is the default. */
const NAMES: Readonly<Record<string, string>> = {
  en: 'thalia amalthea andromeda apollo arcas aries asteria athena atlas aurora callista cora cordelia delia draco electra harmonia helena hera hermes hyperion iris janus juno jupiter luna mars minerva neptune odysseus ophelia orion orpheus pandora phoebe pluto saturn selene theia vesta zeus',
  es: 'celeste agustina alvaro antonia aquila carina diana estrella gloria javier luciano nestor olivia selena silvia sirio valerio',
  de: 'viktoria aurelia elara fabian julius kara lara',
  nl: 'rhea beatrix cornelia daphne hestia lars leda roman sander',
  fr: 'agathe hector',
  it: 'livia cesare cinzia demetra dionisio elio flavio maia melia perseo',
  ja: 'izanami ama ebisu fujin uzume',
};

export const DEEPGRAM_VOICES: readonly string[] = Object.entries(NAMES).flatMap(([language, names]) =>
  names.split(' ').map((name) => `aura-2-${name}-${language}`),
);

/** The default voice of a language; of English where it has none. */
export function deepgramVoiceFor(language: string): string {
  return DEEPGRAM_VOICES.find((id) => id.endsWith(`-${language}`)) ?? 'aura-2-thalia-en';
}
