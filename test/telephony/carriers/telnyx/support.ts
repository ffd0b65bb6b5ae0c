import { TelnyxCarrier, type TelnyxCarrierOptions } from '../../../../src/telephony/carriers/telnyx/carrier.js';
import { CONNECTION_ID, TelnyxDouble } from '../../../vendors/carriers/telnyx/double.js';
import { openSocketRig, OWN, PUBLIC_URL } from '../socket-rig.js';

export const WEBHOOK = '/carriers/telnyx/webhook';
/** 2026-11-22. */
export const EPOCH_MS = 1_795_305_600_000;

/** parley's carrier and a double of Telnyx, in virtual time. */
export function openRig(options: Partial<TelnyxCarrierOptions> = {}, socketDelayMs = 25) {
  const rig = openSocketRig({
    socketDelayMs,
    double: (parts) => {
      const nowUnixMs = (): number => EPOCH_MS + parts.clock.nowMs();
      const telnyx = new TelnyxDouble({ ...parts, nowUnixMs, webhookUrl: PUBLIC_URL + WEBHOOK });
      telnyx.numbers.set(OWN, { id: '1', connectionId: CONNECTION_ID });
      return telnyx;
    },
    carrier: ({ rest, publicKey }, parts) => {
      const nowUnixMs = (): number => EPOCH_MS + parts.clock.nowMs();
      const account = { publicKey, connectionId: CONNECTION_ID, nowUnixMs };
      return new TelnyxCarrier({ ...parts, ...account, rest, codec: 'PCMU', machineDetection: null, ...options });
    },
  });
  return { ...rig, telnyx: rig.double };
}
