import { baseLanguage } from '../../../base/language.js';
import type { CheckedSettings } from './vendor-voice-settings.js';

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

/** The address of a socket under an http(s) root. */
export function socketUrl(baseUrl: string, path: string, query: Readonly<Record<string, string | null>> = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== null);
  const text = new URLSearchParams(given).toString();
  return `${baseUrl.replace(/^http/, 'ws')}${path}${text === '' ? '' : `?${text}`}`;
}
