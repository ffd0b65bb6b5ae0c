import type { AppFunction } from '../../agent/function.js';
import { faultOf } from '../../schema/issues.js';
import type { App } from './app.js';
import { bookMeetingSlot, getAvailableMeetingSlots } from './cal-com.js';

/** All apps. A new one is a file that exports it, and a line here. */
const APPS: readonly App[] = [getAvailableMeetingSlots, bookMeetingSlot];

/** @throws InvalidConfigError for an unknown app, and for missing or unexpected credentials */
export function appOf({ name, credentials }: AppFunction): App {
  const app = APPS.find((known) => known.name === name);
  if (app === undefined) {
    const known = APPS.map((each) => each.name).join(', ');
    throw faultOf(['name'], `there is no "${name}". Known: ${known}`);
  }
  const given = credentials ?? {};
  const missing = app.credentials.filter((key) => (given[key] ?? '').trim() === '');
  if (missing.length > 0) throw faultOf(['credentials'], `${name} needs the credentials ${missing.join(', ')}`);
  const known = [...app.credentials, ...app.optionalCredentials];
  const unknown = Object.keys(given).filter((key) => !known.includes(key));
  if (unknown.length > 0) {
    throw faultOf(
      ['credentials', unknown[0] ?? ''],
      `${name} has no credentials ${unknown.join(', ')}. It has ${known.join(', ')}`,
    );
  }
  return app;
}
