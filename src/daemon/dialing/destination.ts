import { assertCallable, isE164 } from '../../calls/destinations.js';
import { InvalidConfigError } from '../../config/issues.js';
import { ParleyError } from '../../errors.js';

/**
 * Area codes of the North American plan outside the United States, their territories and Canada (NANPA, area code map):
 * calls there are international ones, and a usual way to run up somebody's bill. `+1` alone does not allow them.
 */
const OTHER_COUNTRIES_OF_1: ReadonlySet<string> = new Set(
  '242 246 264 268 284 345 441 473 649 658 664 721 758 767 784 809 829 849 868 869 876' // Caribbean and Bermuda
    .split(' '),
);

/**
 * Whether the operator lets agents call a number.
 * @throws InvalidConfigError where it is none; ParleyError CALL_FORBIDDEN, CALL_NOT_ALLOWED
 */
export function checkDestination(to: string, allowedPrefixes: readonly string[]): void {
  assertCallable(to);
  if (!isE164(to)) throw notANumber(to, 'to_phone');
  if (allowedPrefixes.some((prefix) => allows(prefix, to))) return;
  const allowed = allowedPrefixes.length === 0 ? 'none' : allowedPrefixes.join(', ');
  throw new ParleyError('CALL_NOT_ALLOWED', { number: to, allowed });
}

export function notANumber(number: string, field: string): InvalidConfigError {
  const { message } = new ParleyError('NUMBER_INVALID', { number: number.slice(0, 40) });
  return new InvalidConfigError([{ loc: ['body', field], msg: message, type: 'phone_number' }]);
}

function allows(prefix: string, to: string): boolean {
  if (prefix === '*') return true;
  if (!to.startsWith(prefix)) return false;
  return prefix !== '+1' || !OTHER_COUNTRIES_OF_1.has(to.slice(2, 5));
}
