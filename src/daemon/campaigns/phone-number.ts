import type { ParseError } from 'libphonenumber-js/max';

/** Reads phone numbers as people write them. */
export interface PhoneNumbers {
  /** The number as E.164, or why it is none. */
  read: (text: string) => { number: string } | { reason: string };
}

/** Loads the numbering plans of all countries: for whoever needs them only. */
export async function loadPhoneNumbers(): Promise<PhoneNumbers> {
  // The whole plans: the smaller ones know no more than how long a number is.
  const { parsePhoneNumberWithError } = await import('libphonenumber-js/max');
  return {
    read(text) {
      try {
        const number = parsePhoneNumberWithError(text.trim(), { extract: false });
        if (number.ext !== undefined) return { reason: 'a number with an extension cannot be called' };
        if (!number.isValid()) return { reason: NO_NUMBER };
        return { number: number.number };
      } catch (error) {
        return { reason: REASONS[(error as ParseError).message] ?? NO_NUMBER };
      }
    },
  };
}

const NO_NUMBER = 'there is no such phone number';
const REASONS: Readonly<Record<string, string>> = {
  INVALID_COUNTRY: 'not a phone number with its country code, such as +12025550123',
  NOT_A_NUMBER: 'not a phone number',
  TOO_SHORT: 'not a phone number: it is too short',
  TOO_LONG: 'not a phone number: it is too long',
};
