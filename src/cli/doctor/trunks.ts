import { setTimeout } from 'node:timers/promises';
import { hasTrunk, sipTrunks } from '../../telephony/carriers/sip/open.js';
import type { TrunkState } from '../../telephony/carriers/sip/carrier.js';
import type { Settings } from '../../settings/settings.js';
import type { SipSettings } from '../../settings/carriers/sip.js';
import { Engine } from '../../engine/engine.js';
import { ParleyError } from '../../base/errors.js';
import { hopText } from '../../telephony/sip/hop.js';
import { type Check, hint, ok, problem } from './check.js';

/** Timeout for the reply to OPTIONS. */
const ANSWER_MS = 4000;
const LOOK_MS = 50;

/** Checks that the SIP trunks' servers answer. Does not register, and uses no port of the daemon. */
export async function checkTrunks({ sip, sipPassword }: Pick<Settings, 'sip' | 'sipPassword'>): Promise<Check[]> {
  if (!hasTrunk(sip)) return [];
  const engine = new Engine();
  try {
    const trunks = await sipTrunks({ engine, settings: asked(sip), password: sipPassword });
    const states = (): TrunkState[] => trunks.carriers.map(({ state }) => state);
    const endMs = engine.clock.nowMs() + ANSWER_MS;
    const isWaiting = (): boolean => states().some(({ servers }) => servers.some(({ answers }) => answers === null));
    while (isWaiting() && engine.clock.nowMs() < endMs) await setTimeout(LOOK_MS);
    const found = states().flatMap(checkOf);
    await trunks.close();
    return found;
  } catch (error) {
    if (!(error instanceof ParleyError)) throw error;
    return [problem('sip', error.message, 'docs/sip.md tells what a trunk needs')];
  } finally {
    await engine.close();
  }
}

/** The same trunks on free local ports. */
function asked(sip: SipSettings): SipSettings {
  const trunks = Object.entries(sip.trunks).map(([name, trunk]) => [
    name,
    { ...trunk, register: false, keepAliveS: 60 },
  ]);
  return {
    ...sip,
    register: false,
    keepAliveS: 60,
    callers: {},
    listen: sip.listen.map((text) => text.replace(/:\d+$/, ':0')),
    trunks: Object.fromEntries(trunks) as SipSettings['trunks'],
  };
}

function checkOf({ name, servers }: TrunkState): Check[] {
  const label = `trunk ${name}`;
  if (servers.length === 0) {
    return [hint(label, 'no server of it is known: it can be called from, and not called', 'is its name in DNS?')];
  }
  return servers.map(({ hop, last }) => {
    const server = hopText(hop);
    if (last !== null) return ok(label, `${server} answers OPTIONS with ${String(last.status)}`);
    const help =
      'is the address right, and does it take requests from this machine? Some answer registered accounts only';
    return hint(label, `${server} does not answer OPTIONS`, help);
  });
}
