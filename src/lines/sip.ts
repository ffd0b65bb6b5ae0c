import { ParleyError } from '../base/errors.js';
import { parseWith } from '../schema/issues.js';
import { DEFAULT_SIP, type SipSettings, sipSchema } from '../settings/carriers/sip.js';
import { JoinedCarriers } from '../telephony/carriers/joined.js';
import type { TrunkState } from '../telephony/carriers/sip/carrier.js';
import { hasTrunk, isAllowedExtension, sipTrunks } from '../telephony/carriers/sip/open.js';
import { assertEngine, type LineOptions, type PhoneLine, SwitchedLine, withoutUnset } from './line.js';

/** Settings as those of the daemon in `sip`, see docs/sip.md. Default: as there. */
export interface SipLineOptions extends LineOptions, Partial<SipSettings> {
  /** Password of `user`. Default none. */
  password?: string | undefined;
  /** Whether calls to a user part that is no number come in. Default: only calls to numbers do. */
  isAddress?: ((user: string) => boolean) | undefined;
  /** Calls that can be held at once; more are refused. Default: unlimited. */
  maxCalls?: number | undefined;
}

/** Calls over SIP trunks and PBXs. Calls to all their numbers come in; each call goes out over the trunk of its `from`. */
export interface SipLine extends PhoneLine {
  /** Registrations, servers and calls, in the order of the settings. */
  readonly trunks: readonly TrunkState[];
  /** The SIP address at which we take calls to a user part. */
  addressOf(user: string): string;
}

/**
 * Opens the sockets of SIP and registers where that is set. A registration that fails is told to `onError` and tried again.
 * @throws ParleyError CONFIG_INVALID, SIP_NO_TRUNK, SIP_CANNOT_LISTEN, FILE_NOT_READABLE, ARGUMENT_INVALID without an
 * engine
 */
export async function sipLine(options: SipLineOptions): Promise<SipLine> {
  const { engine, mayTransfer, onError, password = null, isAddress, maxCalls, ...given } = options;
  assertEngine(engine);
  const settings: SipSettings = { ...DEFAULT_SIP, ...parseWith(sipSchema, withoutUnset(given)) };
  if (!hasTrunk(settings)) throw new ParleyError('SIP_NO_TRUNK');
  const owned = [settings, ...Object.values(settings.trunks)].flatMap(({ numbers = [] }) => numbers);
  const trunks = await sipTrunks({
    engine,
    settings,
    password,
    owned,
    isAddress,
    onError: (error) => onError?.(error as Error),
    ...(maxCalls !== undefined && { mostCalls: maxCalls }),
  });
  const { carriers } = trunks;
  const [first] = carriers;
  const joined = carriers.map((carrier) => ({ carrier, owned: carrier.state.numbers }));
  const line = new SwitchedLine({
    engine,
    mayTransfer,
    onError,
    carrier: first !== undefined && carriers.length === 1 ? first : new JoinedCarriers(joined),
    isAllowedExtension: (target) => isAllowedExtension(settings, target),
    closing: () => trunks.close(),
  });
  const addressOf = (user: string): string => trunks.addressOf(user);
  return Object.defineProperty(Object.assign(line, { addressOf, trunks: [] }), 'trunks', {
    get: () => carriers.map(({ state }) => state),
  });
}
