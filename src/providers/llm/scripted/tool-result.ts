import { parseJson } from '../../../json.js';
/** What a tool's message means to a script. */
export interface ReadResult {
  /** The tool has not finished yet. */
  running: boolean;
  ok: boolean;
  /** Parsed JSON, or the text. */
  value: unknown;
}

const RUNNING = /^still running\b/i;
const FAILURE =
  /\b(fail(ed|ure|s)?|error|timed? ?out|unreachable|refused|could not|cannot|not connected|nothing was|no answer|did not (answer|reply)|interrupted|HTTP [345]\d\d|status [345]\d\d)\b/i;

/**
 * Reads a tool's message. JSON has failed where it says so itself: `error`, `ok: false`, `success: false`, `status` 400 or
 * more. Text has failed where it reads like a failure.
 */
export function readToolResult(content: string): ReadResult {
  const text = content.trim();
  if (RUNNING.test(text)) return { running: true, ok: false, value: text };
  let value: unknown;
  try {
    value = parseJson(text);
  } catch {
    return { running: false, ok: !FAILURE.test(text.slice(0, 300)), value: text };
  }
  return { running: false, ok: !saysFailure(value), value };
}

function saysFailure(value: unknown): boolean {
  if (typeof value === 'string') return FAILURE.test(value.slice(0, 300));
  if (typeof value !== 'object' || value === null) return value === false;
  const { error, errors, ok, success, status } = value as Record<string, unknown>;
  if (ok === false || success === false) return true;
  if (typeof status === 'number' && status >= 400) return true;
  return Boolean(error) || (Array.isArray(errors) ? errors.length > 0 : Boolean(errors));
}
