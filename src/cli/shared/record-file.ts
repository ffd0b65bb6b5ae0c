import { readFile } from 'node:fs/promises';
import { CsvError, parse } from 'csv-parse/sync';
import type { CountryCode } from 'libphonenumber-js/max';
import { ParleyError, reasonOf } from '../../base/errors.js';
import { UsageError } from './command.js';

/** A person to call. */
export interface FileRecord {
  phone: string;
  metadata: Readonly<Record<string, unknown>>;
  /** Where it is in the file, and its text there: `line 3: 555-0103,Carol`. */
  place: string;
}

const DELIMITERS = [',', ';', '\t'];

/**
 * Reads the records of a campaign: JSON, an array of `{phone, metadata?}`, or CSV with a header row, where the column
 * `phone` is the number and the others become metadata. CSV may use commas, semicolons or tabs.
 * @param country ISO 3166 alpha-2: country of numbers without a country code
 * @throws ParleyError FILE_NOT_READABLE naming the line and the fault; UsageError for an unknown country
 */
export async function readRecords(path: string, country?: string): Promise<FileRecord[]> {
  const text = await readText(path);
  const records = /^\s*\[/.test(text) ? fromJson(path, text) : fromCsv(path, text);
  return country === undefined ? records : international(records, country);
}

function fromJson(path: string, text: string): FileRecord[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw unreadable(path, reasonOf(error));
  }
  return (value as unknown[]).map((item, index) => {
    const { phone, metadata } = (item ?? {}) as Partial<Record<keyof FileRecord, unknown>>;
    if (typeof phone !== 'string') throw unreadable(path, `"phone" of item ${String(index)} must be a string`);
    const isObject = typeof metadata === 'object' && !Array.isArray(metadata);
    if (metadata !== undefined && !isObject) {
      throw unreadable(path, `"metadata" of item ${String(index)} must be an object`);
    }
    return { phone, metadata: (metadata ?? {}) as Record<string, unknown>, place: `item ${String(index)}: ${phone}` };
  });
}

/** A row as csv-parse gives it with `raw` and `info`; `lines` is the number of its last line. */
interface CsvRow {
  record: string[];
  raw: string;
  info: { lines: number };
}

function fromCsv(path: string, text: string): FileRecord[] {
  const [header = ''] = text.split(/\r?\n/, 1);
  const count = (delimiter: string): number => header.replace(/"[^"]*"/g, '').split(delimiter).length;
  const delimiter = DELIMITERS.toSorted((a, b) => count(b) - count(a))[0] ?? ',';
  let rows: CsvRow[];
  try {
    const options = { delimiter, trim: true, skip_empty_lines: true, skip_records_with_empty_values: true };
    rows = parse(text, { ...options, raw: true, info: true }) as unknown as CsvRow[];
  } catch (error) {
    throw unreadable(path, error instanceof CsvError ? error.message : reasonOf(error));
  }
  const [{ record: names } = { record: [] as string[] }, ...lines] = rows;
  const phoneAt = names.findIndex((name) => name.toLowerCase() === 'phone');
  if (phoneAt < 0)
    throw unreadable(path, `the header row has no column "phone"; its columns are ${names.join(', ') || 'none'}`);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw unreadable(path, `two columns have the name "${twice}"`);
  return lines.map(({ record: cells, raw, info }) => ({
    place: `line ${String(info.lines)}: ${raw.trim()}`,
    phone: cells[phoneAt] ?? '',
    metadata: Object.fromEntries(
      names.flatMap((name, at) => (at === phoneAt || name === '' ? [] : [[name, cells[at]]])),
    ),
  }));
}

/** Adds country codes. Leaves invalid numbers unchanged, for the daemon to report. */
async function international(records: readonly FileRecord[], country: string): Promise<FileRecord[]> {
  const { isSupportedCountry, parsePhoneNumberWithError } = await import('libphonenumber-js/max');
  const defaultCountry = country.toUpperCase();
  if (!isSupportedCountry(defaultCountry)) throw new UsageError(`--country must be a code such as US, not ${country}`);
  return records.map((record) => ({ ...record, phone: read(record.phone, defaultCountry) }));

  function read(phone: string, of: CountryCode): string {
    try {
      const number = parsePhoneNumberWithError(phone, { defaultCountry: of, extract: false });
      return number.ext === undefined ? number.number : phone;
    } catch {
      return phone;
    }
  }
}

async function readText(path: string): Promise<string> {
  let bytes: Buffer;
  try {
    bytes = await readFile(path);
  } catch (error) {
    throw unreadable(path, reasonOf(error));
  }
  // Spreadsheets also write UTF-16 with a byte order mark.
  const encoding = bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : 'utf-8';
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    throw unreadable(path, 'it is not UTF-8; in a spreadsheet, save it as "CSV UTF-8"');
  }
}

function unreadable(path: string, reason: string): ParleyError {
  return new ParleyError('FILE_NOT_READABLE', { path, reason });
}
