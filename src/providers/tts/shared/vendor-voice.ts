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
