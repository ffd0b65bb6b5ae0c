import * as z from 'zod';
import type { AgentConfig } from '../agent.js';
import type { Location } from '../../schema/issues.js';
import type { AgentExtensions } from './extensions.js';
import { attendedTransferSchema } from '../flow/actions.js';

/**
 * Releases up to 0.1 had attended transfers in `flow.call_transfer.attended` of the AgentConfig. That place is accepted
 * for one more release: the value moves to `extensions.transfer.attended`.
 */
const OLD_PLACE = ['flow', 'call_transfer', 'attended'] as const;
const WARNING =
  'Attended transfers are set in transfer.attended of the extensions. The value is taken from here where that is not ' +
  'set; the next release refuses it here.';

/** A member that is accepted in an old place. */
export interface OldPlaceWarning {
  readonly loc: Location;
  /** A sentence for people. */
  readonly msg: string;
}

/** What the two parts of an agent are called in an object that holds them. */
export interface PartNames {
  config: string;
  extensions: string;
}

/** In stored agents and agent files. */
const STORED_NAMES: PartNames = { config: 'config', extensions: 'extensions' };
/** In requests, where they are a temporary agent or override a stored one. */
export const REQUEST_NAMES: PartNames = { config: 'agent_config', extensions: 'agent_extensions' };

type Members = Readonly<Record<string, unknown>>;

/**
 * The same object with what is in the old place moved to the extensions. Whatever else is wrong with it stays for the
 * schema to refuse. A value that the extensions have goes before the one in the old place.
 */
function moved(holder: unknown, names: PartNames = STORED_NAMES): unknown {
  if (!isObject(holder)) return holder;
  const config = holder[names.config];
  if (!isObject(config) || !hasOldPlace(config)) return holder;
  const flow = config['flow'] as Members;
  const { attended, ...transfer } = flow['call_transfer'] as Members;
  const rest = { ...holder, [names.config]: { ...config, flow: { ...flow, call_transfer: transfer } } };
  return attended == null ? rest : { ...rest, [names.extensions]: withAttended(holder[names.extensions], attended) };
}

/** The parts of an agent, each with what belongs to it. */
export function movedParts(
  config: AgentConfig,
  extensions: AgentExtensions | null | undefined,
): { config: AgentConfig; extensions: AgentExtensions | null } {
  return moved({ config, extensions: extensions ?? null }) as ReturnType<typeof movedParts>;
}

/**
 * `schema` for an object that holds both parts of an agent, which takes the old place as well. Faults of a value there are
 * reported there.
 */
export function movingSchema<T extends z.ZodType>(schema: T, names = STORED_NAMES): z.ZodPreprocess<T> {
  return z.preprocess((holder, context) => {
    context.issues.push(...oldPlaceFaults(holder, names));
    return moved(holder, names);
  }, schema);
}

function oldPlaceFaults(holder: unknown, { config }: PartNames): z.core.$ZodRawIssue[] {
  const place = [config, ...OLD_PLACE];
  const attended = place.reduce<unknown>((at, member) => (isObject(at) ? at[member] : undefined), holder);
  const { error } = attendedTransferSchema.nullish().safeParse(attended);
  return (error?.issues ?? []).map((issue) => ({ ...issue, path: [...place, ...issue.path] }) as z.core.$ZodRawIssue);
}

/** @param location goes before the place in the configuration */
export function oldPlaceWarnings(config: unknown, location: Location = []): OldPlaceWarning[] {
  return hasOldPlace(config) ? [{ loc: [...location, ...OLD_PLACE], msg: WARNING }] : [];
}

function hasOldPlace(config: unknown): boolean {
  let at = config;
  for (const member of OLD_PLACE) {
    if (!isObject(at) || !Object.hasOwn(at, member)) return false;
    at = at[member];
  }
  return true;
}

function withAttended(extensions: unknown, attended: unknown): unknown {
  if (extensions == null) return { transfer: { attended } };
  if (!isObject(extensions)) return extensions;
  const { transfer } = extensions;
  if (transfer != null && (!isObject(transfer) || transfer['attended'] != null)) return extensions;
  return { ...extensions, transfer: { ...transfer, attended } };
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
