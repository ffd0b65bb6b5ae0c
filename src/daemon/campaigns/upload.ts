import type { ParseError } from 'libphonenumber-js/max';
import { timezoneSchema } from '../../schema/text.js';
import type { CampaignRecordStore, NewRecord, StoredRejection } from '../../store/campaign-records.js';
import { placeOfNumber } from './phone-zones.js';

/** Reads phone numbers as people write them. */
export interface PhoneNumbers {
  /**
   * The number as E.164, or the reason why it is invalid.
   * @param near a number in the country of a text without its country code. Default: the text has one
   */
  read: (text: string, near?: string) => { number: string } | { reason: string };
}

/** Loads the numbering plans of all countries on demand. */
export async function loadPhoneNumbers(): Promise<PhoneNumbers> {
  // The full metadata: the smaller sets check only the length of a number.
  const { parsePhoneNumberWithError } = await import('libphonenumber-js/max');
  return {
    read(text, near) {
      try {
        const country = near === undefined ? undefined : parsePhoneNumberWithError(near).country;
        const options = country === undefined ? {} : { defaultCountry: country };
        const number = parsePhoneNumberWithError(text.trim(), { ...options, extract: false });
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

/** A record as the client sent it. */
export interface RecordInput {
  phone: string;
  metadata?: Readonly<Record<string, unknown>> | null | undefined;
}

/** Records that are read in a row before other work gets its turn. */
const PIECE = 100;
/** The metadata member with the time zone for the calling hours. */
const TIMEZONE_KEY = 'timezone';

let numbers: Promise<PhoneNumbers> | null = null;

/** Reads a number in any usual notation. Loads the numbering plans the first time. */
export async function readPhoneNumber(text: string, near?: string): Promise<{ number: string } | { reason: string }> {
  return (await (numbers ??= loadPhoneNumbers())).read(text, near);
}

/** Where the records of an upload go. */
interface UploadTarget {
  store: CampaignRecordStore;
  campaignId: string;
  /** Of `CampaignRecordStore.beginUpload`. */
  upload: string;
  /** Milliseconds since 1970. */
  nowUnixMs: () => number;
}

/**
 * Adds the valid records to a campaign, and stores the others with their faults.
 * @returns the number of refused records; null = the campaign has been finished or deleted meanwhile
 */
export async function addRecords(
  { store, campaignId, upload, nowUnixMs }: UploadTarget,
  records: readonly RecordInput[],
): Promise<number | null> {
  const { read } = await (numbers ??= loadPhoneNumbers());
  let refused = 0;
  for (let from = 0; from < records.length; from += PIECE) {
    if (from > 0) await new Promise((resolve) => setImmediate(resolve));
    const good: (NewRecord & { given: RecordInput })[] = [];
    const bad: Omit<StoredRejection, 'seq'>[] = [];
    const refuse = ({ phone, metadata }: RecordInput, reason: string): void =>
      void bad.push({ phone, metadata: metadata ?? {}, reason });
    for (const record of records.slice(from, from + PIECE)) {
      const found = newRecord(record, read, nowUnixMs());
      if ('reason' in found) refuse(record, found.reason);
      else good.push({ ...found, given: record });
    }
    const added = await store.add(campaignId, good, upload);
    if (added === null) return null;
    for (const [index, { given, phone }] of good.entries()) {
      if (added[index] !== true) refuse(given, `${phone} is in this campaign already`);
    }
    if (bad.length > 0) await store.reject(campaignId, bad);
    refused += bad.length;
  }
  return refused;
}

function newRecord(
  { phone, metadata }: RecordInput,
  read: PhoneNumbers['read'],
  dueMs: number,
): NewRecord | { reason: string } {
  const found = read(phone);
  if ('reason' in found) return found;
  const { number } = found;
  const at = (place: string): NewRecord => ({ phone: number, metadata: metadata ?? {}, place, dueMs });
  const zone = metadata?.[TIMEZONE_KEY] ?? '';
  if (zone === '') return at(placeOfNumber(number));
  const known = timezoneSchema.safeParse(zone);
  if (!known.success) return { reason: 'its "timezone" is not an IANA time zone such as Europe/Berlin' };
  return at(known.data);
}
