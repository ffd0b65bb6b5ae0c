import { ParleyError } from '../../../base/errors.js';
import { baseLanguage } from '../../../base/language.js';

/** What one member of `voice.settings` may be. */
export type SettingSpec =
  | { type: 'number'; least: number; most: number }
  | { type: 'boolean' }
  /** `oneOf` left out = any text of up to 2000 characters. */
  | { type: 'text'; oneOf?: readonly string[] };

export type SettingSpecs = Readonly<Record<string, SettingSpec>>;

/** Settings that have been checked; those that are null are left out. */
export type CheckedSettings = Readonly<Record<string, number | boolean | string>>;

const MAX_CHARS = 2000;

/** @throws ParleyError TTS_SETTING_INVALID for an unknown name, another type or a value out of range */
export function checkedSettings(
  provider: string,
  specs: SettingSpecs,
  settings: Readonly<Record<string, unknown>>,
): CheckedSettings {
  const checked: Record<string, number | boolean | string> = {};
  for (const [name, value] of Object.entries(settings)) {
    const spec = Object.hasOwn(specs, name) ? specs[name] : undefined;
    const known = Object.keys(specs).join(', ');
    if (spec === undefined) throw invalid(provider, name, known === '' ? 'it has none' : `it knows ${known}`);
    if (value === null || value === undefined) continue;
    const wrong = faultOf(spec, value);
    if (wrong !== null) throw invalid(provider, name, wrong);
    checked[name] = value as number | boolean | string;
  }
  return checked;
}

function faultOf(spec: SettingSpec, value: unknown): string | null {
  switch (spec.type) {
    case 'number': {
      const { least, most } = spec;
      const fits = typeof value === 'number' && value >= least && value <= most;
      return fits ? null : `it must be a number from ${String(least)} to ${String(most)}`;
    }
    case 'boolean':
      return typeof value === 'boolean' ? null : 'it must be true or false';
    case 'text': {
      const fits = typeof value === 'string' && value.length <= MAX_CHARS && (spec.oneOf?.includes(value) ?? true);
      return fits ? null : `it must be ${spec.oneOf === undefined ? 'a text' : `one of ${spec.oneOf.join(', ')}`}`;
    }
  }
}

function invalid(provider: string, setting: string, reason: string): ParleyError {
  return new ParleyError('TTS_SETTING_INVALID', { provider, setting: setting.slice(0, 100), reason });
}

/** Who is to speak, and how; the settings have been checked. */
export interface VendorVoiceSettings {
  /** Null = the vendor's default for the language. */
  voiceId: string | null;
  model: string | null;
  /** A code of the interface's language list. */
  language: string;
  settings: CheckedSettings;
}

/** `en` of `en-US`; null for `multi`, which names none. */
export function languageCode(language: string): string | null {
  return language === 'multi' ? null : baseLanguage(language);
}
