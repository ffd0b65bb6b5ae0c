import { ParleyError } from '../errors.js';
import { chooseTts } from '../providers/tts/choose.js';
import type { Providers } from './providers.js';

/** Vendors that serve the languages which the embedded engines lack, by their providers' names; the first that knows a language has it. */
export interface LanguageVendors {
  stt: readonly string[];
  tts: readonly string[];
}

export const NO_LANGUAGE_VENDORS: LanguageVendors = { stt: [], tts: [] };

/** The recogniser of a language where the agent names none: `usual` where that understands it or no vendor does. */
export function chooseStt(
  language: string,
  usual: string,
  vendors: LanguageVendors,
  providers: Pick<Providers, 'stt'>,
): string {
  const understands = (name: string): boolean => providers.stt(name).abilities?.understands?.(language) !== false;
  return [usual, ...vendors.stt].find(understands) ?? usual;
}

/**
 * The voice provider of a language where the agent names none: an embedded one, else a vendor.
 * @throws ParleyError TTS_LANGUAGE_UNSUPPORTED with what would help
 */
export async function chooseVoice(
  language: string,
  vendors: LanguageVendors,
  providers: Pick<Providers, 'tts'>,
): Promise<string> {
  try {
    return await chooseTts(language);
  } catch (error) {
    if (!(error instanceof ParleyError) || error.code !== 'TTS_LANGUAGE_UNSUPPORTED') throw error;
    for (const name of vendors.tts) {
      const speaks = providers.tts(name).speaks?.bind(providers.tts(name));
      if (speaks === undefined || (await speaks(language))) return name;
    }
    throw error;
  }
}
