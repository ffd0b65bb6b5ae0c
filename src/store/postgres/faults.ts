import { ParleyError, reasonOf } from '../../base/errors.js';

/** The code of PostgreSQL ('23505'), or of the system for a connection that fails ('ECONNREFUSED'); '' = neither. */
export function postgresCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Classes of PostgreSQL's codes for a server that cannot be used now: lost connection, too busy, shut down, I/O error. */
const UNREACHABLE = /^(?:08|53|57P|58)/;
/** What pg says of a connection or a pool without a code. */
const UNREACHABLE_TEXT =
  /^(?:Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|Client was closed)/;
/** disk_full */
const DISK_FULL = '53100';
/** query_canceled: by `statement_timeout` */
const CANCELED = '57014';
/** Codes of the server for a database that needs the operator: wrong password, no such database, missing rights. */
const UNUSABLE = /^(?:28|3D|3F|42501)/;

/** The error for a server that cannot be reached or used; any other error as it is. */
export function postgresFault(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ParleyError) return error;
  const code = postgresCode(error);
  // Node's error for a host with several addresses has no message.
  const reason = reasonOf(error) || code;
  if (code === DISK_FULL) return new ParleyError('DISK_FULL', {}, { cause: error });
  if (UNUSABLE.test(code)) {
    return new ParleyError('DATABASE_UNUSABLE', { path: 'of PARLEY_DATABASE_URL', reason }, { cause: error });
  }
  const isUnreachable = UNREACHABLE.test(code) || code === CANCELED || /^E[A-Z_]+$/.test(code);
  if (!isUnreachable && !UNREACHABLE_TEXT.test(error.message)) return error;
  return new ParleyError('DATABASE_UNREACHABLE', { reason }, { cause: error });
}
