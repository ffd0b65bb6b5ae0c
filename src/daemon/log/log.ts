import type { Settings } from '../../config/settings.js';
import { JsonLog } from './json-log.js';
import { scrubber } from './scrub.js';
import { TextLog } from './text-log.js';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** Figures and names for programs; never what somebody said, a phone number, a header or a key. */
export type LogFields = Readonly<Record<string, string | number | boolean | null>>;

/** What the daemon tells of its work. */
export interface Log {
  /** @param message one line for people */
  write(level: LogLevel, message: string, fields?: LogFields, error?: Error): void;
}

export const NO_LOG: Log = { write: () => undefined };

const ORDER: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];

/**
 * The log that the operator has chosen: lines of JSON, or of text where people watch. Whatever a message or an error
 * says, secrets of the settings, things that look like keys, and phone numbers do not get into it.
 */
export function openLog(stream: NodeJS.WritableStream & { isTTY?: boolean }, settings: Settings): Log {
  const { logLevel, logFormat } = settings;
  if (logLevel === 'silent') return NO_LOG;
  const asText = logFormat === 'auto' ? stream.isTTY === true : logFormat === 'text';
  const scrub = scrubber(settings);
  const log = asText ? new TextLog(stream, scrub) : new JsonLog(stream, scrub);
  const least = ORDER.indexOf(logLevel);
  return {
    write: (level, ...line) => {
      if (ORDER.indexOf(level) >= least) log.write(level, ...line);
    },
  };
}
