import { PlivoCarrier, type PlivoCarrierOptions } from '../../../../src/telephony/carriers/plivo/carrier.js';
import { AUTH_ID, PlivoDouble, type PlivoDoubleOptions } from '../../../vendors/carriers/plivo/double.js';
import { openSocketRig, OWN, PUBLIC_URL } from '../socket-rig.js';

export const AUTH_TOKEN = 'an auth token of 40 letters-------------';

/** parley's carrier and a double of Plivo, in virtual time. */
export function openRig(options: Partial<PlivoCarrierOptions> = {}, habits: Partial<PlivoDoubleOptions> = {}) {
  const rig = openSocketRig({
    double: (parts) => {
      const plivo = new PlivoDouble({ ...parts, authToken: AUTH_TOKEN, ...habits });
      const [answer_url, hangup_url] = [`${PUBLIC_URL}/carriers/plivo/answer`, `${PUBLIC_URL}/carriers/plivo/hangup`];
      plivo.applications.set('1', { app_name: 'some-other', answer_url, hangup_url });
      plivo.numbers.set(OWN.slice(1), { app_id: '1' });
      return plivo;
    },
    carrier: ({ rest }, parts) => {
      const account = { authId: AUTH_ID, authToken: AUTH_TOKEN };
      return new PlivoCarrier({ ...parts, ...account, rest, detectsMachines: false, ...options });
    },
  });
  return { ...rig, plivo: rig.double };
}
