import { SETTING_NAMES } from '../../src/settings/load-settings.js';

const KNOWN = new Set<string>(['PARLEY_CONFIG', ...SETTING_NAMES.flatMap(({ env }) => env ?? [])]);

/** Those variables of parley's that are no settings; `NAME_FILE` is one where `NAME` is. */
export function unknownSettings(names: readonly string[]): string[] {
  return names.filter((name) => /^(?:PARLEY|AWS)_/.test(name) && !KNOWN.has(name.replace(/_FILE$/, '')));
}
