import { TwilioCarrier, type TwilioCarrierOptions } from '../../../../src/telephony/carriers/twilio/carrier.js';
import { ACCOUNT_SID, TwilioDouble } from '../../../vendors/carriers/twilio/double.js';
import { openSocketRig, OWN, PUBLIC_URL } from '../socket-rig.js';

export const AUTH_TOKEN = 'an auth token of 32 letters-----';

/** parley's carrier and a double of Twilio, in virtual time. */
export function openRig(options: Partial<TwilioCarrierOptions> = {}, socketDelayMs = 25) {
  const rig = openSocketRig({
    socketDelayMs,
    double: (parts) => {
      const twilio = new TwilioDouble({ ...parts, authToken: AUTH_TOKEN });
      const [VoiceUrl, StatusCallback] = [
        `${PUBLIC_URL}/carriers/twilio/voice`,
        `${PUBLIC_URL}/carriers/twilio/status`,
      ];
      twilio.numbers.set(OWN, { sid: twilio.sid('PN'), VoiceUrl, StatusCallback });
      return twilio;
    },
    carrier: ({ rest, pricing }, parts) => {
      const account = { accountSid: ACCOUNT_SID, authToken: AUTH_TOKEN };
      return new TwilioCarrier({ ...parts, ...account, rest, pricing, machineDetection: null, ...options });
    },
  });
  return { ...rig, twilio: rig.double };
}
