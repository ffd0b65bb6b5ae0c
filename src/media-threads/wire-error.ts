import { InvalidConfigError, type ValidationIssue } from '../config/issues.js';
import { type ErrorCode, type ErrorDetails, errorOf, ParleyError } from '../errors.js';

/** An error as plain data: what another thread needs to raise the same one. */
export interface WireError {
  message: string;
  stack?: string;
  /** Of parley's own errors. */
  own?: { code: ErrorCode; details: ErrorDetails; issues: readonly ValidationIssue[] | null };
  /** Of the system's errors, such as `EADDRINUSE`. */
  systemCode?: string;
}

export function toWire(thrown: unknown): WireError {
  const error = errorOf(thrown);
  const wire: WireError = { message: error.message, ...(error.stack !== undefined && { stack: error.stack }) };
  if (error instanceof ParleyError) {
    const issues = error instanceof InvalidConfigError ? error.issues : null;
    return { ...wire, own: { code: error.code, details: error.details, issues } };
  }
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? { ...wire, systemCode: code } : wire;
}

export function fromWire({ message, stack, own, systemCode }: WireError): Error {
  const error = own === undefined ? new Error(message) : ownError(own);
  if (stack !== undefined) error.stack = stack;
  return systemCode === undefined ? error : Object.assign(error, { code: systemCode });
}

function ownError({ code, details, issues }: NonNullable<WireError['own']>): ParleyError {
  return issues === null ? new ParleyError(code, details) : new InvalidConfigError(issues);
}
